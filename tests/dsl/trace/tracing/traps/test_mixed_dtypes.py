"""Ops that are given several dtypes: a warning where they want one, none where they promote or index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from streamsched.dsl.trace.export import Traced

Attempt = Callable[..., Traced]


def source_of(body: str) -> str:
    return f"""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.kernel = nn.Parameter(torch.ones(4, 4, 1))
            self.table = nn.Embedding(8, 4)
            self.small = nn.Parameter(torch.ones(4, 4, dtype=torch.float16))

        def forward(self, x):
            {body}
"""


@pytest.mark.parametrize(
    ("call", "op", "other"),
    [
        ("self.proj(x)", "aten.linear", "self.proj.weight"),
        ("F.conv1d(x, self.kernel)", "aten.conv1d", "self.kernel"),
        ("torch.mm(x, self.proj.weight)", "aten.mm", "self.proj.weight"),
        ("x @ self.proj.weight", "aten.", "self.proj.weight"),
        ("torch.addmm(x, self.small, self.proj.weight)", "aten.addmm", "self.proj.weight"),
    ],
)
def test_several_dtypes_where_there_must_be_one(
    attempt: Attempt, tmp_path: Path, call: str, op: str, other: str
) -> None:
    traced = attempt(source_of(f"return {call} * 2"), x=("f16", (4, 4)))
    (warning,) = traced.diagnostics
    assert (warning.code, traced.trace is not None) == ("TRC206", True)
    assert warning.message.startswith(f"`{op}")
    assert f"`x` of float16 and `{other}` of float32" in warning.message
    span = warning.related[0].span
    assert call in (tmp_path / "model.py").read_text().splitlines()[span.line - 1]


@pytest.mark.parametrize(
    "body",
    [
        "return x + self.proj.weight",
        "return torch.where(x > 0, x, self.proj.weight)",
        "return self.table((x > 0).long()) * self.small",
        "return torch.mm(x.float(), self.proj.weight)",
        "return self.proj.weight[(x[0] > 0).long()] * x",
    ],
)
def test_ops_that_promote_or_index_are_no_finding(attempt: Attempt, body: str) -> None:
    assert attempt(source_of(body), x=("f16", (4, 4))).diagnostics == ()


def test_a_place_in_a_loop_is_told_once(attempt: Attempt) -> None:
    body = "return [self.proj(x) for _ in range(3)]"
    assert [found.code for found in attempt(source_of(body), x=("f16", (4, 4))).diagnostics] == ["TRC206"]


@pytest.mark.parametrize("call", ["self.proj(x)", "F.conv1d(x, self.kernel)", "torch.mm(x, self.proj.weight)"])
def test_integers_where_floats_are_wanted(attempt: Attempt, call: str) -> None:
    (warning,) = attempt(source_of(f"return {call} * 2"), x=("i64", (4, 4))).diagnostics
    assert warning.code == "TRC206"
    assert "`x` of int64 and `self." in warning.message


@pytest.mark.parametrize("body", ["return torch.mm(x, x)", "return x * self.proj.weight", "return self.table(x)"])
def test_integers_alone_or_promoted(attempt: Attempt, body: str) -> None:
    assert attempt(source_of(body), x=("i64", (4, 4))).diagnostics == ()
