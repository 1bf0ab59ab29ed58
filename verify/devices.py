"""Which device an engine runs on here."""

from __future__ import annotations

import importlib

from streamsched.npu_sim import environment, orders
from streamsched.verify.device import Device
from streamsched.verify.request import Request
from streamsched.verify.steering import SimulatedOrder, simulated


def device_of(request: Request) -> Device:
    """The device of this process: the simulated NPU where the parent arranged it, else a real one."""
    if request.engine == "cuda":
        return Device("cuda", "a CUDA GPU, where a delay on each side stream in turn stands for orders", None, ())
    importlib.import_module("torch_npu")
    replays = request.engine == "npugraph_ex"
    if environment.inside():
        steerings = tuple(simulated(request.orders, request.seed))
        return Device("npu", "the simulated NPU", SimulatedOrder(orders.SERIAL), steerings, replays)
    return Device("npu", "an NPU, where a delay on each side stream in turn stands for orders", None, (), replays)
