"""Dynamic dims: sizes and arguments as expressions over the names that the inputs give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.utils._sympy.functions import FloorDiv

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.trace.dims import evaluate, evaluate_number, is_expression, names, rename
from streamsched.dsl.trace.encode import encode
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Literal, NamedDim, Ref, Sequence, Trace
from streamsched.dsl.trace.request import ScopeRequest
from streamsched.dsl.trace.store import digest, load, save
from streamsched.dsl.trace.tracing.dims.symbols import Dims, named_symbol
from streamsched.dsl.trace.tracing.dims.text import spell

X = ("f32", ("batch", "seq"))
Y = ("f32", ("batch", "length"))
MODEL = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64, 8))

    def forward(self, x, y=None):
        {body}
"""


# The expressions


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (7, 7),
        ("a", 5),
        ("4 * a", 20),
        ("a - a // 2", 3),
        ("-(-a // b)", 2),
        ("(a + b) % 4", 0),
        ("max(a - b, 1) + min(a, b)", 5),
        ("a * a", 25),
    ],
)
def test_evaluate(text: int | str, size: int) -> None:
    assert evaluate(text, {"a": 5, "b": 3}) == size


@pytest.mark.parametrize(
    "text",
    [
        "c",
        "a.real",
        "a[0]",
        "__import__('os')",
        "min(a)",
        "max(a, key=b)",
        "abs(a)",
        "a if b else c",
        "a and b",
        "True",
        "'a'",
        "a +",
        "a // 0",
        "a / b",
        "2 ** 9999999",
        "(" * 500 + "a" + ")" * 500,
    ],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        evaluate(text, {"a": 5, "b": 3})


def test_numbers_that_are_not_whole() -> None:
    assert evaluate_number("a**-0.5", {"a": 4}) == 0.5
    assert evaluate_number("1 / a", {"a": 4}) == 0.25


def test_names() -> None:
    assert names("max(b * a, b) // 2") == ("b", "a")
    assert names(4) == ()
    assert is_expression("2 * a", frozenset({"a"}))
    assert not is_expression("2 * a", frozenset({"b"}))
    assert not is_expression("'a'", frozenset({"a"}))
    assert not is_expression("4", frozenset({"a"}))
    assert rename("max(a, 1) + aa * a", {"a": "size", "max": "m"}) == "max(size, 1) + aa * size"


# Traces


@pytest.fixture
def body(traced: Callable[..., Trace]) -> Callable[..., Trace]:
    def run(text: str, **inputs: object) -> Trace:
        return traced(MODEL.format(body=text), **(inputs or {"x": X}))

    return run


def arguments(trace: Trace, target: str) -> list[str]:
    """The texts of the constants among the arguments of the op."""
    [op] = [op for op in trace.ops if op.target == target]
    found = []
    for argument in (*op.args, *(argument for _, argument in op.kwargs)):
        for item in argument.items if isinstance(argument, Sequence) else (argument,):
            if isinstance(item, Literal):
                found.append(item.text)
    return found


def shape(trace: Trace, target: str) -> tuple[int | str, ...]:
    [op] = [op for op in trace.ops if op.target == target]
    assert isinstance(op.result, Ref)
    return trace.values[op.result.value].shape


def test_sizes_are_expressions(body: Callable[..., Trace]) -> None:
    trace = body("return torch.cat([x, x[:, x.shape[1] // 2:]], 1)")
    assert trace.dims == (NamedDim("batch", "x.shape[0]", 1), NamedDim("seq", "x.shape[1]", 1))
    assert trace.values[trace.inputs[0]].shape == ("batch", "seq")
    assert trace.values[trace.inputs[0]].stride == ("seq", 1)
    assert arguments(trace, "aten.slice.Tensor") == ["1", "seq // 2"]
    assert shape(trace, "aten.cat.default") == ("batch", "2 * seq - seq // 2")
    storages = {storage.name: storage.nbytes for storage in trace.storages}
    assert evaluate(storages["cat"], {"batch": 3, "seq": 5}) == 3 * 8 * 4


def test_arithmetic_leaves_no_op(body: Callable[..., Trace]) -> None:
    trace = body("return x.reshape(x.shape[0] * x.shape[1]) / x.shape[1] * (1 / x.shape[0]), x.shape[1] + 1")
    assert [op.target for op in trace.ops] == ["aten.reshape.default", "aten.div.Tensor", "aten.mul.Tensor"]
    assert arguments(trace, "aten.reshape.default") == ["batch * seq"]
    assert arguments(trace, "aten.div.Tensor") == ["seq"]
    assert arguments(trace, "aten.mul.Tensor") == ["1 / batch"]
    assert isinstance(trace.result, Sequence) and trace.result.items[1] == Literal("seq + 1")


def test_arguments_of_module_calls(traced: Callable[..., Trace]) -> None:
    source = """
    class Inner(nn.Module):
        def forward(self, x, length, half):
            return x[:, :half] * length

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x):
            return self.inner(x, x.shape[1], half=x.shape[1] // 2)
    """
    call = traced(source, x=X).calls[1]
    assert call.args[1] == Literal("seq")
    assert call.kwargs == (("half", Literal("seq // 2")),)


def test_one_name_on_two_inputs_is_one_dim(body: Callable[..., Trace]) -> None:
    trace = body("return x + y, x.t() @ y", x=X, y=X)
    assert shape(trace, "aten.matmul.default") == ("seq", "seq")
    assert [dim.expression for dim in trace.dims] == ["x.shape[0]", "x.shape[1]"]


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("return x + 1 if x.shape[1] > 1 else x - 1", (2, None)),  # Python goes another way at 1
        ("return (x * 1).squeeze()", (2, None)),  # the rank is another at 1
        ("return x[:, 1:2] * 1", (2, None)),
        ("return x[:, :1] + x[:, -1:]", (1, None)),
        ("return x[:, -3:] * 1", (3, None)),
        ("return x * 1 if x.shape[1] <= 16 else x", (1, 16)),
        ("return x + self.weight[:x.shape[1], 0]", (1, 64)),
        ("return F.conv1d(x[:, None], self.weight[:1, None, :5])", (5, None)),
        ("return x.chunk(2, 1)[0] * 1", (1, None)),
    ],
)
def test_bounds(body: Callable[..., Trace], text: str, bounds: tuple[int, int | None]) -> None:
    [dim] = [dim for dim in body(text).dims if dim.name == "seq"]
    assert (dim.minimum, dim.maximum) == bounds


def test_saved_and_read(body: Callable[..., Trace], tmp_path: Path) -> None:
    trace = body("return x.reshape(-1, 2 * x.shape[1]) if x.shape[1] < 99 else x", x=("f32", ("batch", "seq", 2)))
    save(trace, tmp_path / "t.gz")
    assert load(tmp_path / "t.gz", Span("s", 1, 1, 1, 1)).trace == trace


def test_without_dims_a_trace_is_saved_as_before(body: Callable[..., Trace]) -> None:
    trace = body("return x * 1", x=(4, 4))
    assert trace.dims == ()
    assert '"dims"' not in encode(trace)
    assert digest(trace) == trace.digest


def test_one_size_has_one_text() -> None:
    batch, seq = named_symbol("batch"), named_symbol("seq")
    assert spell(256 * seq * (batch - 1) + 256 * seq) == spell(256 * batch * seq) == "256 * batch * seq"
    assert spell(FloorDiv(seq + 1, 2) * (batch + 1)) == "batch * ((seq + 1) // 2) + (seq + 1) // 2"


def test_no_tensor_keeps_a_mark_of_its_dims() -> None:
    tensor = torch.empty(3, 5)
    with Dims({"batch": 3}).marked({"x": [tensor]}):
        assert vars(tensor)["_dynamo_weak_dynamic_indices"] == {0}
    assert vars(tensor) == {}


# What is not dynamic


@pytest.fixture
def refused(attempt: Callable[..., Traced]) -> Callable[..., Diagnostic]:
    def run(text: str, **inputs: object) -> Diagnostic:
        made = attempt(MODEL.format(body=text), **(inputs or {"x": X}))
        assert made.trace is None
        [diagnostic] = made.diagnostics
        return diagnostic

    return run


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("return x @ self.weight", "works only where `seq` is 64"),
        ("assert x.shape[1] == 64; return x * 1", "works only where `seq` is 64"),
        ("return x + int(x.shape[1])", "makes a plain number of `seq`"),
        ("return sum(x[:, i] for i in range(x.shape[1]))", "makes a plain number of `seq`"),
    ],
)
def test_a_fixed_dim(refused: Callable[..., Diagnostic], text: str, words: str) -> None:
    found = refused(text)
    assert found.code == "TRC119"
    assert words in found.message
    assert found.help == "write the size as a number: `input x: f32[batch, 64]`"
    assert found.related[0].span.line == 11


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("return x.view(x.shape[0], x.shape[1] // 2, 2)", "works only where `seq` is a multiple of 2"),
        ("assert x.shape[1] % 4 == 0; return x * 1", "works only where `seq` is a multiple of 4"),
        ("return x + 1 if x.shape[1] % 2 else x * 1", "whether `seq % 2 != 0`"),
        ("return torch.cat(x.split(4, 1), 1)", "works only where `(seq + 3) // 4 == 4`"),
    ],
)
def test_a_constrained_dim(refused: Callable[..., Diagnostic], text: str, words: str) -> None:
    found = refused(text)
    assert found.code == "TRC120"
    assert words in found.message
    assert found.help == "write the size as a number: `input x: f32[batch, 64]`"
    assert found.related[0].span.line == 11


def test_dims_that_must_be_the_same(refused: Callable[..., Diagnostic]) -> None:
    found = refused("return x + y", x=X, y=Y)
    assert "works only where `seq` and `length` are the same" in found.message
    assert found.help == "give both one name: `input x: f32[batch, seq], y: f32[batch, seq]`"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("return y[:, :x.shape[1]] * 1", "works only where `seq <= length`"),
        ("return x + y if x.shape == y.shape else x * 1", "whether `seq != length`"),
    ],
)
def test_dims_that_are_related(refused: Callable[..., Diagnostic], text: str, words: str) -> None:
    found = refused(text, x=X, y=Y)
    assert found.code == "TRC120"
    assert words in found.message


@pytest.mark.parametrize("name", ["x", "y", "lambda", "torch"])
def test_a_name_that_is_taken(refused: Callable[..., Diagnostic], name: str) -> None:
    found = refused("return x * 1", x=("f32", ("batch", name)))
    assert found.code == "TRC121"
    assert f"`{name}`" in found.message


def test_sizes_that_depend_on_data_stay_refused(refused: Callable[..., Diagnostic]) -> None:
    assert refused("return x if x.sum() > 0 else -x").code == "TRC107"


def test_an_exception_that_no_size_caused(refused: Callable[..., Diagnostic]) -> None:
    found = refused("return x[:, : x.shape[1] // 2].no_such_method()")
    assert (found.code, found.related[0].span.line) == ("TRC106", 11)
    assert found.notes[0].startswith("it was called with primes from 11 on for `batch` and `seq`")


@pytest.mark.parametrize("scope", [None, ScopeRequest("part", "", Span("test.sched", 3, 1, 3, 9))])
@pytest.mark.parametrize("line", ["return {64: x * 1}[int(x.shape[1])]", "return x.unflatten(1, (4, -1)) * 1"])
def test_a_forward_that_does_not_take_the_sizes_of_the_trace(
    attempt: Callable[..., Traced], scope: ScopeRequest | None, line: str
) -> None:
    part = MODEL.format(body=line).replace("Model", "Part")
    source = (
        f"{part}\nclass Model(Part):\n    def __init__(self):\n        super().__init__()\n        self.part = Part()\n"
    )
    source += "    def forward(self, x):\n        return self.part(x)\n"
    [found] = attempt(source, {"scope": scope}, x=X).diagnostics
    assert (found.code, found.related[0].span.line) == ("TRC106", 11)
    assert found.help == "if it takes only some sizes, write the size as a number: `input x: f32[64, 64]`"
    made = attempt(source, {"scope": scope}, x=("f32", (64, 64)))
    assert made.trace is not None, "the advice works"
