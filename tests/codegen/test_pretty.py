"""Statements are printed as ruff prints them: checked with ruff itself on random statements."""

from __future__ import annotations

import ast
import random
import subprocess
import sys

import pytest

from streamsched.codegen.pretty.statement import pretty, pretty_def, pretty_if, pretty_with

WORDS = ("x", "y", "hidden", "scores", "hidden_states", "shared_expert_output", "position_embeddings_of_the_layer")


class Statements:
    """Random statements of the kind that the generator writes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        return self.random.choice(WORDS)

    def atom(self) -> str:
        paths = ("self.weight", "self.layers[0].norm.weight", 'self.d["k"].bias', "cache.layers[3].keys")
        numbers = ("1", "-1", "0.5", "1e-06", "None", "True", "torch.bfloat16", "'sum'", "float('-inf')")
        return self.random.choice((self.name, self.name, lambda: self.random.choice(paths + numbers)))()

    def index(self) -> str:
        parts = (":", "None", "0", "-1", "1:", ":-1", "a + 1 :", "...", "::2", "x.shape[0] :", "mask")
        return ", ".join(self.random.choice(parts) for _ in range(self.random.randint(1, 3)))

    def argument(self, depth: int) -> str:
        kind = self.random.random()
        if depth > 1 or kind < 0.6:
            return self.atom()
        if kind < 0.7:
            return "[" + ", ".join(self.argument(depth + 1) for _ in range(self.random.randint(0, 5))) + "]"
        if kind < 0.8:
            return "(" + "".join(self.argument(depth + 1) + ", " for _ in range(self.random.randint(1, 4))) + ")"
        if kind < 0.85:
            return f'{{"a": {self.argument(depth + 1)}, "b": {self.argument(depth + 1)}}}'
        if kind < 0.92:
            return f"{self.name()}[{self.index()}]"
        if kind < 0.95 and depth == 0:
            return self.operators()
        return f"{self.name()}.t()"

    def arguments(self) -> str:
        positional = [self.argument(0) for _ in range(self.random.randint(0, 6))]
        words = [
            f"{word}={self.argument(0)}" for word in ("dim", "keepdim", "attention_mask") if self.random.random() < 0.3
        ]
        return ", ".join(positional + words)

    def call(self) -> str:
        callee = self.random.choice(
            (
                "torch.mm",
                "F.scaled_dot_product_attention",
                "self.layers[0].self_attn.rotary_embedding",
                'self.experts["first"].gate_projection',
                'self.get_submodule("weird-name.0")',
                f"{self.name()}.view",
                f"{self.name()}.softmax",
            )
        )
        return f"{callee}({self.arguments()})"

    def operators(self) -> str:
        operators = (" + ", " - ", " * ", " / ", " @ ", "**", " & ", " < ", " // ")
        text = self.name()
        for _ in range(self.random.randint(1, 2)):
            text += self.random.choice(operators if " < " not in text else operators[:5]) + self.name()
        return text

    def statement(self) -> str:
        kind = self.random.randint(0, 9)
        if kind == 0:
            return f"return {', '.join(self.name() for _ in range(self.random.randint(1, 8)))}"
        if kind == 1:
            return f"del {', '.join(self.name() for _ in range(self.random.randint(1, 8)))}"
        if kind == 2:
            return f"{self.name()} = {self.operators()}"
        if kind == 3:
            return f"{self.name()} = {self.name()}[{self.index()}]"
        if kind == 4:
            targets = ", ".join(self.name() for _ in range(self.random.randint(2, 20)))
            return f"{targets} = {self.call()}"
        if kind == 5:
            return self.call()
        if kind == 6:
            return (
                f"return {{'logits': {self.atom()}, 'loss': {self.atom()}, 'hidden': [{self.atom()}, {self.atom()}]}}"
            )
        return f"{self.name()} = {self.call()}"


def ruff_format(text: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("seed", range(4))
def test_random_statements_are_printed_as_ruff_prints_them(seed: int) -> None:
    statements = Statements(seed)
    printed: list[str] = ["def forward(self):"]
    for _ in range(1500):
        source = statements.statement()
        lines = pretty(source, 1)
        body = "\n".join(line[4:] for line in lines)
        if not source.startswith("del "):  # a `del` in parentheses deletes the same names through a tuple
            assert ast.dump(ast.parse(body)) == ast.dump(ast.parse(source)), "printing changed the meaning"
        printed += lines
    text = "\n".join(printed) + "\n"
    assert ruff_format(text) == text


@pytest.mark.parametrize(
    "items",
    [
        ("torch.npu.stream(shared)",),
        ("torch.npu.stream(s)", "torch.npu.npugraph_ex.scope.limit_core_num(8, 16)"),
        ("torch.npu.stream(shared_expert_stream)", "torch.npu.npugraph_ex.scope.limit_core_num(8, 16)"),
        ("torch.autocast(device_type='cuda', dtype=torch.bfloat16, enabled=True, cache_enabled=False)",),
    ],
)
def test_with_statements_are_printed_as_ruff_prints_them(items: tuple[str, ...]) -> None:
    text = "\n".join(("def forward(self):", *pretty_with(items, 1), "        pass", ""))
    assert ruff_format(text) == text


@pytest.mark.parametrize("count", [0, 1, 3, 6, 9, 20])
@pytest.mark.parametrize("last", ["*", "keyword=None", "**kwargs", "*args"])
def test_signatures_are_printed_as_ruff_prints_them(count: int, last: str) -> None:
    names = [f"parameter{i}" for i in range(count)]
    parameters = ("self", *names, *(("*", "k") if last == "*" else (last,)))
    text = "\n".join((*pretty_def("forward", parameters), "    pass", ""))
    assert ruff_format(text) == text


CHECK = 'differs("self.training", self.training, False)'
LONG = 'differs("cache.layers[:].keys", [item.keys for item in cache.layers], [(torch.bfloat16, 1, 8, 4096, 64)] * 61)'
NAMES = 'differs("the options that the call has", {*options}, {"attention_mask", "position_ids", "cache_position_"})'
LESS = (
    'differs("layer_idx < len(cache.layers)", self.self_attn.layer_idx < len(cache.layers), a_long_name_of_some_value)'
)


@pytest.mark.parametrize(
    "checks", [(CHECK,), (CHECK, CHECK), (CHECK, LONG), (CHECK, LONG, CHECK), (CHECK, NAMES, LESS), (LONG,)], ids=len
)
def test_checks_are_printed_as_ruff_prints_them(checks: tuple[str, ...]) -> None:
    text = "\n".join(("def mismatch(self):", *pretty(f"return {' or '.join(checks)}", 1), ""))
    assert ruff_format(text) == text


@pytest.mark.parametrize("count", [0, 1, 6, 20])
def test_conditions_are_printed_as_ruff_prints_them(count: int) -> None:
    condition = f"mismatch({', '.join(['self', *(f'argument{i}' for i in range(count)), '**options'])})"
    text = "\n".join(("def forward(self):", *pretty_if(condition, 1), "        return self", ""))
    assert ruff_format(text) == text
