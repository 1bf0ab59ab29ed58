"""From Python frames to positions in the user's source."""

from __future__ import annotations

import itertools
import linecache
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType

from streamsched.dsl.trace.model import Position
from streamsched.dsl.trace.sources import Sources

_STDLIB = sysconfig.get_path("stdlib")
_OWN = str(Path(__file__).parents[2])


class Internals:
    """Tells the frames of torch, of the standard library and of the tracer from everybody else's."""

    def __init__(self, torch_folder: str) -> None:
        self._torch = torch_folder.rstrip("/\\") + "/"
        self._known: dict[str, bool] = {}

    def __contains__(self, filename: str) -> bool:
        known = self._known.get(filename)
        if known is None:
            known = self._known[filename] = self._is_internal(filename)
        return known

    def _is_internal(self, filename: str) -> bool:
        if filename.startswith(("<", self._torch, _OWN)):
            return True
        return filename.startswith(_STDLIB) and "site-packages" not in filename and "dist-packages" not in filename


def raw_position(code: CodeType, lasti: int) -> tuple[int, int, int, int]:
    """Line, end line, column and end column of an instruction: lines from 1, columns in bytes from 0."""
    entry = next(itertools.islice(code.co_positions(), max(lasti, 0) // 2, None), (None,) * 4)
    line, end_line, column, end_column = entry
    line = line or code.co_firstlineno
    end_line = end_line or line
    if column is None or end_column is None:
        length = len(linecache.getline(code.co_filename, end_line).rstrip("\n").encode())
        return line, end_line, 0, length
    return line, end_line, column, end_column


def to_characters(filename: str, line: int, column: int) -> int:
    """A column in characters from 1, of one in bytes from 0."""
    text = linecache.getline(filename, line).encode()
    return len(text[:column].decode(errors="replace")) + 1 if text else column + 1


def position_of(code: CodeType, lasti: int, file: str) -> Position:
    """The position of an instruction, in the file called `file`."""
    line, end_line, column, end_column = raw_position(code, lasti)
    return Position(
        file,
        code.co_qualname,
        line,
        to_characters(code.co_filename, line, column),
        end_line,
        to_characters(code.co_filename, end_line, end_column),
    )


class Positions:
    """Every position and every stack of positions met so far, each once."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._of_instruction: dict[tuple[CodeType, int], int] = {}
        self._of_position: dict[Position, int] = {}
        self._of_stack: dict[tuple[int, ...], int] = {}

    def position(self, frame: FrameType) -> int:
        """The index of the position where a frame is now."""
        key = (frame.f_code, frame.f_lasti)
        index = self._of_instruction.get(key)
        if index is None:
            position = position_of(frame.f_code, frame.f_lasti, self._sources.key(frame.f_code.co_filename))
            index = self._of_position.setdefault(position, len(self._of_position))
            self._of_instruction[key] = index
        return index

    def stack(self, positions: tuple[int, ...]) -> int:
        """The index of a stack, outermost first."""
        return self._of_stack.setdefault(positions, len(self._of_stack))

    def codes(self) -> Iterator[CodeType]:
        """The functions that the positions are in, each once."""
        return iter(dict.fromkeys(code for code, _ in self._of_instruction))

    def all_positions(self) -> tuple[Position, ...]:
        """The positions by index."""
        return tuple(self._of_position)

    def all_stacks(self) -> tuple[tuple[int, ...], ...]:
        """The stacks by index."""
        return tuple(self._of_stack)
