"""One layer of many architectures: traced, a branch of it placed, generated, compared bit for bit with the original.

The table in the docs is what was found. `UPDATE_MODELS=1` writes it anew; `STREAMSCHED_MODELS=all` compares those
architectures too that not every run includes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from architectures import ARCHITECTURES, Architecture

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.pipeline import Loaded, load
from streamsched.verify.request import Request
from streamsched.verify.run import verify
from streamsched.verify.verdict import Verdict

pytest.importorskip("torch")
pytest.importorskip("transformers")

TABLE = Path(__file__).parents[2] / "docs" / "models.md"
UPDATE = bool(os.environ.get("UPDATE_MODELS"))
ALL = UPDATE or os.environ.get("STREAMSCHED_MODELS") == "all"

HEAD = """\
# Models that were tried

Architectures of transformers beyond those of the [examples](../examples/), each from its own configuration, shrunk to
one layer and small sizes. A branch of each was placed on a side stream, under `sync auto` and `trace eager`. The model
was traced, the forward of the modules in scope generated for `cpu`, and held against the original by `verify`.

- **works**: all outputs agree with the original's, bit for bit, in every order of the streams that was tried.
- **needs a leaf**: what its Python does depends on data. The diagnostic proposes the leaf; where that module does not
  return a tensor like its first argument, `from` has to name a function that says what it returns.
- **refused**, **does not trace**: with a diagnostic, whose code is given.

This file is written by `UPDATE_MODELS=1 pytest tests/models`; the tests compare it.

| architecture | scope | on a side stream | result |
|---|---|---|---|
"""


def row(architecture: Architecture, result: str) -> str:
    """The line of the table."""
    scope = f"`{architecture.scope}`" if architecture.scope else "the model"
    side = architecture.side.replace("|", "\\|")
    return f"| {architecture.name} | {scope} | `{side}` | {result} |\n"


def tried(architecture: Architecture, folder: Path) -> str:
    """What became of it, in words for the table."""
    loaded = scheduled(architecture, folder)
    if not loaded.failed:
        assert not architecture.leaf and not architecture.why
        return "works" + agreement(loaded)
    [error] = [found for found in loaded.diagnostics if found.severity is Severity.ERROR]
    assert architecture.why, error
    reason = f"{error.code}: {architecture.why}"
    if not architecture.leaf:
        return f"{'refused' if error.code.startswith('SEL') else 'does not trace'}, {reason}"
    assert error.fix is not None
    [proposed] = [edit.text.strip() for edit in error.fix.edits]
    assert proposed.split(" from ")[0] == architecture.leaf.split(" from ")[0]
    cured = agreement(scheduled(architecture, folder, architecture.leaf))
    return f"needs a leaf, {reason}; works with `{architecture.leaf}`{cured}"


def scheduled(architecture: Architecture, folder: Path, leaf: str = "") -> Loaded:
    """Its schedule over it, traced and planned."""
    (folder / "model.py").write_text(architecture.source(), encoding="utf-8")
    path = folder / "block.sched"
    path.write_text(architecture.schedule(leaf), encoding="utf-8")
    return load(str(path))


def agreement(loaded: Loaded) -> str:
    """The codes of warnings, in brackets, of a schedule whose forward must agree with the original."""
    assert not loaded.failed, loaded.diagnostics
    assert loaded.program is not None and len(loaded.program.streams) == 2
    verdict = verify(loaded, Request(loaded.file.path, orders=2, calls=2))
    assert isinstance(verdict, Verdict), verdict
    assert verdict.differences == () and verdict.failures == ()
    codes = sorted({found.code for found in loaded.diagnostics if found.severity is Severity.WARNING})
    return f" (with {', '.join(codes)})" if codes else ""


@pytest.mark.parametrize("architecture", ARCHITECTURES, ids=lambda each: each.name.replace(" ", "-"))
def test_what_is_scheduled_agrees_with_the_original(architecture: Architecture, tmp_path: Path) -> None:
    if not (architecture.often or ALL):
        pytest.skip("set STREAMSCHED_MODELS=all to run it")
    found = row(architecture, tried(architecture, tmp_path))
    if UPDATE:
        _replace(found)
    assert found in _rows()


def test_the_table_names_all_of_them() -> None:
    named = [line.split(" | ")[0] for line in _rows()]
    assert named == [f"| {each.name}" for each in ARCHITECTURES]


def _rows() -> list[str]:
    lines = TABLE.read_text(encoding="utf-8").splitlines(keepends=True) if TABLE.is_file() else []
    return [line for line in lines if line.startswith("| ") and not line.startswith("| architecture ")]


def _replace(found: str) -> None:
    """Put a row into the document in place of the one of the same name."""
    rows = {line.split(" | ")[0]: line for line in (*_rows(), found)}
    known = [f"| {each.name}" for each in ARCHITECTURES]
    TABLE.write_text(HEAD + "".join(rows[name] for name in known if name in rows), encoding="utf-8")
