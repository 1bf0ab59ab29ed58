"""Every generated forward of the examples audits clean, and a sync that is taken out of one is found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tiny import EXAMPLES, NEEDS_NPU, SCOPED, SIZES, loaded

from streamsched.codegen.emitter import generate
from streamsched.dsl.audit import Audited, audit
from streamsched.dsl.diagnostic import Diagnostic, Severity

NAMES = sorted((SIZES | SCOPED).keys() - NEEDS_NPU)
SYNC = re.compile(r"^ +\w+\.(record|wait|record_stream)\(.*\)$", re.MULTILINE)

BUILD = """
import generated
import model

def build():
    return generated.apply(model.{attribute}(), strict=True)
"""


def write(name: str, target: str, folder: Path) -> str:
    """An example's model with its generated forward bound, in `folder`; the text of the generated file."""
    found = loaded(name, target)
    assert found.program is not None
    statements = " ".join((SIZES | SCOPED)[name]) + (EXAMPLES / found.file.base / f"{name}.sched").read_text()
    attribute = re.search(r'model "model\.py:(\w+)"', statements)
    assert attribute is not None
    shutil.copy(Path(found.file.base, "model.py"), folder)
    (folder / "build.py").write_text(BUILD.format(attribute=attribute[1]))
    text = generate(found.program, target)
    (folder / "generated.py").write_text(text)
    return text


def run(name: str, target: str) -> Audited:
    """Audit `build.py` in the current folder with the example's inputs."""
    texts = list((SIZES | SCOPED)[name])
    if not any(text.startswith("input") for text in texts):
        texts += (EXAMPLES / name / f"{name}.sched").read_text().splitlines()
    inputs = tuple(text.removeprefix("input ") for text in texts if text.startswith("input "))
    made = [text.split('"')[1] for text in texts if text.startswith("inputs from")]
    world = 4 if name == "tp_moe" else 0
    audited = audit("build.py:build", inputs, made[0] if made else "", target=target, world=world)
    assert audited.program is not None, audited.diagnostics
    return audited


def errors(audited: Audited) -> list[Diagnostic]:
    return [each for each in audited.diagnostics if each.severity is not Severity.INFO]


CASES = [*((name, "cuda") for name in NAMES), ("multi_stream", "npu"), ("whisper_encoder", "npu")]
"""A process of its own for each example would be slow."""


@pytest.mark.parametrize(("name", "target"), CASES)
def test_it_is_clean(name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(name, target, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert errors(run(name, target)) == []


@pytest.mark.parametrize("name", ["multi_stream", "two_tower"])
def test_any_sync_that_is_taken_out_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = write(name, "cuda", tmp_path)
    monkeypatch.chdir(tmp_path)
    syncs = list(SYNC.finditer(text))
    assert syncs
    for sync in syncs:
        code = {"record": "ORD102", "wait": "ORD101", "record_stream": "MEM10"}[sync[1]]
        indent = sync[0][: len(sync[0]) - len(sync[0].lstrip())]
        Path("generated.py").write_text(f"{text[: sync.start()]}{indent}pass{text[sync.end() :]}")
        assert [each for each in errors(run(name, "cuda")) if each.code.startswith(code)], sync[0]
