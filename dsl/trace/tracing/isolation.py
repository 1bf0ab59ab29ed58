"""A process that runs the user's code, and is the same afterwards."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from streamsched.dsl.files import file_bytes
from streamsched.dsl.trace.sources import Sources

_IMPORTS_NPU = re.compile(r"^\s*(import\s+([\w.]+(\s+as\s+\w+)?\s*,\s*)*|from\s+)torch_npu\b", re.MULTILINE)


@contextlib.contextmanager
def user_code(base: str, sources: Sources, imports_npu: bool, fakes: bool = False) -> Iterator[None]:
    """Run the user's code: its folder can be imported from, what it prints goes to stderr.

    Modules that lie in the schedule's folder are imported anew and forgotten afterwards, so that two folders may each
    have a `model.py`, and an edit is seen; what they registered with torch.library is forgotten likewise. torch_npu is
    hidden from libraries that would look for an NPU, unless the model imports it itself, or it runs in this process
    already; with `fakes` the user's own ops stand in for it.
    """
    from streamsched.dsl.trace.tracing import npu_stub, registrations  # they need torch

    npu: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if not npu_stub.npu_runs():
        npu = npu_stub.standing_in() if fakes else npu if imports_npu else _hidden("torch_npu")
    forgotten = registrations.forgotten(sources)
    fresh = _fresh_modules(sources)
    with contextlib.redirect_stdout(sys.stderr), forgotten, _without_bytecode(), fresh, _search_path(base), npu:
        yield


def imports_npu(file: Path) -> bool:
    """Whether a Python file imports torch_npu itself."""
    try:
        return bool(_IMPORTS_NPU.search(file_bytes(file).decode(errors="replace")))
    except OSError:
        return False


def own_files(sources: Sources) -> list[str]:
    """The files of the modules imported from the schedule's folder."""
    return sorted({module.__file__ or "" for module in _own_modules(sources).values()})


def _own_modules(sources: Sources) -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in list(sys.modules.items())
        if isinstance(getattr(module, "__file__", None), str)
        and name != "__main__"
        and name.partition(".")[0] != "streamsched"
        and sources.is_own(str(module.__file__))
    }


@contextlib.contextmanager
def _fresh_modules(sources: Sources) -> Iterator[None]:
    before = _own_modules(sources)
    for name in before:
        del sys.modules[name]
    try:
        yield
    finally:
        for name in _own_modules(sources):
            del sys.modules[name]
        sys.modules.update(before)


@contextlib.contextmanager
def _without_bytecode() -> Iterator[None]:
    """Keep no compiled modules: Python would take them for those of an edit that follows within the second."""
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


@contextlib.contextmanager
def _search_path(base: str) -> Iterator[None]:
    before = list(sys.path)
    sys.path.insert(0, base)
    try:
        yield
    finally:
        sys.path[:] = before


@contextlib.contextmanager
def _hidden(name: str) -> Iterator[None]:
    missing = object()
    before: object = sys.modules.get(name, missing)
    modules: dict[str, object] = sys.modules  # type: ignore[assignment]  # None marks a module that is not there
    modules[name] = None
    try:
        yield
    finally:
        if before is missing:
            del modules[name]
        else:
            modules[name] = before
