"""What forward() does and the trace does not hold: a warning each, and the user's objects as they were."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import ABSENT, Literal

Attempt = Callable[..., Traced]


def warning_of(made: Traced, code: str) -> Diagnostic:
    assert made.trace is not None, made.diagnostics
    [warning] = made.diagnostics
    assert (warning.code, warning.severity) == (code, Severity.WARNING)
    assert made.trace.warnings == (warning.message,)
    return warning


def model_of(init: str, forward: str) -> str:
    return f"""
import collections

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init}

    def forward(self, x):
        {forward}
"""


def test_attribute_that_is_no_buffer(attempt: Attempt) -> None:
    warning = warning_of(attempt(model_of("pass", "self.last = x * 2; return x + 1"), x=(4,)), "TRC201")
    assert "forward() leaves a tensor in self.last" in warning.message
    assert warning.message.endswith("generated code will not leave one there")


def test_a_tensor_appended_to_a_list(attempt: Attempt) -> None:
    warning = warning_of(attempt(model_of("self.seen = []", "self.seen.append(x * 2); return x + 1"), x=(4,)), "TRC201")
    assert "forward() leaves a tensor in self.seen[0]" in warning.message


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_weights_of_an_rnn_are_kept(attempt: Attempt, kind: str) -> None:
    made = attempt(model_of(f"self.rnn = nn.{kind}(4, 4)", "return self.rnn(x)[0]"), x=(2, 4))
    assert made.trace is not None
    assert made.diagnostics == ()


@pytest.mark.parametrize(
    ("init", "change", "names"),
    [
        ("self.n = 0", "self.n += 1", "self.n"),
        ("self.on = 1", "self.on = True", "self.on"),
        ("self.mode = None", "self.mode = 'warm'", "self.mode"),
        ("self.seen = [1]", "self.seen.append(2)", "self.seen"),
        ("self.seen = {'k': [0.5]}", "self.seen['k'][0] = 1.5", "self.seen"),
        ("pass", "self.new = 3", "self.new"),
        ("self.a, self.inner = 1, nn.ReLU(); self.inner.n = 1", "self.a = 2; self.inner.n = 2", "self.a, self.inner.n"),
    ],
)
def test_plain_attribute_that_changes(attempt: Attempt, init: str, change: str, names: str) -> None:
    warning = warning_of(attempt(model_of(init, f"{change}; return x + 1"), x=(4,)), "TRC201")
    assert f"forward() changes {names}, which" in warning.message


@pytest.mark.parametrize(
    ("init", "forward", "assignment"),
    [
        ("self.n = 0", "self.n += 1; return x * self.n", ("self.n", "1", "0")),
        ("self.n = 2", "y = x * self.n; self.n = self.n + 1; return y", ("self.n", "3", "2")),
        ("self.seen = [1]", "self.seen.append(2); return x * len(self.seen)", ("self.seen", "[1, 2]", "[1]")),
        ("pass", "y = x if hasattr(self, 'n') else x + 1; self.n = 3; return y", ("self.n", "3", ABSENT)),
        ("self.mode = None", "y = x * 2 if self.mode else x; self.mode = 'a'; return y", ("self.mode", "'a'", "None")),
    ],
)
def test_plain_attribute_that_steers_the_next_call(
    attempt: Attempt, init: str, forward: str, assignment: tuple[str, str, str]
) -> None:
    made = attempt(model_of(init, forward), x=(4,))
    assert "what it reads there is built in" in warning_of(made, "TRC201").message
    assert made.trace is not None
    [found] = made.trace.assignments
    assert (found.target, found.value, found.before) == (assignment[0], Literal(assignment[1]), assignment[2])
    assert made.trace.told == (("TRC201", made.trace.warnings[0]),)


@pytest.mark.parametrize(
    ("init", "forward"),
    [
        ("self.n = 0", "self.n = self.n + 1; return x"),
        ("self.n = None", "self.n = x.shape[0]; return x * self.n"),
        ("self.seen = []", "self.seen.append(1); return x + 1"),
    ],
)
def test_plain_attribute_of_before_that_nobody_reads(attempt: Attempt, init: str, forward: str) -> None:
    made = attempt(model_of(init, forward), x=(4,))
    assert "which generated code will not do" in warning_of(made, "TRC201").message
    assert made.trace is not None
    assert made.trace.assignments == ()


def test_plain_attribute_that_another_module_changes(attempt: Attempt) -> None:
    source = """
    class Sub(nn.Module):
        n = 1

        def __init__(self):
            super().__init__()
            self.n = 1

        def forward(self, x):
            return x * self.n

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.sub = Sub()

        def forward(self, x):
            y = self.sub(x)
            self.sub.n = 2
            return y
    """
    made = attempt(source, x=(4,))
    assert made.trace is None
    [found] = made.diagnostics
    assert found.code == "TRC108"
    assert "reads self.sub.n and changes it from another module" in found.message


def test_plain_attribute_that_stays(attempt: Attempt) -> None:
    source = model_of("self.n, self.seen, self.nan = 1, [1], float('nan')", "self.n = 1; return x + self.n")
    assert attempt(source, x=(4,)).diagnostics == ()


def test_plain_attributes_of_the_users_model_are_put_back(attempt: Attempt) -> None:
    source = model_of(
        "self.n, self.seen, self.table = 0, [1], {}",
        "self.n += 1; self.seen.append(2); self.table['k'] = 1; self.new = 1; return x + 1",
    )
    source += """
model = Model()
torch.nn.kept_by_test = model, model.seen
"""
    made = attempt(source, {"attribute": "model"}, x=(4,))
    model, seen = torch.nn.kept_by_test  # type: ignore[attr-defined]
    del torch.nn.kept_by_test  # type: ignore[attr-defined]
    assert "self.n, self.seen, self.table, self.new" in warning_of(made, "TRC201").message
    assert (model.n, model.seen, model.table, hasattr(model, "new")) == (0, [1], {}, False)
    assert model.seen is seen


@pytest.mark.parametrize(
    "region",
    [
        "torch.autocast(x.device.type, torch.float16)",
        "torch.autocast('npu', dtype=torch.float16)",
        "torch.autocast('cpu', torch.bfloat16)",
        "torch.cpu.amp.autocast()",
    ],
)
def test_enabled_autocast(attempt: Attempt, tmp_path: Path, region: str) -> None:
    init, enter = torch.autocast.__init__, torch.autocast.__enter__
    made = attempt(model_of("pass", f"with {region}: return x @ x"), x=(4, 4))
    related = warning_of(made, "TRC202").related[0].span
    text = (tmp_path / "model.py").read_text().splitlines()[related.line - 1]
    assert text[related.column - 1 : related.end_column - 1] == region
    assert made.trace is not None
    assert [value.dtype for value in made.trace.values] == ["float32", "float32"]
    assert (torch.autocast.__init__, torch.autocast.__enter__) == (init, enter)


def test_autocast_as_a_decorator(attempt: Attempt) -> None:
    source = """
    @torch.autocast("npu", dtype=torch.float16)
    def helper(x):
        return x @ x

    class Model(nn.Module):
        def forward(self, x):
            return helper(x)
    """
    assert warning_of(attempt(source, x=(4, 4)), "TRC202").related[0].span.line == 5


@pytest.mark.parametrize(
    ("result", "real", "other"),
    [
        ("x.max(-1)", "torch.return_types.max", "tuple"),
        ("(x, x.sort(-1))", "torch.return_types.sort", "tuple"),
        ("(x + 1).shape", "torch.Size", "tuple"),
        ("collections.OrderedDict(a=x + 1)", "collections.OrderedDict", "dict"),
    ],
)
def test_result_of_another_class(attempt: Attempt, tmp_path: Path, result: str, real: str, other: str) -> None:
    warning = warning_of(attempt(model_of("pass", f"return {result}"), x=(4, 4)), "TRC203")
    assert f"forward() returns a {real}; generated code returns a {other}" in warning.message
    [related] = warning.related
    text = (tmp_path / "model.py").read_text().splitlines()[related.span.line - 1]
    assert text[related.span.column - 1 :] == f"return {result}"


@pytest.mark.parametrize("result", ["x + 1, {'a': [x]}", "tuple(x.max(-1))", "x.split(1)"])
def test_result_of_the_same_class(attempt: Attempt, result: str) -> None:
    assert attempt(model_of("pass", f"return {result}"), x=(4, 4)).diagnostics == ()


def test_torch_compile_in_the_same_process(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
        "        return x + 1 if torch.compiler.is_compiling() else x\n"
    )
    script = """
import sys
from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import trace_model
from streamsched.dsl.trace.request import InputTensor, TraceRequest

span = Span("a", 1, 1, 1, 1)
inputs = (InputTensor("x", "f32", (4,)),)
assert trace_model(TraceRequest(sys.argv[1], "model.py", "Model", inputs, None, (), span, None, span)).trace

import torch

def asks(x):
    for question in (torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling, torch.compiler.is_exporting):
        question()
    return x + 1 if torch.compiler.is_compiling() else x

assert torch.compile(asks, fullgraph=True, backend="eager")(torch.zeros(1)).item() == 1
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
