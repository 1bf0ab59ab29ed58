"""What `lint` does with a baseline of known findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamsched.cli import console, files
from streamsched.dsl.lint.baseline import baseline_of, read_baseline
from streamsched.dsl.lint.told import Told


def without_known(tolds: Sequence[Told], checked: Iterable[str], path: str, quiet: bool) -> list[Told]:
    """What is told but for what the baseline at `path` knows; says how much of it is no longer found."""
    baseline = read_baseline(path)
    mended = baseline.mended(tolds, checked)
    if mended and not quiet:
        are = "known finding is" if mended == 1 else "known findings are"
        console.say(f"{mended} {are} mended; write {path} anew with --write-baseline")
    return [baseline.without_known(told) for told in tolds]


def write_known(tolds: Sequence[Told], path: str, quiet: bool) -> list[Told]:
    """Write what is told to a baseline at `path`; gives what cannot be put there, which is told all the same."""
    files.write_text(path, baseline_of(tolds, path))
    known = sum(diagnostic not in told.stops for told in tolds for diagnostic in told.left)
    if not quiet:
        are = "finding is" if known == 1 else "findings are"
        console.say(f"{known} {are} known from now on, with --baseline {path}")
    return [told.stopping() for told in tolds]
