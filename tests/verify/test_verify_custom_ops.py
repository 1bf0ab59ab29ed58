"""Custom ops, printed under torch.ops, give the numbers of the original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from modelled import plan_model

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import load
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import StepKind
from streamsched.verify.request import Request
from streamsched.verify.run import verify

MODEL = """
@torch.library.custom_op("checked::bump", mutates_args={"x"})
def bump(x: torch.Tensor, y: torch.Tensor) -> None:
    x += y


torch.library.define("checked::pair", "(Tensor x, *, int n=1) -> (Tensor, Tensor)")


@torch.library.impl("checked::pair", "CompositeExplicitAutograd")
def pair(x, *, n=1):
    return x + n, x - n


@torch.library.register_fake("checked::pair")
def pair_fake(x, *, n=1):
    return torch.empty_like(x), torch.empty_like(x)


class Model(nn.Module):
    def forward(self, x, y):
        a, c = torch.ops.checked.pair(x, n=3)
        b = y.relu()
        bump(b, a)
        return b * c, b
"""

SCHEDULE = """
    input x, y: f32[4, 8]
    target cpu
    stream side
    op "checked.bump" on side
    sync auto
"""


def test_a_mutation_on_a_side_stream_is_ordered(tmp_path: Path) -> None:
    program = plan_model(tmp_path, MODEL, SCHEDULE)
    text = generate(program, "npu")
    assert "a, c = torch.ops.checked.pair(x, n=3)" in text
    assert "torch.ops.checked.bump(b, a)" in text
    loaded = load(str(tmp_path / "test.sched"))
    verdict = verify(loaded, Request("", orders=3))
    assert not isinstance(verdict, tuple), verdict
    assert verdict.agrees, (verdict.failures, verdict.differences)
    assert loaded.program is not None
    for wait in [index for index, step in enumerate(loaded.program.steps) if step.kind is StepKind.WAIT]:
        torn = verify(replace(loaded, program=without(loaded.program, wait)), Request("", orders=3))
        assert not isinstance(torn, tuple)
        assert not torn.agrees
