"""What the child programs share: compiling a hand-written forward, its failure, and its numbers under every order."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch_npu

from streamsched.npu_sim import control, orders
from streamsched.npu_sim.log import Record

Forward = Callable[..., Any]
SIZE = 16
ADVERSARIAL = (orders.SIDE_FIRST, orders.SIDE_LAST, *(orders.random_order(seed) for seed in range(4)))
assert torch_npu.__version__


def inputs(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Two square matrices on the device."""
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(SIZE, SIZE, generator=generator).npu() for _ in range(2))
    torch.npu.synchronize()
    return x, y


def compiled(forward: Forward, *, fullgraph: bool = True, options: dict[str, bool] | None = None) -> Forward:
    """`forward` under npugraph_ex, compiled anew.

    Its streams must be new as well: the pool has 32, each capture takes some, and a side stream that is the captured
    one by chance shows no hazard.
    """
    torch._dynamo.reset()
    return torch.compile(forward, backend="npugraph_ex", fullgraph=fullgraph, dynamic=False, options=options)


def failure(forward: Forward, *, fullgraph: bool = True) -> str:
    """The type and text of the error that compiling or calling `forward` raises; empty where it raises none."""
    try:
        compiled(forward, fullgraph=fullgraph)(*inputs())
        torch.npu.synchronize()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        torch.npu.set_stream(torch.npu.default_stream())  # a capture that failed leaves its own stream current
        control.clear_error()
    return ""


def numbers(forward: Forward, seed: int) -> list[list[float]]:
    """Everything that a call makes or changes: its results, then its inputs."""
    given = inputs(seed)
    control.poison_free_blocks()
    results = forward(*given)
    torch.npu.synchronize()
    torch.npu.set_stream(torch.npu.default_stream())
    results = results if isinstance(results, tuple) else (results,)
    return [tensor.cpu().flatten().tolist() for tensor in (*results, *given)]


def wrong_orders(forward: Forward, reference: Forward) -> list[str]:
    """The stream orders under which `forward` differs from `reference` run in serial order, on two inputs each."""
    found = []
    for order in (orders.SERIAL, *ADVERSARIAL):
        for seed in range(2):
            control.set_order(orders.SERIAL)
            expected = numbers(reference, seed)
            control.set_order(order)
            if numbers(forward, seed) != expected:
                found.append(str(order))
                break
    control.set_order(orders.SERIAL)
    return found


def launches(forward: Forward) -> list[Record]:
    """What one call launches, or what is in the graph that it captures."""
    given = inputs()
    with tempfile.TemporaryDirectory() as folder, control.logged(Path(folder) / "log.jsonl") as records:
        forward(*given)
        torch.npu.synchronize()
    launched = [record for record in records if record.call == "launch"]
    captured = [record for record in launched if record.graph is not None]
    return captured or launched


def report(results: dict[str, Any]) -> None:
    """Prints what the parent reads."""
    print("RESULT", json.dumps(results))
