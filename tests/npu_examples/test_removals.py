"""Every sync taken out of the generated forwards is accounted for, and the table of it in the docs is what was found.

`UPDATE_REMOVALS=1 make verify-all` writes docs/removals.md anew.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from syncs import NOT_NEEDED
from tiny import ALL, SCOPED, SIZES

TABLE = Path(__file__).parents[2] / "docs" / "removals.md"

CLASSES = {
    "a": "wrong numbers under an order of the streams; the first that shows it is named",
    "b": "right numbers, but the check on the launch log names it",
    "c": "rejected when it is compiled or captured",
    "d": "order only: nothing but a declared edge asks for it, and no number depends on it",
    "e": "doubled: npugraph_ex inserts a fork or a join that implies it; the eager run needs it",
    "f": "memory: nothing reuses the block in this run while it is still in use",
}

HEAD = """\
# What each sync is there for

Every line that records, waits or calls `record_stream` was taken out of the generated forward of every example, one at
a time, and the rest was run through torch_npu on the simulated NPU: compiled with npugraph_ex, and eagerly (`npu`).
Each removal falls in one class, the first of c, a, b, d, e, f that holds. d, e and f are proved from the plan. The
examples run in small sizes. This file is written by `UPDATE_REMOVALS=1 make verify-all`; the tests compare it.

Where a schedule has a `scope`, one forward serves all modules in it: a line is taken out for all of them at once, and
the whole model is run. What npugraph_ex inserts doubles nothing there: its fork comes before the first of these
modules, and its join behind the last. The syncs that a collective issues by itself are no lines of the forward.

"""

Row = tuple[str, ...]


def written(rows: list[Row]) -> str:
    """The document."""
    lines = [f"- **{letter}**: {words}." for letter, words in CLASSES.items()]
    counts = Counter((engine, letter) for _, engine, _, letter, _ in rows)
    lines += ["", f"| target | {' | '.join(CLASSES)} | all |", f"|---|{'---|' * len(CLASSES)}---|"]
    for engine in BOTH.split(","):
        numbers = [counts[engine, letter] for letter in CLASSES]
        lines.append(f"| {engine} | {' | '.join(map(str, numbers))} | {sum(numbers)} |")
    for name in sorted(ALL):
        lines += ["", f"## {name}", ""]
        lines += ["| target | line taken out | class | what shows it |", "|---|---|---|---|"]
        lines += [f"| {e} | `{line}` | {letter} | {how} |" for n, e, line, letter, how in rows if n == name]
    return HEAD + "\n".join(lines) + "\n"


LARGE = {"inception", "w8a8_shared_expert"}
BOTH = "npugraph_ex,npu"

RUNS = {
    "large": (BOTH, LARGE),
    "others": (BOTH, SIZES.keys() - LARGE),
    "scoped, eager": ("npu", SCOPED.keys()),
    "scoped, compiled": ("npugraph_ex", SCOPED.keys()),
}
"""What is run in one process: engines, and examples."""


@pytest.fixture(scope="module", params=RUNS)
def rows(request: pytest.FixtureRequest, run_child: Any, everything: bool) -> list[Row]:
    """What became of each line of some examples."""
    engines, names = RUNS[request.param]
    if request.param == "scoped, compiled" and not everything:
        pytest.skip("takes minutes: `make verify-all` runs it")
    return [tuple(row) for row in run_child("removals_child.py", engines, *sorted(names))]


def test_every_removal_falls_in_a_class(rows: list[Row]) -> None:
    assert [row for row in rows if row[3] not in CLASSES] == []
    assert [row for row in rows if row[3] == "e" and row[1] != "npugraph_ex"] == []


def test_the_table_in_the_docs_is_what_was_found(rows: list[Row]) -> None:
    run = {row[:2] for row in rows}
    if os.environ.get("UPDATE_REMOVALS"):
        kept = [row for row in _read() if row[:2] not in run]
        TABLE.write_text(written(sorted([*kept, *rows], key=_place)), encoding="utf-8")
    assert [row for row in _read() if row[:2] in run] == rows


def test_the_table_agrees_with_the_programs(run_child: Any) -> None:
    """Of the compiled forwards for modules in scope, which take minutes to run."""
    proofs = [tuple(row) for row in run_child("proofs_child.py", "npugraph_ex", *sorted(SCOPED))]
    told = [row for row in _read() if row[0] in SCOPED and row[1] == "npugraph_ex"]
    assert [row[:3] for row in told] == [proof[:3] for proof in proofs]
    for row, proof in zip(told, proofs, strict=True):
        if row[3] in "def":
            assert proof == row
        else:
            assert proof[3] not in "de" and proof[4] != NOT_NEEDED, row


def _place(row: Row) -> tuple[str, int]:
    """Where a row stands; the order of the lines is theirs in the forward."""
    return row[0], BOTH.split(",").index(row[1])


def _read() -> list[Row]:
    """The rows of the document."""
    found: list[Row] = []
    name = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines() if TABLE.is_file() else []:
        if line.startswith("## "):
            name = line.removeprefix("## ")
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if name and len(cells) == 4 and cells[1].startswith("`"):
            found.append((name, cells[0], cells[1].strip("`"), *cells[2:]))
    return found
