"""What is advised for a model that does not trace is followed, and works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from modelled import plan_model

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace.export import Traced
from streamsched.verify.generated import load_generated

MODEL = """
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

class Part(nn.Module):
    def forward(self, x):
        BODY

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, x):
        y = self.part(x * 2)
        return y + 1
"""
BODIES = {
    "while_loop": "return while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (x.abs() + 1,))[0]",
    "scan": "return scan(lambda c, x: (c + x, c * 1), x[0] * 1, x, dim=0)[1]",
    "map": "return torch_map(lambda x: x * 2, x)",
    "associative_scan": "return associative_scan(lambda a, b: a + b, x, dim=0, combine_mode='generic')",
    "vmap": "return torch.vmap(lambda a: a * 2)(x)",
    "grad": "return torch.func.grad(lambda a: (a * a).sum())(x)",
    "data": "return x * 2 if x.sum() > 0 else x",
    "loop": "return sum((x for _ in range(int(x.abs().sum()) + 1)), x)",
}


def refused(attempt: Callable[..., Traced], body: str) -> Diagnostic:
    made = attempt(MODEL.replace("BODY", body), x=(4, 4))
    assert made.trace is None
    return made.diagnostics[0]


@pytest.mark.parametrize("name", BODIES)
def test_the_leaf_that_is_advised_cures_it(attempt: Callable[..., Traced], tmp_path: Path, name: str) -> None:
    found = refused(attempt, BODIES[name])
    assert found.code in ("TRC107", "TRC108")
    assert found.related[0].span.line == 12, "the line in the part"
    assert found.fix is not None
    (edit,) = found.fix.edits
    assert edit.text.strip() == 'leaf "part" from "torch:empty_like"'
    schedule = f'input x: f32[4, 4]\ntarget cpu{edit.text}\nstream side\nmodule "part" on side\nsync auto\n'
    program = plan_model(tmp_path, MODEL.replace("BODY", BODIES[name]), schedule)
    text = generate(program, "cpu")
    assert "self.part(" in text
    namespace: dict[str, Any] = {}
    exec((tmp_path / "model.py").read_text(), namespace)
    original, scheduled = namespace["Model"]().eval(), namespace["Model"]().eval()
    load_generated(text)["apply"](scheduled, strict=True)
    x = torch.randn(4, 4)
    if name not in ("while_loop", "scan"):  # eagerly, these are compiled
        assert torch.equal(scheduled(x), original(x))


@pytest.mark.parametrize("name", ["while_loop", "scan", "map", "vmap"])
def test_a_model_that_is_no_module_of_another_has_to_be_cut(attempt: Callable[..., Traced], name: str) -> None:
    source = MODEL.partition("class Model")[0].replace("class Part", "class Model").replace("BODY", BODIES[name])
    (found,) = attempt(source, x=(4, 4)).diagnostics
    assert found.fix is None
    assert found.help == "put it into a module of its own, and trace that as one op: a `leaf`"


def test_vmap_is_named_and_shown_once(attempt: Callable[..., Traced]) -> None:
    found = refused(attempt, "return torch.vmap(lambda a: torch.vmap(lambda b: b * 2 + 1)(a.reshape(2, 2)).sum(0))(x)")
    assert found.message == (
        "forward() uses torch.vmap or another transform of functions, which does not trace into one sequence of ops"
    )


def test_what_does_not_run_on_the_meta_device(attempt: Callable[..., Traced]) -> None:
    found = refused(attempt, "if x.device.type == 'meta': raise ValueError('not on the meta device')\n        return x")
    assert found.code == "TRC106"
    assert 'leaf "part" from "torch:empty_like"' in (found.help or "")
