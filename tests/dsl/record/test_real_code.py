"""Modules after the patterns of vLLM, SGLang and TensorRT-LLM audit clean, and each sync that is taken out is found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("torch")

from streamsched.cli.main import main
from streamsched.dsl.audit import Audited, audit
from streamsched.dsl.diagnostic import Severity

EXAMPLES = Path(__file__).parents[3] / "examples" / "audit"
DOCS = EXAMPLES.parents[1] / "docs" / "audit.md"
SYNC = re.compile(r"^ +[\w.()]+\.(wait_stream|wait|record|record_stream)\(.*\)$", re.MULTILINE)


class Case(NamedTuple):
    """How a module is audited."""

    inputs: tuple[str, ...]
    fakes: str = ""


CASES = {
    "shared_experts": Case(("hidden: bf16[64, 128]",)),
    "alternate_stream": Case(("positions: i64[16]", "hidden: bf16[16, 128]"), "fakes.py"),
    "execute_in_parallel": Case(("hidden: bf16[16, 128]",)),
}

FOUND: dict[str, dict[str, set[tuple[str, str]]]] = {
    "shared_experts": {
        "copy.record_stream(self.aux_stream)": {("MEM101", "gate_up = self.gate_up_proj(x)")},
        "self.aux_stream.wait_stream(torch.cuda.current_stream())": {("ORD101", "gate_up = self.gate_up_proj(x)")},
        "torch.cuda.current_stream().wait_stream(self.aux_stream)": {("ORD101", "return routed + shared")},
    },
    "alternate_stream": {
        "self.alt_stream.wait_stream(current_stream)": {
            ("ORD101", "torch.ops._C.rms_norm(out, x, self.weight, 1e-6)"),
            ("MEM101", "attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),
        },
        "current_stream.wait_stream(self.alt_stream)": {
            ("ORD101", "attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),
            ("MEM101", "torch.ops._C.rms_norm(out, x, self.weight, 1e-6)"),
        },
    },
    "execute_in_parallel": {
        "event0.record()": {
            ("ORD102", "event0.wait()"),
            ("ORD101", "lambda: self.kv_b_proj(self.kv_norm(compressed_kv)),"),
        },
        "event0.wait()": {("ORD101", "lambda: self.kv_b_proj(self.kv_norm(compressed_kv)),")},
        "event1.record()": {
            ("ORD102", "event1.wait()"),
            ("ORD101", "lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),"),
            ("ORD101", "return self.o_proj(attended.transpose(0, 1).reshape(hidden.shape) * gate)"),
        },
        "event1.wait()": {
            ("ORD101", "lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),"),
            ("ORD101", "return self.o_proj(attended.transpose(0, 1).reshape(hidden.shape) * gate)"),
        },
    },
}
"""By module and sync that is taken out: the findings, each with the line that it is about."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audited(name: str) -> Audited:
    case = CASES[name]
    found = audit(f"{name}.py:build", case.inputs, fakes=case.fakes)
    assert found.program is not None, found.diagnostics
    return found


@pytest.mark.parametrize("name", CASES)
def test_it_is_clean(name: str) -> None:
    assert audited(name).diagnostics == ()


@pytest.mark.parametrize("name", CASES)
def test_each_sync_that_is_taken_out_is_found(name: str) -> None:
    text = Path(f"{name}.py").read_text()
    found: dict[str, set[tuple[str, str]]] = {}
    for sync in SYNC.finditer(text):
        line = sync[0].strip()
        changed = f"{text[: sync.start()]}{sync[0].replace(line, 'pass')}{text[sync.end() :]}"
        Path(f"{name}.py").write_text(changed)
        told = [each for each in audited(name).diagnostics if each.severity is not Severity.INFO]
        found[line] = {(each.code, changed.splitlines()[each.span.line - 1].strip()) for each in told}
    assert found == FOUND[name]


def test_more_tokens_than_the_threshold_prove_nothing() -> None:
    found = audit("shared_experts.py:build", ("hidden: bf16[512, 128]",)).diagnostics
    assert [each.code for each in found] == ["AUD101"]


def test_a_launch_that_is_not_declared_is_told(folder: Path) -> None:
    text = Path("shared_experts.py").read_text()
    Path("shared_experts.py").write_text(text.replace('@kernel(reads=("gate_up",), writes=("out",))\n', ""))
    assert {each.code for each in audited("shared_experts").diagnostics} == {"AUD104"}


def test_an_operator_that_is_not_there_is_told_with_what_to_do() -> None:
    found = audit("alternate_stream.py:build", CASES["alternate_stream"].inputs)
    assert found.program is None
    (told,) = found.diagnostics
    assert "rms_norm" in f"{told.message} {told.notes}"
    assert told.help is not None and "--fakes" in told.help


def test_the_docs_show_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("shared_experts.py").read_text()
    Path("shared_experts.py").write_text(text.replace("        copy.record_stream(self.aux_stream)\n", ""))
    assert main(["audit", "shared_experts.py:build", "--input", "hidden: bf16[64, 128]"]) == 1
    printed = "".join(f"    {line}".rstrip() + "\n" for line in capsys.readouterr().out.rstrip().splitlines())
    assert printed in DOCS.read_text()
