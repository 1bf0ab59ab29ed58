"""This machine as another one: without torch, or with other packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


class _NoTorch(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


@contextmanager
def without_torch() -> Iterator[None]:
    """As if torch were not installed."""
    finder, torch = _NoTorch(), sys.modules.pop("torch", None)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        if torch is not None:
            sys.modules["torch"] = torch


@contextmanager
def other_packages(folder: Path) -> Iterator[None]:
    """With the packages in a folder installed, too."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
