"""Does an audit keep up? A model of 10,000 ops without values: `audit` with two calls against running it twice.

    python benchmarks/bench_audit.py

The other side runs the same model twice on the meta device, as `audit --fake` does, under modes that only pass on what
they see. Both import, build and call in one process, so that the check of the program counts too. They take turns; the
ratio is the median of their ratios, in processor time. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from table import Row, ratio, report
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from streamsched.dsl.audit import audit

OPS, LAYERS = 10_000, 1000
ROUNDS = 5
MODEL = f'''
import torch
import torch.nn.functional as F


class Layer(torch.nn.Module):
    """Ten ops: five on the side stream, beside the others."""

    def __init__(self):
        super().__init__()
        self.left, self.right = torch.nn.Linear(512, 512), torch.nn.Linear(512, 512)
        self.norm = torch.nn.RMSNorm(512)

    def forward(self, x, side, ready, done):
        h = self.norm(x)
        if side is not None:
            ready.record()
            with torch.cuda.stream(side):
                ready.wait()
                shared = self.shared(h)
                done.record()
        else:
            shared = self.shared(h)
        routed = F.silu(self.left(h)).mul_(0.5)
        if side is not None:
            done.wait()
        return x + routed + shared

    def shared(self, h):
        return torch.tanh(self.right(h) * 2.0)[:, :512]


class Model(torch.nn.Module):
    """Layers with streams, or without where there are none."""

    def __init__(self, streams=True):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range({LAYERS}))
        self.side = torch.cuda.Stream() if streams else None
        self.events = [torch.cuda.Event() if streams else None for _ in range({2 * LAYERS})]

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = layer(x, self.side, self.events[2 * index], self.events[2 * index + 1])
        return x
'''


class PassFunctions(TorchFunctionMode):
    """Sees every call into torch, and passes it on."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class PassOperators(TorchDispatchMode):
    """Sees every operator, and passes it on."""

    seen = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += 1
        return func(*args, **(kwargs or {}))


def run_twice(source: str) -> int:
    """Build the model on the meta device and call it twice. Returns the number of ops of a call."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "model.py", "exec"), namespace)
    operators = PassOperators()
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch._C._AutoDispatchBelowAutograd())
        stack.enter_context(operators)
        stack.enter_context(PassFunctions())
        stack.enter_context(torch.device("meta"))
        model = namespace["Model"](streams=False).eval()
        operators.seen = 0
        for _ in range(2):
            model(torch.empty(64, 512, dtype=torch.float32))
    return operators.seen // 2


def audited() -> None:
    """Audit the model: it is clean, so that nothing is spent on findings."""
    found = audit("model.py:Model", ("x: f32[64, 512]",), fake=True)
    assert found.program is not None and not found.diagnostics, found.diagnostics[:3]


def processor_seconds(work: Callable[[], object]) -> float:
    """The processor time of some work."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def measure() -> list[Row]:
    """All measurements, in the current folder."""
    Path("model.py").write_text(MODEL)
    ops = run_twice(MODEL)
    assert abs(ops - OPS) <= OPS // 100, ops
    audited()  # what is imported and cached once
    pairs = [(processor_seconds(lambda: run_twice(MODEL)), processor_seconds(audited)) for _ in range(ROUNDS)]
    return [
        Row(f"running {ops:,} ops twice, without values", "", f"{statistics.median(a for a, _ in pairs):.2f} s"),
        Row("streamsched audit --fake, two calls", "", f"{statistics.median(b for _, b in pairs):.2f} s"),
        ratio("  against running it", statistics.median(b / a for a, b in pairs), 2.5),
    ]


def main() -> int:
    """Print the table."""
    torch.set_num_threads(1)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            rows = measure()
        finally:
            os.chdir(before)
    return report(f"an audit against the run it makes; median of {ROUNDS} ratios, processor time", rows)


if __name__ == "__main__":
    sys.exit(main())
