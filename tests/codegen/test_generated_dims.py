"""Generated forwards of models with dynamic dims, at sizes that the trace has not seen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from plans import program_of
from torch.utils._pytree import tree_leaves

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import trace_model
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import InputTensor, TraceRequest

SPAN = Span("test.sched", 2, 1, 2, 6)
IDS = InputTensor("ids", "i64", ("batch", "seq"))
SIZES = [(1, 1), (1, 5), (3, 1), (2, 2), (4, 9), (3, 40)]
"""Of batch and sequence; those below a trace's bounds are handed to the original."""

ATTENTION = """
import torch
import torch.nn as nn

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.qkv = nn.Linear(16, 48)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        causal = torch.full((length, length), float("-inf"), device=x.device).triu(1)
        y = torch.softmax(q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5 + causal, -1) @ v
        return y.transpose(1, 2).reshape(batch, length, -1)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.positions = nn.Embedding(64, 16)
        self.attention = Attention()

    def forward(self, ids):
        seq = self.embed(ids)  # a tensor, called like the dim
        rows, columns = ids.shape
        seq = seq + self.positions(torch.arange(columns, device=ids.device)).expand(rows, -1, -1)
        seq = self.attention(seq)
        half = seq[:, columns // 2 :]
        both = torch.cat([half, seq], 1)
        return both, both.flatten(0, 1), seq[:, -1] / columns, 1 - seq * (rows + columns), columns ** -0.5 * seq, rows
"""
TRANSFORMERS = """
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

def llama():
    return LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, hidden_size=64, intermediate_size=128,
        num_attention_heads=4, num_key_value_heads=2, vocab_size=128, use_cache=False))

def bert():
    return BertModel(BertConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        vocab_size=97))
"""


def _request(folder: Path, source: str, attribute: str, inputs: tuple[InputTensor, ...]) -> TraceRequest:
    (folder / "model.py").write_text(source)
    return TraceRequest(str(folder), "model.py", attribute, inputs, None, (), SPAN, None, SPAN)


def traced(folder: Path, source: str, attribute: str, inputs: tuple[InputTensor, ...]) -> Trace:
    made = trace_model(_request(folder, source, attribute, inputs))
    assert made.trace is not None, made.diagnostics
    return made.trace


def _original(source: str, attribute: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(source, "model.py", "exec"), names)
    torch.manual_seed(0)
    return names[attribute]().eval()


def _applied(source: str, attribute: str, trace: Trace, strict: bool) -> Any:
    generated: dict[str, Any] = {}
    exec(compile(generate(program_of("", trace, "cpu"), "cpu"), "generated.py", "exec"), generated)
    return generated["apply"](_original(source, attribute), strict=strict)


def differing(source: str, attribute: str, trace: Trace, sizes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The sizes at which the generated forward is not bit for bit the original."""
    original, scheduled = _original(source, attribute), _applied(source, attribute, trace, strict=True)
    found = []
    least = [dim.minimum for dim in trace.dims]
    for batch, seq in (size for size in sizes if size[0] >= least[0] and size[1] >= least[1]):
        given = {trace.values[index].expression: torch.randint(0, 2, (batch, seq)) for index in trace.inputs}
        with torch.no_grad():
            pairs = zip(tree_leaves(original(**given)), tree_leaves(scheduled(**given)), strict=True)
        if not all(torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b for a, b in pairs):
            found.append((batch, seq))
    return found


def test_a_handwritten_model(tmp_path: Path) -> None:
    trace = traced(tmp_path, ATTENTION, "Model", (IDS,))
    assert [(dim.minimum, dim.maximum) for dim in trace.dims] == [(1, None), (1, None)]
    assert differing(ATTENTION, "Model", trace, SIZES) == []


def test_dims_are_read_first_and_clash_with_no_local(tmp_path: Path) -> None:
    trace = traced(tmp_path, ATTENTION, "Model", (IDS,))
    text = generate(program_of("", trace, "cpu"), "cpu")
    body = text[text.index("def forward") :].splitlines()
    assert body[1].strip().startswith("if _mismatch(") and body[3].strip() == "batch, seq_size = ids.shape"
    assert "    seq = self.attention(seq)" in body
    assert "ids: int64[batch, seq]" in text


def test_only_dims_that_are_used_are_read(tmp_path: Path) -> None:
    source = (
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x / x.shape[1]\n"
    )
    trace = traced(tmp_path, source, "Model", (InputTensor("x", "f32", ("batch", "seq", 4)),))
    text = generate(program_of("", trace, "cpu"), "cpu")
    assert "    seq = x.shape[1]\n    return x / seq\n" in text


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("attribute", ["llama", "bert"])
def test_transformers(tmp_path: Path, attribute: str, mask: bool) -> None:
    pytest.importorskip("transformers")
    inputs = (InputTensor("input_ids", "i64", ("batch", "seq")), InputTensor("attention_mask", "i64", ("batch", "seq")))
    trace = traced(tmp_path, TRANSFORMERS, attribute, inputs if mask else inputs[:1])
    assert {op.target.split(".")[0] for op in trace.ops} == {"aten"}
    assert not any("sym_" in op.target for op in trace.ops)
    assert differing(TRANSFORMERS, attribute, trace, SIZES) == []


def test_sizes_out_of_bounds_are_handed_to_the_original(tmp_path: Path) -> None:
    source = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1 if 1 < x.shape[1] < 8 else x - 1
"""
    inputs = (InputTensor("x", "f32", (2, "seq")),)
    made = trace_model(_request(tmp_path, source, "Model", inputs))
    assert made.trace is not None and made.trace.dims[0].minimum == 8  # 11 was traced
    scheduled = _applied(source, "Model", made.trace, strict=False)
    x = torch.ones(2, 4)
    assert torch.equal(scheduled(x), x + 1)
    assert torch.equal(scheduled(torch.ones(2, 9)), torch.zeros(2, 9))
    with pytest.raises(Exception, match="whether seq is 8 or more"):
        _applied(source, "Model", made.trace, strict=True)(x)
