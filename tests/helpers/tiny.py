"""The examples in sizes that run anywhere in no time."""

from __future__ import annotations

import sys
from pathlib import Path

from streamsched.dsl.pipeline import Loaded, load

EXAMPLES = Path(__file__).parents[2] / "examples"

TINY = {
    "deepseek_moe": ('model "model.py:tiny"', "input hidden_states: bf16[1, 16, 64]"),
    "dlrm": ('model "model.py:tiny"', "input dense: f32[4, 13], indices: i64[3, 4, 5]"),
    "two_tower": ('model "model.py:tiny"',),
    "multi_stream": ("input in1, in2, in3, in4: f16[8, 8]",),
    "limit_cores": ("input in1, in2, in3, in4: f16[8, 8]",),
    "side_branch": ("input x: f16[8, 8]",),
    "inception": ("input x: f32[1, 192, 7, 7]",),
    "w8a8_shared_expert": (
        'model "model.py:tiny"',
        "input hidden_states: bf16[16, 64], order: i64[16]",
        'fakes "fakes.py"',
    ),
}
"""For each example of a whole model the statements that stand in for its own."""

SIZES = TINY | {"tp_moe": ('model "model.py:tiny"', "input hidden_states: bf16[8, 64]")}
"""The same with the examples whose launches are not those of their steps: a fake collective launches nothing."""

_MASKED = ('model "model.py:tiny"', "input input_ids: i64[1, 8]", "input attention_mask: bool[1, 8]")
"""Without a mask, transformers looks for packed sequences, and npugraph_ex turns a subtraction of that in-place whose
operand overlaps itself."""

SCOPED = {
    "deepseek_v3": _MASKED,
    "deepseek_v3_attention": _MASKED,
    "deepseek_v3_layer": _MASKED,
    "llama_decode": ('model "model.py:tiny"', 'inputs from "model.py:decode_tiny"'),
    "qwen3_moe": _MASKED,
    "whisper_encoder": ('model "model.py:tiny"', "input input_features: f16[1, 8, 32]"),
}
"""The same for the examples that have modules of a model in scope."""

ALL = SIZES | SCOPED
"""The same for every example."""

NEEDS_NPU = frozenset({"w8a8_shared_expert"})
"""Examples whose models call ops of torch_npu: without it they are traced by their fakes, and have no numbers."""


def schedule(name: str) -> str:
    """The path of an example's schedule."""
    (path,) = EXAMPLES.glob(f"*/{name}.sched")
    return str(path)


def forget_modules() -> None:
    """Let dynamo look modules up anew: it remembers the module `model` of the example before."""
    dynamo = sys.modules.get("torch._dynamo.symbolic_convert")
    if dynamo is not None:
        dynamo._import_module.cache_clear()


def loaded(name: str, target: str | None = None) -> Loaded:
    """An example in its tiny size, without errors, for the target that it names or for `target`."""
    forget_modules()
    found = load(schedule(name), target=target, instead=ALL[name])
    assert not found.failed, found.diagnostics
    return found
