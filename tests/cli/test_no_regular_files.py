"""Pipes and devices in the place of files: told, and never waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")

WHY = "it is no regular file"
START = [sys.executable, "-m", "streamsched.cli.main"]


def ended(*words: str) -> subprocess.CompletedProcess[str]:
    """A run of the command, which fails the test if it waits for a pipe."""
    return subprocess.run([*START, *words], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("words", [("lint",), ("lint", "pipe.sched"), ("fmt", "--check", "."), ("gen", "pipe.sched")])
def test_a_schedule(words: tuple[str, ...], project: Path) -> None:
    os.mkfifo("pipe.sched")
    done = ended(*words)
    assert done.returncode == 2
    assert done.stderr == f"error: cannot read pipe.sched: {WHY}\n"


@pytest.mark.parametrize("verb", ["lint", "gen", "show"])
def test_a_saved_trace(verb: str, project: Path) -> None:
    os.unlink("good.trace.json.gz")
    os.mkfifo("good.trace.json.gz")
    done = ended(verb, "good.sched")
    assert done.returncode == 1
    assert f"TRC111] unreadable-trace: the trace good.trace.json.gz cannot be read: {WHY}" in done.stdout + done.stderr


def test_the_source_of_a_model(project: Path) -> None:
    os.unlink("model.py")
    os.mkfifo("model.py")
    assert ended("lint", "good.sched").returncode == 0  # compared with the trace only where it is there
    done = ended("trace", "good.sched")
    assert done.returncode == 1
    assert "model.py is no regular file" in done.stderr


def test_settings(project: Path) -> None:
    os.mkfifo("pyproject.toml")
    done = ended("lint", "good.sched")
    assert done.returncode == 1
    assert f"CFG103] invalid-setting: this file cannot be read, and may hold settings: {WHY}" in done.stdout


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no names for open files")
def test_what_a_shell_hands_over_is_read(project: Path) -> None:
    command = f"{' '.join(START)} fmt --check <(cat good.sched)"
    assert subprocess.run(["bash", "-c", command], timeout=60, check=False).returncode == 0


def test_a_device(project: Path, run: Callable[..., Any]) -> None:
    os.symlink("/dev/zero", "zero.sched")
    assert run("lint", "zero.sched").err == f"error: cannot read zero.sched: {WHY}\n"
