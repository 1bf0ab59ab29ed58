"""Differences between two texts, for `--diff` and `--check`."""

from __future__ import annotations

import difflib

MOST_LINES = 20


def difference(old: str, new: str, file: str) -> str:
    """The unified diff from `old` to `new`, both texts of `file`."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), fromfile=file, tofile=file
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def first_differences(old: str, new: str, file: str) -> str:
    """The beginning of the unified diff, enough to see what kind of change it is."""
    lines = difference(old, new, file).splitlines()
    left_out = len(lines) - MOST_LINES
    return "\n".join(lines[:MOST_LINES] + ([f"... and {left_out} more lines"] if left_out > 0 else []))
