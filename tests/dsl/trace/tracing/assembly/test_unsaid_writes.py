"""Operators that write what their schemas do not name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from streamsched.dsl.trace.model import StorageKind, Trace
from streamsched.dsl.trace.tracing.assembly import effects

_STATE = "self.register_buffer('mean', torch.zeros(4)); self.register_buffer('var', torch.ones(4))"


def buffers_written(trace: Trace) -> set[str]:
    written = {storage for op in trace.ops for storage in op.writes}
    return {trace.storages[s].name for s in written if trace.storages[s].kind is StorageKind.BUFFER}


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("F.batch_norm(x, self.mean, self.var, training=True)", {"b_mean", "b_var"}),
        ("F.batch_norm(x, self.mean, self.var, training=False)", set()),
        ("F.instance_norm(x, self.mean, self.var, use_input_stats=True)", {"b_mean", "b_var"}),
        ("F.instance_norm(x, self.mean, self.var, use_input_stats=False)", set()),
        ("torch.native_batch_norm(x, None, None, self.mean, self.var, True, 0.1, 1e-5)[0]", {"b_mean", "b_var"}),
    ],
)
def test_running_statistics(traced: Callable[..., Trace], call: str, written: set[str]) -> None:
    source = f"""
        import torch.nn.functional as F

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                {_STATE}

            def forward(self, x):
                return {call}
        """
    assert buffers_written(traced(source, x=(2, 4, 8))) == written


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm", "native_batch_norm", "_batch_norm_impl_index"])
@pytest.mark.parametrize("switch", [True, False])
def test_torch_does_what_is_said_of_it(name: str, switch: bool) -> None:
    target = getattr(torch.ops.aten, name).default
    mean, variance = torch.zeros(4), torch.ones(4)
    more = [False] if len(target._schema.arguments) == 9 else []
    args = (torch.randn(2, 4, 8), None, None, mean, variance, switch, 0.1, 1e-5, *more)
    target(*args)
    assert bool(mean.abs().sum() > 0) == switch
    assert effects.written(target, args, {}) == ({"running_mean", "running_var"} if switch else set())


def test_an_operator_that_works_in_place_without_saying_so() -> None:
    with torch.library._scoped_library("npu", "FRAGMENT") as library:
        library.define("npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin) -> (Tensor, Tensor)")
        target = torch.ops.npu.npu_apply_rotary_pos_emb.default
        assert effects.written(target, (torch.ones(1),) * 4, {}) == {"query", "key"}


def test_statistics_that_are_always_updated() -> None:
    target = torch.ops.aten.batch_norm_update_stats.default
    args = (torch.randn(2, 4, 8), torch.zeros(4), torch.ones(4), 0.1)
    target(*args)
    assert bool(args[1].abs().sum() > 0)
    assert effects.written(target, args, {}) == {"running_mean", "running_var"}
