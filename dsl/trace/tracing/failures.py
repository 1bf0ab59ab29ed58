"""What went wrong in the user's code, told by its own lines."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType

from streamsched.dsl.diagnostic import Related, Span
from streamsched.dsl.saying import said
from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.frames import Internals, raw_position, to_characters

_SAYS = ("__str__", "__repr__")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a frame stood: an instruction of a code object."""

    code: CodeType
    lasti: int


def frames(error: BaseException) -> list[FrameType]:
    """The frames that an exception passed through, outermost first."""
    return [entry.tb_frame for entry in _entries(error)]


def places(error: BaseException) -> list[Place]:
    """Where these frames stood."""
    return [Place(entry.tb_frame.f_code, entry.tb_lasti) for entry in _entries(error)]


def _entries(error: BaseException) -> Iterator[TracebackType]:
    entry: TracebackType | None = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def meant(error: BaseException) -> BaseException:
    """The exception itself, of one that was raised because somebody asked another what it says."""
    asked, passed = error.__context__, frames(error)
    if asked is None or not passed or passed[-1].f_code.co_name not in _SAYS:
        return error
    return meant(asked) if any(value is asked for value in passed[-1].f_locals.values()) else error


def user_places(error: BaseException, internals: Internals) -> list[Place]:
    """The frames of other people's code than torch's and the tracer's, outermost first."""
    return [place for place in places(error) if place.code.co_filename not in internals]


def span_of(place: Place, base: str, sources: Sources) -> Span:
    """Where a place is in its file; the user's own files are named as the schedule is."""
    line, end_line, column, end_column = raw_position(place.code, place.lasti)
    filename = place.code.co_filename
    return Span(
        shown_path(filename, base, sources),
        line,
        to_characters(filename, line, column),
        end_line,
        to_characters(filename, end_line, end_column),
    )


def shown_path(filename: str, base: str, sources: Sources) -> str:
    """A file's path as the user would type it."""
    if sources.is_own(filename):
        relative = os.path.relpath(os.path.realpath(filename), os.path.realpath(base))
        return os.path.normpath(os.path.join(base, relative))
    return filename


def path_of(key: str, base: str, sources: Sources) -> str:
    """The path of a file that a trace calls `key`, as the user would type it."""
    return sources.file(key) if sources.is_installed(key) else os.path.normpath(os.path.join(base, key))


def where(error: BaseException, base: str, sources: Sources, internals: Internals) -> tuple[Related, ...]:
    """The innermost place in the user's own files; failing that, the innermost outside of torch."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        column = max(error.offset or 1, 1)
        span = Span(shown_path(error.filename, base, sources), error.lineno, column, error.lineno, column)
        return (Related(span, "here"),)
    found = user_places(error, internals)
    own = [place for place in found if sources.is_own(place.code.co_filename)]
    for place in (own or found)[-1:]:
        return (Related(span_of(place, base, sources), f"in {place.code.co_qualname}()"),)
    return ()


def cause(error: BaseException) -> str:
    """An exception in one line: its type and the first line of its message, or as many as it takes to say something."""
    if isinstance(error, ModuleNotFoundError) and error.name == "torch_npu":
        here = "it imports torch_npu, which is not installed here"
        return (
            f"{here}: pip install 'streamsched[npu]', or name a file with `fakes`, an empty one if it calls no op of it"
        )
    lines = [line.strip() for line in said(error).splitlines() if line.strip()]
    name = type(error).__name__
    if not lines:
        return name
    last = next((index for index, line in enumerate(lines) if not line.endswith(":")), 0)
    return f"{name}: {' '.join(lines[: last + 1]).rstrip('.').replace('FakeTensor', 'Tensor')}"


def full_traceback(error: BaseException, verbose: bool) -> tuple[str, ...]:
    """Python's own traceback as a note, where it was asked for; else how to ask for it."""
    if verbose:
        return ("".join(traceback.format_exception(error)).rstrip(),)
    return ("`--verbose` shows Python's own traceback",)
