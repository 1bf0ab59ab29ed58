"""Python that asks for numbers which no input has a part in, where the model runs without data."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.request import ScopeRequest
from streamsched.dsl.trace.tracing.known import KnownNumbers


def on_meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def test_what_is_made_of_sizes_is_known() -> None:
    with KnownNumbers():
        positions = torch.arange(6, device="meta").view(2, 3)
        assert positions.device.type == "meta"
        assert int(positions[1, -1]) == 5
        assert bool((positions.diff(dim=1) == 1).all())
        positions[0] += 10
        assert positions[0].sum() == 33


@pytest.mark.parametrize(
    "make",
    [
        lambda: on_meta(3),
        lambda: torch.rand(3, device="meta"),
        lambda: torch.ones(3, device="meta") * on_meta(3),
        lambda: torch.ones(3, device="meta").copy_(on_meta(3)),
        lambda: torch.ones(2_000_000, device="meta"),
        lambda: torch.nn.Parameter(on_meta(3)) + 1,
    ],
    ids=["empty", "random", "input", "overwritten", "large", "weight"],
)
def test_what_is_made_of_anything_else_is_not(make: Callable[[], torch.Tensor]) -> None:
    with KnownNumbers(), pytest.raises(RuntimeError, match="meta tensors"):
        make()[0].item()


def test_a_write_is_seen_by_all_views() -> None:
    with KnownNumbers():
        ones = torch.ones(3, device="meta")
        first, other = ones[0], torch.ones(3, device="meta")
        ones.copy_(on_meta(3))
        with pytest.raises(RuntimeError, match="meta tensors"):
            first.item()
        assert other[0].item() == 1


class State:
    """An object that forward() is called with."""

    def __init__(self) -> None:
        self.length = torch.tensor(4)
        self.scale = torch.tensor(0.5)


def made_inputs() -> tuple[KnownNumbers, State, torch.Tensor]:
    known = KnownNumbers()
    with torch.device("meta"), known.making_inputs():
        state, ids = State(), torch.tensor([[7, 8]])
    known.keep_state(((state,), {"nested": [ids]}))
    return known, state, ids


def test_integers_in_the_objects_of_a_call_are_known() -> None:
    known, state, _ = made_inputs()
    assert state.length.device.type == "meta"
    with known:
        state.length.add_(2)
        assert state.length.item() == 6


@pytest.mark.parametrize("which", ["argument", "float"])
def test_the_data_of_a_call_is_not(which: str) -> None:
    known, state, ids = made_inputs()
    with known, pytest.raises(RuntimeError, match="meta tensors"):
        (ids.sum() if which == "argument" else state.scale).item()


@pytest.mark.parametrize("device", [None, "meta", torch.device("meta")])
def test_a_literal_is_known_wherever_its_device_is_named(device: str | torch.device | None) -> None:
    known = KnownNumbers()
    with torch.device("meta"), known.making_inputs():
        assert torch.tensor([3, 4], device=device)[1].item() == 4
        assert torch.tensor(3, device="cpu").device.type == "cpu"


SOURCE = """
class Layer(nn.Module):
    def forward(self, x, mask=None):
        return x + 1 if mask is None else x * mask

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def forward(self, x):
        positions = torch.arange(x.shape[0], device=x.device)
        packed = (positions.diff() != 1).any()
        return self.layer(x, positions if packed else None)
"""


def test_a_module_in_scope_gets_what_the_model_gives_it_at_run_time(attempt: Callable[..., Traced]) -> None:
    made = attempt(SOURCE, {"scope": ScopeRequest("layer", "", Span("test.sched", 3, 1, 3, 20))}, x=(4,))
    assert made.trace is not None, made.diagnostics
    assert [op.target for op in made.trace.ops] == ["aten.add.Tensor"]
