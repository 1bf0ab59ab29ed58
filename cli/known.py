"""What `lint` does with a baseline of known findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from streamsched.cli import console, files
from streamsched.dsl.lint.baseline import Baseline, baseline_of
from streamsched.dsl.lint.told import Told


def without_known(
    tolds: Sequence[Told], checked: Iterable[str], baseline: Baseline, path: str, quiet: bool
) -> list[Told]:
    """What is told but for what the baseline from `path` knows; says how much of it is no longer found."""
    mended = baseline.mended(tolds, checked)
    if mended and not quiet:
        are = "known finding is" if mended == 1 else "known findings are"
        console.say(f"{mended} {are} mended; write {path} anew with --write-baseline")
    return [baseline.without_known(told) for told in tolds]


def write_known(tolds: Sequence[Told], unread: int, path: str, quiet: bool) -> list[Told]:
    """Write what is told to a baseline at `path`; gives what cannot be put there, which is told all the same.

    Where a schedule could not be checked to the end, or is among those `unread`, nobody knows what it would have: the
    baseline stays as it is, and everything is told.
    """
    unchecked = unread + sum(bool(told.stops) for told in tolds)
    if unchecked:
        left = "left as it is" if os.path.exists(path) else "not written"
        count = "a schedule" if unchecked == 1 else f"{unchecked} schedules"
        console.say(f"error: {path} is {left}, since {count} could not be checked to the end; mend the errors first")
        return list(tolds)
    files.write_text(path, baseline_of(tolds, path))
    known = sum(len(told.left) for told in tolds)
    if not quiet:
        are = "finding is" if known == 1 else "findings are"
        console.say(f"{known} {are} known from now on, with --baseline {path}")
    return [told.stopping() for told in tolds]
