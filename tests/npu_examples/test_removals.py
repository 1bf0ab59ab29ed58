"""Every sync taken out of the generated forwards is accounted for, and the table of it in the docs is what was found.

`UPDATE_REMOVALS=1 make verify-all` writes docs/removals.md anew.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tiny import TINY

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

"""

Row = tuple[str, ...]


def written(rows: list[Row]) -> str:
    """The document."""
    lines = [f"- **{letter}**: {words}." for letter, words in CLASSES.items()]
    counts = Counter((engine, letter) for _, engine, _, letter, _ in rows)
    lines += ["", f"| target | {' | '.join(CLASSES)} | all |", f"|---|{'---|' * len(CLASSES)}---|"]
    for engine in ("npugraph_ex", "npu"):
        numbers = [counts[engine, letter] for letter in CLASSES]
        lines.append(f"| {engine} | {' | '.join(map(str, numbers))} | {sum(numbers)} |")
    for name in sorted(TINY):
        lines += ["", f"## {name}", ""]
        lines += ["| target | line taken out | class | what shows it |", "|---|---|---|---|"]
        lines += [f"| {e} | `{line}` | {letter} | {how} |" for n, e, line, letter, how in rows if n == name]
    return HEAD + "\n".join(lines) + "\n"


@pytest.fixture(scope="module", params=[("inception", "w8a8_shared_expert"), ()], ids=["large", "others"])
def rows(request: pytest.FixtureRequest, run_child: Any) -> list[Row]:
    """What became of each line of some examples: the two with the most syncs, or the others."""
    names = request.param or sorted(TINY.keys() - {"inception", "w8a8_shared_expert"})
    return [tuple(row) for row in run_child("removals_child.py", *names)]


def test_every_removal_falls_in_a_class(rows: list[Row]) -> None:
    assert [row for row in rows if row[3] not in CLASSES] == []
    assert [row for row in rows if row[3] == "e" and row[1] != "npugraph_ex"] == []


def test_the_table_in_the_docs_is_what_was_found(rows: list[Row]) -> None:
    names = {row[0] for row in rows}
    if os.environ.get("UPDATE_REMOVALS"):
        TABLE.write_text(written(sorted([*_kept(names), *rows], key=lambda row: row[0])), encoding="utf-8")
    assert [row for row in _read() if row[0] in names] == rows


def _kept(names: set[str]) -> list[Row]:
    return [row for row in _read() if row[0] not in names]


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
