"""What autocast casts on a device is not cast while a model is traced: right nevertheless, or refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Trace, refs
from streamsched.dsl.trace.request import LeafRequest, ScopeRequest

Attempt = Callable[..., Traced]
REGION = 'torch.autocast("npu", dtype=torch.float16)'


def model_of(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"class Model(nn.Module):\n    def forward(self, x):\n{lines}\n"


def refused(made: Traced) -> Diagnostic:
    assert made.trace is None
    (found,) = made.diagnostics
    assert found.code == "TRC122", found
    return found


def trace_of(made: Traced) -> Trace:
    assert made.trace is not None, made.diagnostics
    return made.trace


def words_at(span: Span, folder: Path) -> str:
    line = (folder / "model.py").read_text().splitlines()[span.line - 1]
    return line[span.column - 1 : span.end_column - 1]


@pytest.mark.parametrize(
    "question",
    [
        "x.to(y.dtype)",
        "x + 1 if y.dtype == torch.float32 else x",
        "x.new_zeros(4, dtype=y.dtype)",
        "x * y.element_size()",
    ],
)
def test_asking_for_a_dtype_that_autocast_decides(attempt: Attempt, tmp_path: Path, question: str) -> None:
    found = refused(attempt(model_of(f"with {REGION}: y = x @ x\nreturn {question}"), x=(4, 4)))
    asked = "y.element_size()" if "element" in question else "y.dtype"
    assert words_at(found.related[0].span, tmp_path) == asked
    assert "may have cast" in found.message
    assert ".to(torch.float16)" in (found.help or "")


def test_what_is_computed_of_it_is_not_known_either(attempt: Attempt, tmp_path: Path) -> None:
    body = f"with {REGION}: y = x @ x\nz = (y + 1).reshape(-1)\nreturn x.to(z.dtype)"
    assert words_at(refused(attempt(model_of(body), x=(4, 4))).related[0].span, tmp_path) == "z.dtype"


def test_a_leaf_may_have_a_region_of_its_own(attempt: Attempt) -> None:
    source = f"""
    class Part(nn.Module):
        def forward(self, x):
            with {REGION}: return x @ x

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x):
            return x.to(self.part(x).dtype)
    """
    leaf = LeafRequest("part", Span("test.sched", 3, 1, 3, 12))
    refused(attempt(source, {"leaves": (leaf,)}, x=(4, 4)))


@pytest.mark.parametrize(
    "body",
    [
        f"t = x.dtype\nwith {REGION}: y = x @ x\nreturn y.to(t)",
        f"with {REGION}: y = x @ x\nz = y.to(torch.float32)\nreturn x.to(z.dtype)",
        f"with {REGION}: y = (x @ x).float()\nreturn x.to(y.dtype)",
        f"with {REGION}: y = torch.softmax(x @ x, -1, dtype=torch.float32)\nreturn x.to(y.dtype)",
        f"with {REGION}: y = (x @ x).argmax(-1)\nreturn x * (y.dtype == torch.int64)",
        f"with {REGION.replace('16)', '16, enabled=False)')}: y = x @ x\nreturn x.to(y.dtype)",
        f"with {REGION}, torch.autocast('npu', enabled=False): y = x @ x\nreturn x.to(y.dtype)",
    ],
)
def test_dtypes_that_are_known_may_be_asked_for(attempt: Attempt, body: str) -> None:
    trace_of(attempt(model_of(body), x=(4, 4)))


def test_to_may_return_what_it_is_given(attempt: Attempt) -> None:
    """On the device, `y` has the dtype already that the trace thinks it is cast to."""
    trace = trace_of(attempt(model_of(f"with {REGION}: y = x @ x\nreturn y.to(torch.float16)"), x=(4, 4)))
    product, cast = (next(v for v in trace.values if v.producer == op) for op in (0, 1))
    assert set(product.storages) < set(cast.storages) and len(cast.storages) == 2


def test_to_returns_another_tensor(attempt: Attempt) -> None:
    """Without casts it returns the same object, and `y` would be taken for `z`."""
    body = f"with {REGION}: y = x @ x\nz = y.to(torch.float32)\ny.add_(1)\nreturn y, z, z * 2"
    trace = trace_of(attempt(model_of(body), x=(4, 4)))
    assert [op.target for op in trace.ops] == [
        "aten.matmul.default",
        "aten.to.dtype",
        "aten.add_.Tensor",
        "aten.mul.Tensor",
    ]
    y, z = (trace.values[index] for index in list(refs(trace.result))[:2])
    assert (y.producer, y.local) == (2, "y")
    assert (z.producer, z.local) == (1, "z")


def test_to_another_dtype_is_a_copy_without_a_region(attempt: Attempt) -> None:
    trace = trace_of(attempt(model_of("y = x @ x\nreturn y.to(torch.float16)"), x=(4, 4)))
    product, cast = (next(v for v in trace.values if v.producer == op) for op in (0, 1))
    assert not set(product.storages) & set(cast.storages)


def test_casts_of_weights_are_not_kept_for_another_stream(attempt: Attempt) -> None:
    trace = trace_of(attempt(model_of(f"with {REGION}: return x @ x"), x=(4, 4)))
    assert "cache_enabled=False" in trace.ops[0].contexts[0]


SCOPED = """
class Part(nn.Module):
    def forward(self, x):
        return x @ x

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Part(), Part()

    def forward(self, x):
        with REGION:
            y = self.a(x)
        return self.b(y)
"""


@pytest.mark.parametrize(("glob", "wrong"), [("a", True), ("b", False)])
def test_modules_in_scope_under_a_region_around_them(attempt: Attempt, tmp_path: Path, glob: str, wrong: bool) -> None:
    scope: dict[str, Any] = {"scope": ScopeRequest(glob, "", Span("test.sched", 3, 1, 3, 10))}
    made = attempt(SCOPED.replace("REGION", REGION), scope, x=(4, 4))
    if wrong:
        found = refused(made)
        assert "`a` is called in an enabled torch.autocast region" in found.message
        assert words_at(found.related[0].span, tmp_path) == REGION
    else:
        trace_of(made)
