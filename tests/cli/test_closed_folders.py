"""Folders that cannot be searched: told, while the rest is checked."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAID = "error: cannot read sub: permission denied\n"


@pytest.fixture
def closed(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, where nobody may list `sub`."""
    scandir = os.scandir

    def listed(path: Any = ".") -> Any:
        if os.path.normpath(os.fspath(path)) == "sub":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", listed)
    return project


@pytest.mark.parametrize(
    "words", [("lint",), ("lint", "sub"), ("fmt", "--check", "."), ("gen", "--beside", "--check", ".")]
)
def test_a_folder_that_cannot_be_listed_is_told(words: tuple[str, ...], closed: Path, run: Callable[..., Any]) -> None:
    result = run(*words)
    assert (result.code, result.err) == (2, SAID)


def test_the_rest_is_checked(closed: Path, run: Callable[..., Any]) -> None:
    shutil.copy("good.sched", "faulty.sched")
    with open("faulty.sched", "a", encoding="utf-8") as file:
        file.write("stream spare\n")
    shutil.copy("good.trace.json.gz", "faulty.trace.json.gz")
    result = run("lint", "-q")
    assert result.code == 2
    assert "SYN201" in result.out
    assert "cannot read sub: permission denied" in run("lint", "--output-format", "github").out


def test_an_excluded_folder_is_not_told(closed: Path, run: Callable[..., Any]) -> None:
    result = run("lint", "--exclude", "sub")
    assert (result.code, result.err) == (0, "")
