"""Calls are traced, printed, run and traced again: the same text, the same numbers, the same ATen ops.

The calls stand in `spelling_idioms.txt` (printed as written) and `spelling_rewrites.txt` (written otherwise).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streamsched.codegen.spell.spelling import spell_call
from streamsched.dsl.trace.model import (
    Argument,
    Literal,
    ModuleCall,
    Op,
    OpKind,
    Ref,
    Sequence,
    Storage,
    StorageKind,
    Trace,
    Value,
    refs,
)

torch = pytest.importorskip("torch")
F = torch.nn.functional
HERE = Path(__file__).parent


def lines_of(file: str) -> list[str]:
    lines = (HERE / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


IDIOMS = lines_of("spelling_idioms.txt")
REWRITES = [tuple(line.split(" => ")) for line in lines_of("spelling_rewrites.txt")]

# Composites of functions whose public form adds ops: what they trace to again is longer.
RETRACED_LONGER = ("torch.stft(",)


def operands() -> dict[str, Any]:
    """The names that the calls use. `x` comes first: it tells the device."""
    random = torch.Generator().manual_seed(0)

    def floats(*shape: int) -> Any:
        return torch.randn(shape, generator=random)

    return {
        "x": floats(4, 6),
        "y": floats(4, 6),
        "y2": floats(2, 6),
        "z": floats(4, 2),
        "s": floats(6, 6),
        "s4": floats(4, 4),
        "v": floats(6),
        "w": floats(5, 6),
        "u": floats(5),
        "a": floats(3, 3, 3),
        "h": floats(4, 6).half(),
        "p": torch.rand(4, 6, generator=random),
        "p6": torch.rand(6, generator=random),
        "c": torch.complex(floats(4, 2), floats(4, 2)),
        "xt": floats(6, 4).T,
        "one": floats(1),
        "i": torch.tensor([0, 2]),
        "i1": torch.tensor([1, 2, 3]),
        "f": torch.tensor([0, 1]),
        "j": torch.tensor([1, 3]),
        "k": torch.tensor([[0, 1, 2, 3, 0, 1], [3, 2, 1, 0, 1, 2]]),
        "t": torch.tensor([0, 2, 1, 5]),
        "m": floats(4, 6) > 0,
        "n": floats(4, 6) > 0,
        "img": floats(1, 4, 8, 8),
        "kernel": floats(4, 4, 3, 3),
        "b4": floats(4),
        "grid": torch.rand(1, 2, 2, 2, generator=random),
        "q": floats(1, 2, 4, 8),
        "qm": floats(1, 1, 4, 4),
        "g": floats(8, 16).bfloat16(),
        "gw": floats(2, 16, 16).bfloat16(),
        "offs": torch.tensor([4, 8], dtype=torch.int32),
        "o": torch.empty(4, 6),
        "o6": torch.empty(6, 6),
        "o1": torch.empty(4),
        "oi": torch.empty(4, dtype=torch.int64),
    }


@dataclass(frozen=True)
class Printed:
    """A traced call in print: statements that end in a return, and the ATen ops that were printed."""

    lines: list[str]
    targets: list[str]


class Tracer:
    """Turns an exported graph into a Trace: the smallest that the printer needs."""

    def __init__(self, program: Any, names: list[str]) -> None:
        self.values: list[Value] = []
        self.ids: dict[str, int] = {}
        self.ops: list[Op] = []
        self.inputs: list[int] = []
        constants = {spec.arg.name: spec.target for spec in program.graph_signature.input_specs if spec.target}
        for node in program.graph.nodes:
            if node.op == "placeholder":
                tensor = program.constants.get(constants.get(node.name))
                text = names[len(self.inputs)] if tensor is None else f"torch.tensor({tensor.tolist()})"
                self.inputs += [len(self.values)] if tensor is None else []
                self.add(node, expression=text)
            elif node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
                self.call(node)
            elif node.op == "output":
                self.result = self.argument(node.args[0][0])

    def trace(self) -> Trace:
        call = ModuleCall("", 0, "", "test:M", -1, 0, len(self.ops), (), (), self.result)
        storages = (Storage("memory", StorageKind.INPUT, 0),)
        empty: tuple[()] = ()
        return Trace(
            *(empty, "", "", "test:M", empty, tuple(self.inputs), self.result, tuple(self.ops), tuple(self.values)),
            *(storages, (call,), empty, empty, empty, empty),
        )

    def add(self, node: Any, producer: int = -1, expression: str = "") -> Ref:
        self.ids[node.name] = len(self.values)
        tensor = node.meta["val"]
        shape = tuple(tensor.shape) if isinstance(tensor, torch.Tensor) else ()
        dtype = str(getattr(tensor, "dtype", "")).removeprefix("torch.")
        self.values.append(Value(node.name, (0,), dtype, shape, (), producer, expression))
        return Ref(self.ids[node.name])

    def call(self, node: Any) -> None:
        if "assert" in str(node.target) or "sym_size" in str(node.target):
            return
        items = {user.args[1]: user for user in node.users if getattr(user.target, "__name__", "") == "getitem"}
        args = tuple(map(self.argument, node.args))
        kwargs = tuple((key, self.argument(value)) for key, value in node.kwargs.items())
        result: Argument = Literal("None")
        if isinstance(node.meta["val"], list | tuple):
            kind = "tuple"
            result = Sequence(
                kind,
                tuple(
                    self.add(items[i], len(self.ops)) if i in items else Literal("None")
                    for i in range(len(node.meta["val"]))
                ),
            )
        else:
            result = self.add(node, len(self.ops))
        self.ops.append(Op(node.name, str(node.target), OpKind.KERNEL, args, kwargs, result, (), (), 0))

    def argument(self, value: Any) -> Argument:
        if isinstance(value, torch.fx.Node):
            return Ref(self.ids[value.name])
        if isinstance(value, list | tuple):
            return Sequence("tuple" if isinstance(value, tuple) else "list", tuple(map(self.argument, value)))
        if isinstance(value, torch.device):
            return Literal(repr(str(value)))
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return Literal(f"float('{value}')")
        return Literal(repr(value))


def trace_of(function: Callable[..., Any], tensors: dict[str, Any]) -> Trace:
    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, *args: Any) -> Any:
            return function(*args)

    arguments = tuple(tensor.to("meta") for tensor in tensors.values())
    with torch.no_grad():
        program = torch.export.export(Model(), arguments, strict=False)
    return Tracer(program, list(tensors)).trace()


def print_trace(trace: Trace) -> Printed:
    names = {i: value.expression for i, value in enumerate(trace.values) if value.expression}
    lines = []
    for number, op in enumerate(trace.ops):
        text = spell_call(op, trace, names.__getitem__)
        made = list(refs(op.result))
        if isinstance(op.result, Ref) or op is trace.ops[-1]:
            names |= dict.fromkeys(made, f"r{number}")
        if isinstance(op.result, Sequence):
            names |= {item.value: f"r{number}[{i}]" for i, item in enumerate(op.result.items) if isinstance(item, Ref)}
        lines.append(f"r{number} = {text}" if op is not trace.ops[-1] else f"return {text}")
    return Printed(lines, [op.target for op in trace.ops])


def function_of(body: list[str], tensors: dict[str, Any]) -> Callable[..., Any]:
    code = "\n    ".join([f"def forward({', '.join(tensors)}):", *body])
    scope: dict[str, Any] = {"torch": torch, "F": F}
    exec(code, scope)
    return scope["forward"]  # type: ignore[no-any-return]


def used(written: str) -> dict[str, Any]:
    """The operands that a call names, `x` first in any case."""
    names = set(compile(written, "", "eval").co_names)
    return {name: tensor for name, tensor in operands().items() if name in names or name == "x"}


def outcome(function: Callable[..., Any], tensors: dict[str, Any]) -> Iterator[Any]:
    """The results, then the operands as they are afterwards."""
    mine = {name: tensor.clone() for name, tensor in tensors.items()}
    torch.manual_seed(0)
    with torch.no_grad():
        result = function(*mine.values())
    yield from [result] if isinstance(result, torch.Tensor) else result
    yield from mine.values()


def check_round_trip(written: str, printed: str) -> None:
    tensors = used(written)
    original = function_of([f"return {written}"], tensors)
    first = print_trace(trace_of(original, tensors))
    assert "; ".join(first.lines).replace("return ", "") == printed
    again = function_of(first.lines, tensors)
    for expected, actual in zip(outcome(original, tensors), outcome(again, tensors), strict=True):
        assert (expected.dtype, expected.stride()) == (actual.dtype, actual.stride())
        torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    if not printed.startswith(RETRACED_LONGER):
        assert print_trace(trace_of(again, tensors)).lines == first.lines


@pytest.mark.parametrize("written", IDIOMS)
def test_an_idiom_is_printed_as_written(written: str) -> None:
    check_round_trip(written, written)


@pytest.mark.parametrize(("written", "printed"), REWRITES)
def test_other_forms_become_idioms(written: str, printed: str) -> None:
    check_round_trip(written, printed)


def test_prints_are_formatted(tmp_path: Path) -> None:
    file = tmp_path / "printed.py"
    statements = [f"r = {line}\n" for line in IDIOMS]
    file.write_text("".join(statements))
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--isolated",
        "--check",
        "--diff",
        "--line-length=200",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
