"""Python's search for garbage, put off while there is none."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


def keep_all() -> None:
    """Have later searches pass over everything that is there now, in a process that will hold it for long."""
    gc.freeze()


@contextlib.contextmanager
def collector_off() -> Iterator[None]:
    """Put the search off: traces, programs and what is made of them are millions of small objects without cycles, which
    to search costs a fifth of the time and finds nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
