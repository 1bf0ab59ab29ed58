"""What the user's files register with torch.library, taken back so that they can be imported again."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch._library import custom_ops

from streamsched.dsl.trace.sources import Sources
from streamsched.dsl.trace.tracing.frames import Internals


@contextlib.contextmanager
def forgotten(sources: Sources) -> Iterator[None]:
    """Forget the ops and implementations that the user's own files register while the context lasts.

    An op can be registered once in a process, and the files are imported anew for each trace.
    """
    internals = Internals(str(Path(torch.__file__).parent))
    made: list[torch.library.Library] = []
    cls = torch.library.Library
    make: Callable[..., None] = cls.__init__

    def note(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        if sources.is_own(_caller(sys._getframe(1), internals)):
            made.append(self)

    cls.__init__ = note  # type: ignore[method-assign]
    try:
        yield
    finally:
        cls.__init__ = make  # type: ignore[method-assign]
        for library in reversed(made):
            library._destroy()  # type: ignore[no-untyped-call]
        _drop(made)


def _drop(libraries: list[torch.library.Library]) -> None:
    """Take libraries out of torch's own lists."""
    gone = {id(library) for library in libraries}
    keeping = torch.library._keep_alive
    keeping[:] = [library for library in keeping if id(library) not in gone]
    for name in [name for name, library in custom_ops.OPDEF_TO_LIB.items() if id(library) in gone]:
        del custom_ops.OPDEF_TO_LIB[name]


def _caller(frame: FrameType | None, internals: Internals) -> str:
    """The file of the innermost frame outside of torch and the standard library.

    What torch registers while a module of its own is imported, though by a user's file, is torch's.
    """
    while frame is not None and frame.f_code.co_filename in internals:
        if frame.f_code.co_name == "<module>":
            return frame.f_code.co_filename
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""
