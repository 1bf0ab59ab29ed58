"""What a model is told when it asks whether it is being compiled, and what is said where that matters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from streamsched.dsl.pipeline import trace_request
from streamsched.dsl.syntax.parser import parse
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Trace

Attempt = Callable[..., Traced]

BRANCH = """
from torch.compiler import is_compiling

class Model(nn.Module):
    def forward(self, x):
        if QUESTION():
            return x * 2
        return x + x
"""


def targets(made: Traced) -> list[str]:
    assert made.trace is not None, made.diagnostics
    return [op.target for op in made.trace.ops]


@pytest.mark.parametrize(
    "question",
    [
        "torch.compiler.is_compiling",
        "torch.compiler.is_dynamo_compiling",
        "torch.compiler.is_exporting",
        "torch._dynamo.is_compiling",
        "torch._utils.is_compiling",
        "is_compiling",
    ],
)
def test_the_answer_is_that_of_the_request(attempt: Attempt, question: str) -> None:
    source = BRANCH.replace("QUESTION", question)
    for compiled, target in ((True, "aten.mul.Tensor"), (False, "aten.add.Tensor")):
        made = attempt(source, {"compiled": compiled, "chosen": True}, x=(4,))
        assert targets(made) == [target]
        assert made.diagnostics == ()
        assert made.trace is not None and made.trace.calls[0].branches_on_compiling


@pytest.mark.parametrize(("compiled", "note"), [(True, "`mul()`; in eager ones `add()`"), (False, "`add()`; in comp")])
def test_a_branch_that_matters(attempt: Attempt, tmp_path: Path, compiled: bool, note: str) -> None:
    made = attempt(BRANCH.replace("QUESTION", "is_compiling"), {"compiled": compiled}, x=(4,))
    [warning] = made.diagnostics
    assert warning.code == "TRC204"
    assert note in warning.notes[0]
    line = (tmp_path / "model.py").read_text().splitlines()[warning.related[0].span.line - 1]
    assert line.strip() == ("return x * 2" if compiled else "return x + x")
    assert "trace eager" in (warning.help or "")


def test_a_question_that_changes_nothing(attempt: Attempt) -> None:
    source = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(4))
            self.asked = []

        def forward(self, x):
            if not torch.compiler.is_compiling():
                print("not compiled")
            self.seen.add_(x)
            return x + self.seen

    model = Model()
    """
    made = attempt(source, {"attribute": "model"}, x=(4,))
    assert made.diagnostics == ()
    assert made.trace is not None and not made.trace.calls[0].branches_on_compiling


def test_an_eager_run_that_raises(attempt: Attempt) -> None:
    source = """
    class Model(nn.Module):
        def forward(self, x):
            if not torch.compiler.is_compiling() and bool((x > 0).all()):
                return x
            return x * 2
    """
    [warning] = attempt(source, x=(4,)).diagnostics
    assert warning.code == "TRC204"


def test_the_model_is_as_before_after_the_comparison(attempt: Attempt) -> None:
    source = """
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.count, self.seen = 0, []

        def forward(self, x):
            if not torch.compiler.is_compiling():
                self.count += 1
                self.seen.append(1)
                self.new = x
            return x * 2

    model = Model()
    torch.nn.kept_by_test = model
    """
    import torch

    assert attempt(source, {"attribute": "model"}, x=(4,)).diagnostics == ()
    model = torch.nn.kept_by_test  # type: ignore[attr-defined]
    del torch.nn.kept_by_test  # type: ignore[attr-defined]
    assert (model.count, model.seen, hasattr(model, "new")) == (0, [], False)


@pytest.mark.parametrize(
    ("statements", "compiled", "chosen"),
    [
        ("", True, False),
        ("target npugraph_ex", True, False),
        ("target npu", False, False),
        ("target cpu", False, False),
        ("trace eager", False, True),
        ("target cuda\ntrace compiled", True, True),
    ],
)
def test_who_decides(statements: str, compiled: bool, chosen: bool) -> None:
    parsed = parse(f'schedule test\nmodel "model.py:Model"\n{statements}\n', "test.sched")
    request = trace_request(parsed.schedule, "")
    assert (request.compiled, request.chosen) == (compiled, chosen)
    assert ("trace eager" in request.determined_by) == (not compiled)


def test_traces_differ_only_where_it_matters(traced: Callable[..., Trace]) -> None:
    source = (
        "class Model(nn.Module):\n    def forward(self, x):\n        return x + torch.compiler.is_compiling() * 0\n"
    )
    first, second = (traced(source, {"compiled": compiled}, x=(4,)) for compiled in (True, False))
    assert first.digest == second.digest
