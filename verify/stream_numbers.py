"""Which of the device's streams are those of the schedule, as the launch log numbers them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch

from streamsched.npu_sim import control


def scheduled_streams(module: torch.nn.Module) -> dict[str, Any]:
    """The streams that generated forwards bound to `module` use, by the schedule's names."""
    found = (vars(each).get("scheduled_streams", {}) for each in module.modules())
    return next(filter(None, found), {})


def stream_names(module: torch.nn.Module, device: str) -> dict[int, str]:
    """The schedule's names by the simulated NPU's numbers, found by what one event on each stream logs."""
    streams = scheduled_streams(module)
    synchronize = getattr(torch, device).synchronize
    synchronize()
    with tempfile.TemporaryDirectory() as folder, control.logged(Path(folder, "streams.jsonl")) as records:
        for stream in streams.values():
            stream.record_event()
            synchronize()  # torch_npu records from a thread of its own
    numbers = [record.stream for record in records if record.call == "record" and record.stream is not None]
    return dict(zip(numbers, streams, strict=True)) if len(numbers) == len(streams) else {}
