"""Models that cannot be found, built or traced: a diagnostic that points at the user's own line, never a traceback."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from streamsched.dsl.diagnostic import Diagnostic, Severity, Span
from streamsched.dsl.rules import ALL
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.tracing.isolation import imports_npu

Attempt = Callable[..., Traced]
FINE = "class Model(nn.Module):\n    def forward(self, x, scale=1):\n        return x + scale\n"


def only(made: Traced) -> Diagnostic:
    assert made.trace is None
    [diagnostic] = made.diagnostics
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.span.file == "test.sched"
    assert not any("Traceback" in note for note in diagnostic.notes)
    return diagnostic


def line_at(diagnostic: Diagnostic, index: int = 0) -> str:
    """The source text that a related span covers."""
    span = diagnostic.related[index].span
    lines = Path(span.file).read_text().splitlines()
    if span.line != span.end_line:
        return lines[span.line - 1].strip()
    return lines[span.line - 1][span.column - 1 : span.end_column - 1]


@pytest.mark.parametrize(
    ("request_", "message", "advice"),
    [
        ({"file": "modle.py"}, "modle.py is not there", "did you mean `model.py`?"),
        ({"file": "."}, "`.` names no module", None),
        ({"file": "no_such_package.models"}, "there is no module `no_such_package`", None),
        ({"attribute": "Modle"}, "model.py has no attribute `Modle`", "did you mean `Model`?"),
        ({"inputs_from": ("model.py", "inputs")}, "model.py has no attribute `inputs`", None),
    ],
)
def test_not_found(attempt: Attempt, request_: dict[str, Any], message: str, advice: str | None) -> None:
    diagnostic = only(attempt(FINE, request_))
    assert diagnostic.code == "TRC101"
    assert message in diagnostic.message
    assert advice is None or diagnostic.help == advice


def test_found(attempt: Attempt) -> None:
    assert attempt(FINE, x=(4,)).diagnostics == ()


@pytest.mark.parametrize(
    ("source", "cause", "line"),
    [
        ("table = {}\nmodel = table['k']\n", "KeyError: 'k'", "table['k']"),
        ("import no_such_package\n", "No module named 'no_such_package'", "import no_such_package"),
        ("def build():\n    return 1 / 0\n", "ZeroDivisionError: division by zero", "1 / 0"),
    ],
)
def test_model_raises(attempt: Attempt, source: str, cause: str, line: str) -> None:
    diagnostic = only(attempt(source, {"attribute": "build"}))
    assert diagnostic.code == "TRC102"
    assert cause in diagnostic.message
    assert line_at(diagnostic) == line


def test_syntax_error_in_the_model(attempt: Attempt) -> None:
    diagnostic = only(attempt("def build(:\n    pass\n"))
    assert diagnostic.code == "TRC102"
    assert (diagnostic.related[0].span.line, diagnostic.related[0].span.column) == (4, 11)


@pytest.mark.parametrize(
    ("source", "attribute"),
    [
        ("import sys\nsys.exit(3)\n", "Model"),
        ("import sys\ndef build():\n    sys.exit(3)\n", "build"),
        ("import sys\nclass Model(nn.Module):\n    def forward(self, x):\n        sys.exit(3)\n", "Model"),
    ],
)
def test_model_exits(attempt: Attempt, source: str, attribute: str) -> None:
    diagnostic = only(attempt(source, {"attribute": attribute}, x=(4,)))
    assert diagnostic.code == "TRC103"
    assert "code 3" in diagnostic.message
    assert line_at(diagnostic) == "sys.exit(3)"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Model = 3", '"model.py:Model" is an int'),
        ("def Model(): return 3", '"model.py:Model" returns an int'),
        ("def Model(): pass", '"model.py:Model" returns None'),
        ("def Model(size): return 3", "cannot be called without its argument `size`"),
    ],
)
def test_not_a_module(attempt: Attempt, source: str, message: str) -> None:
    diagnostic = only(attempt(source))
    assert diagnostic.code == "TRC104"
    assert message in diagnostic.message


@pytest.mark.parametrize(
    ("inputs", "message", "advice"),
    [
        ({"scael": (4,)}, "input `scael` is no parameter of forward(x, scale=1)", "did you mean `scale`?"),
        ({"x": (4,), "zzz": (4,)}, "input `zzz` is no parameter", "its parameters are x, scale"),
        ({"scale": (4,)}, "missing a required argument: 'x'", "describe it, as in `input x: f32[8, 64]`"),
        ({"x": ("f17", (4,))}, "`f17` of input `x` is no dtype", "did you mean `f16`?"),
    ],
)
def test_wrong_inputs(attempt: Attempt, inputs: dict[str, Any], message: str, advice: str | None) -> None:
    diagnostic = only(attempt(FINE, **inputs))
    assert diagnostic.code == "TRC105"
    assert message in diagnostic.message
    assert diagnostic.help == advice


def test_an_input_for_a_parameter_without_a_name(attempt: Attempt) -> None:
    source = FINE.replace("x, scale=1", "*args").replace("x + scale", "args[0] + 1")
    diagnostic = only(attempt(source, x=(4,)))
    assert diagnostic.code == "TRC105"
    assert "`inputs from`" in (diagnostic.help or "")
    given = source + "\ndef inputs(): return (torch.ones(4),)"
    assert attempt(given, {"inputs_from": ("model.py", "inputs")}).trace is not None


LAZY = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.LazyLinear(8)

    def forward(self, x):
        return self.proj(x)


def build():
    model = Model()
    model(torch.zeros(4, 8))
    return model
"""


def test_a_lazy_module_needs_a_first_call(attempt: Attempt) -> None:
    diagnostic = only(attempt(LAZY, x=(4, 8)))
    assert diagnostic.code == "TRC108"
    assert "`proj` is a LazyLinear" in diagnostic.message
    assert "call the model once" in (diagnostic.help or "")
    assert attempt(LAZY, {"attribute": "build"}, x=(4, 8)).trace is not None


INSIDE = """
class Inner(nn.Module):
    def forward(self, x):
        return BODY


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x) * 2
"""


def test_numpy_may_be_in_a_leaf(attempt: Attempt) -> None:
    diagnostic = only(attempt(INSIDE.replace("BODY", "torch.from_numpy(x.numpy() + 1)"), x=(4,)))
    assert diagnostic.code == "TRC106"
    assert 'leaf "inner" from "torch:empty_like"' in (diagnostic.help or "")


def test_for_an_op_of_torch_without_a_fake_there_is_only_the_leaf(attempt: Attempt) -> None:
    words = "aten::_unique2: attempted to run this operator with Meta tensors, but there was no fake impl"
    source = f"def refuse(x):\n    raise NotImplementedError('{words}')\n" + INSIDE.replace("BODY", "refuse(x)")
    diagnostic = only(attempt(source, x=(4,)))
    assert 'leaf "inner"' in (diagnostic.help or "")
    assert "register_fake" not in (diagnostic.help or "")


def test_inputs_function_of_another_kind(attempt: Attempt) -> None:
    diagnostic = only(attempt(FINE + "\ndef inputs(): return [1]", {"inputs_from": ("model.py", "inputs")}))
    assert diagnostic.code == "TRC105"
    assert "returns a list" in diagnostic.message


@pytest.mark.parametrize(
    "returned", ["(torch.empty(4),)", "{'x': torch.empty(4), 'scale': 2}", "((torch.empty(4),), {'scale': 2})"]
)
def test_inputs_function(attempt: Attempt, returned: str) -> None:
    made = attempt(FINE + f"\ndef inputs(): return {returned}", {"inputs_from": ("model.py", "inputs")})
    assert made.trace is not None
    assert [made.trace.values[v].expression for v in made.trace.inputs] == ["x"]
    assert made.trace.ops[0].target == "aten.add.Tensor"


def forward_of(body: str) -> str:
    lines = textwrap.indent(textwrap.dedent(body), " " * 8)
    return f"def helper(x):\n    return x.nope()\n\nclass Model(nn.Module):\n    def forward(self, x):\n{lines}\n"


def test_forward_raises_inside_a_helper(attempt: Attempt) -> None:
    diagnostic = only(attempt(forward_of("y = x + 1\nz = helper(y)\nreturn z"), x=(4,)))
    assert diagnostic.code == "TRC106"
    assert "'Tensor' object has no attribute 'nope'" in diagnostic.message
    assert [line_at(diagnostic, i) for i in (0, 1)] == ["x.nope", "helper(y)"]


def test_forward_with_wrong_shapes(attempt: Attempt) -> None:
    diagnostic = only(attempt(forward_of("return torch.mm(x, x)"), x=(4, 8)))
    assert diagnostic.code == "TRC106"
    assert line_at(diagnostic) == "torch.mm(x, x)"


def test_a_call_with_inputs_of_an_option(attempt: Attempt) -> None:
    """What the inputs of `verify --input` make of a call is put down to them, and not to the schedule's model."""
    option = Span("--input", 1, 1, 1, 16)
    source = "class Model(nn.Module):\n    def forward(self, x):\n        return torch.mm(x, x)"
    made = attempt(source, {"inputs_span": option}, x=(4, 9))
    assert [(found.code, found.span) for found in made.diagnostics] == [("TRC106", option)]
    assert only(attempt(source, x=(4, 9))).span.file == "test.sched"


GROUPED = """
class Experts(nn.Module):
    def forward(self, x):
        ends = torch.ones(2, dtype=torch.int32, device=x.device)
        return F.grouped_mm(x, x.new_empty(2, 16, 16), offs=ends)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = Experts()

    def forward(self, x):
        return self.experts(x)
"""


def test_a_kernel_that_takes_no_such_dtype_without_data(attempt: Attempt) -> None:
    diagnostic = only(attempt(GROUPED, x=(16, 16)))
    assert diagnostic.code == "TRC106"
    assert diagnostic.help == (
        "give the op a dtype that it takes; or, where it takes this one on the device, trace `experts` as one op: "
        '`leaf "experts" from "torch:empty_like"`'
    )
    told = only(attempt(GROUPED, {"captured": True}, x=(16, 16))).help
    assert told is not None and told.endswith("(CAP103), and only an eager target takes it")
    alone = GROUPED.replace("class Model", "class Other").replace("class Experts", "class Model")
    help_of_root = only(attempt(alone.replace("Experts()", "Model()"), x=(16, 16))).help
    assert help_of_root is not None and help_of_root.endswith("trace that as one op: a `leaf`")
    assert attempt(GROUPED, x=("bf16", (16, 16))).trace is not None


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("if x.sum() > 0:\n    return x\nreturn -x", "x.sum() > 0"),
        ("n = int(x.sum())\nreturn x[:n] if n > 2 else x", "int(x.sum())"),
        ("for i in x.nonzero():\n    x = x + i\nreturn x", "x.nonzero()"),
        ("while x.max() > 1:\n    x = x / 2\nreturn x", "x.max() > 1"),
    ],
)
def test_data_dependent(attempt: Attempt, body: str, line: str) -> None:
    diagnostic = only(attempt(forward_of(body), x=(4,)))
    assert diagnostic.code == "TRC107", diagnostic
    assert line_at(diagnostic) in (line, body.splitlines()[0])


def test_unsupported_construct(attempt: Attempt) -> None:
    diagnostic = only(attempt(forward_of("x.unsqueeze_(0)\nreturn x"), x=(4,)))
    assert diagnostic.code == "TRC108", diagnostic


def test_weights_that_forward_converts(attempt: Attempt) -> None:
    source = """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.router = nn.Linear(4, 4)

            def forward(self, x):
                self.router = self.router.to(torch.float32)
                return self.router(x)
        """
    diagnostic = only(attempt(source, x=(4,)))
    assert diagnostic.code == "TRC108"
    assert "forward() converts the weights of a module" in diagnostic.message
    assert line_at(diagnostic) == "self.router.to(torch.float32)"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("torch.tensor([1.0, 2.0], device=x.device)", "has no values while tracing"),
        ("torch.tensor(list(range(1000)))", "too many elements"),
    ],
)
def test_constant_without_values(attempt: Attempt, expression: str, reason: str) -> None:
    diagnostic = only(attempt(forward_of(f"k = {expression}\nreturn x, k * 2"), x=(2,)))
    assert diagnostic.code == "TRC109"
    assert reason in diagnostic.message
    assert line_at(diagnostic) == expression


@pytest.mark.parametrize(
    ("index", "tensors"),
    [
        ("x[..., [-2], :]", "torch.tensor([-2])"),
        ("x[[[0, 1], [1, 0]]]", "torch.tensor([[0, 1], [1, 0]])"),
        ("x[[True, False]]", "torch.tensor([True, False])"),
        ("x.clone().index_fill_(0, x[[1, 1], 0, 0].long(), 0)", "torch.tensor([1, 1])"),
    ],
)
def test_a_list_of_numbers_as_an_index(attempt: Attempt, index: str, tensors: str) -> None:
    made = attempt(forward_of(f"return {index}"), x=(2, 2, 3))
    assert made.trace is not None, made.diagnostics
    assert tensors in [value.expression for value in made.trace.values]


def test_torch_missing(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    diagnostic = only(attempt(FINE, x=(4,)))
    assert diagnostic.code == "TRC110"
    assert "streamsched[trace]" in (diagnostic.help or "")


def test_verbose_adds_the_traceback(attempt: Attempt) -> None:
    made = attempt(forward_of("return helper(x)"), verbose=True, x=(4,))
    assert "Traceback (most recent call last)" in made.diagnostics[0].notes[0]


def test_nothing_is_left_behind(attempt: Attempt, capsys: pytest.CaptureFixture[str]) -> None:
    from torch.nn.modules import module

    before = (
        list(sys.path),
        set(sys.modules),
        torch.compiler.is_compiling,
        len(module._global_forward_hooks),
        len(module._global_forward_pre_hooks),
        len(module._global_buffer_registration_hooks),
    )
    attempt("print('hello')\n" + forward_of("return helper(x)"), x=(4,))
    after = (
        list(sys.path),
        {name for name in sys.modules if "model" not in name or name in before[1]},
        torch.compiler.is_compiling,
        len(module._global_forward_hooks),
        len(module._global_forward_pre_hooks),
        len(module._global_buffer_registration_hooks),
    )
    assert "model" not in sys.modules
    assert before[0] == after[0]
    assert before[2:] == after[2:]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "hello\n"


def test_the_users_instance_is_not_changed(attempt: Attempt) -> None:
    made = attempt(
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(4, 4)
                self.drop = nn.Dropout(0.5)

            def forward(self, x):
                return self.drop(self.linear(x))

        model = Model()
        assert model.linear.weight.device.type == "cpu"
        keep = torch.nn.kept_by_test = model
        """,
        {"attribute": "model"},
        x=(4, 4),
    )
    model = torch.nn.kept_by_test  # type: ignore[attr-defined]
    del torch.nn.kept_by_test  # type: ignore[attr-defined]
    assert made.trace is not None
    assert not any(op.random for op in made.trace.ops)
    assert model.linear.weight.device.type == "cpu"
    assert model.training


def test_an_edit_within_the_second_is_seen(tmp_path: Path, attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python tells by the second and the size whether a module that it has compiled was changed since."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    first = attempt(FINE, x=(4,)).trace
    second = attempt(FINE.replace("x + scale", "x * scale"), x=(4,)).trace
    assert first is not None and second is not None
    assert [first.ops[0].target, second.ops[0].target] == ["aten.add.Tensor", "aten.mul.Tensor"]
    assert not list(tmp_path.rglob("*.pyc"))
    assert not sys.dont_write_bytecode


def test_two_folders_may_each_have_a_model(tmp_path: Path, attempt: Attempt) -> None:
    first = attempt(FINE, x=(4,)).trace
    second = attempt(FINE.replace("x + scale", "x * scale"), x=(4,)).trace
    assert first is not None and second is not None
    assert [first.ops[0].target, second.ops[0].target] == ["aten.add.Tensor", "aten.mul.Tensor"]


def test_exception_that_crosses_modules(attempt: Attempt) -> None:
    source = """
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError("no")

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.fails = Fails()
            self.act = nn.ReLU()

        def forward(self, x):
            try:
                return self.fails(x)
            except KeyError:
                return self.act(x)
    """
    diagnostic = only(attempt(source, x=(4,)))
    assert diagnostic.code == "TRC108"
    assert "caught in another" in diagnostic.message


def test_tensor_made_without_a_device(attempt: Attempt) -> None:
    diagnostic = only(attempt(forward_of("y = torch.zeros(4)\nreturn x + y"), x=(4,)))
    assert diagnostic.code == "TRC106"
    assert "mixes tensors of two devices" in diagnostic.message
    assert "device=x.device" in (diagnostic.help or "")
    assert line_at(diagnostic) == "x + y"


def test_nothing_of_torchs_own_is_printed(attempt: Attempt, capfd: pytest.CaptureFixture[str]) -> None:
    made = attempt(forward_of("print('seen')\nif x.sum() > 0:\n    return x\nreturn -x"), x=(4,))
    assert made.diagnostics[0].code == "TRC107"
    assert capfd.readouterr().err == "seen\n"
    assert "print" not in vars(sys.modules["torch.export._trace"])


RETURNS_A_DATACLASS = """
import dataclasses

@dataclasses.dataclass
class Output:
    y: object

REGISTER

class Model(nn.Module):
    def forward(self, x):
        return Output(x + 1)
"""


def test_dataclass_that_torch_does_not_know(attempt: Attempt) -> None:
    diagnostic = only(attempt(RETURNS_A_DATACLASS.replace("REGISTER", ""), x=(4,)))
    assert diagnostic.code == "TRC108"
    assert "forward() returns a model.Output" in diagnostic.message
    advice = "torch.export.register_dataclass(Output)"
    assert advice in (diagnostic.help or "")
    assert line_at(diagnostic) == "return Output(x + 1)"
    assert attempt(RETURNS_A_DATACLASS.replace("REGISTER", advice), x=(4,)).trace is not None


def test_result_whose_size_depends_on_data(attempt: Attempt) -> None:
    diagnostic = only(attempt(forward_of("u = x.unique()\nreturn x + 1, u"), x=(4,)))
    assert diagnostic.code == "TRC107"
    assert "the size of a tensor that forward() returns" in diagnostic.message
    assert line_at(diagnostic) == "x.unique()"


def test_input_that_is_too_large(attempt: Attempt) -> None:
    diagnostic = only(attempt(FINE, x=(99999999999, 9999999999)))
    assert diagnostic.code == "TRC105"
    assert "input `x` of shape [99999999999, 9999999999] is too large" in diagnostic.message


def test_a_first_line_that_says_nothing_is_not_all(attempt: Attempt) -> None:
    made = attempt(forward_of("raise ValueError('Got an error:\\n\\n  the real one\\n  and more')"), x=(4,))
    diagnostic = only(made)
    assert diagnostic.message.endswith("ValueError: Got an error: the real one")
    assert diagnostic.notes == ("`--verbose` shows Python's own traceback",)


def test_every_rule_has_a_page() -> None:
    rules = [rule for code, rule in ALL.items() if code.startswith("TRC") or code in ("SEL105", "SEL106")]
    assert {f"TRC{n}" for n in (*range(101, 119), *range(201, 207))} <= {rule.code for rule in rules}
    for rule in rules:
        assert "Example:" in rule.page and "Use instead:" in rule.page and "bad:" in rule.page


def test_a_module_imported_before_is_read_anew_and_kept(attempt: Attempt, tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text("factor = 3\n")
    stale = ModuleType("parts")
    stale.__file__ = str(tmp_path / "parts.py")
    sys.modules["parts"] = stale
    try:
        made = attempt("from parts import factor\n" + forward_of("return x * factor"), x=(4,))
        assert sys.modules["parts"] is stale
    finally:
        del sys.modules["parts"]
    assert made.trace is not None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import torch_npu", True),
        ("import torch, torch.nn as nn, torch_npu", True),
        ("    import torch_npu as tn", True),
        ("from torch_npu.contrib import x", True),
        ("import torch_npu_tools", False),
        ("# import torch_npu", False),
        ("x = 'import torch_npu'", False),
    ],
)
def test_a_model_that_imports_torch_npu_is_known_by_its_text(line: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(f"import torch\n{line}\n")
    assert imports_npu(tmp_path / "model.py") is found
