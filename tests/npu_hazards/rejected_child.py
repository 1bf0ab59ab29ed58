"""Forwards that are right eagerly and that npugraph_ex, or Dynamo before it, refuses; prints what became of each."""

# ruff: noqa: RET504  # results are returned outside of the block that makes them, as people write it

from __future__ import annotations

import sys

import torch
from running import SIZE, compiled, failure, report, wrong_orders

sys.modules["triton"] = None  # type: ignore[assignment]  # as on a machine with an NPU


def wait_stream(x, y):
    side = torch.npu.Stream()
    a = x + 1
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        b = a @ y
    torch.npu.current_stream().wait_stream(side)
    return b * 2


def stream_synchronize(x, y):
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        a = x @ y
    side.synchronize()
    return a * 2


def event_synchronize(x, y):
    side, ready = torch.npu.Stream(), torch.npu.Event()
    a = x + 1
    ready.record()
    ready.synchronize()
    with torch.npu.stream(side):
        b = a @ y
    return b


def record_makes_event(x, y):
    side = torch.npu.Stream()
    a = x + 1
    ready = torch.npu.current_stream().record_event()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
    return b


def generic_event(x, y):
    side, ready = torch.npu.Stream(), torch.Event("npu")
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
    return b


def generic_stream(x, y):
    side, ready = torch.Stream("npu"), torch.npu.Event()
    a = x + 1
    ready.record()
    with side:
        ready.wait()
        b = a @ y
    return b


def generic_stream_in_npu_block(x, y):
    side, ready = torch.Stream("npu"), torch.npu.Event()
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
    return b


def stream_never_entered(x, y):
    side, ready = torch.npu.Stream(), torch.npu.Event()
    a = x + 1
    ready.record()
    ready.wait(side)
    return a @ y


def stream_left_set(x, y):
    side, ready = torch.npu.Stream(), torch.npu.Event()
    a = x + 1
    ready.record()
    torch.npu.set_stream(side)
    ready.wait()
    return a @ y


def event_after_input_was_written(x, y):
    side, ready = torch.npu.Stream(), torch.npu.Event()
    x.add_(1)
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = y @ y
    return b


def event_after_a_function_wrote_the_input(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    torch.ops.aten.add_(x, 1)
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = x @ y
        done.record()
    done.wait()
    torch.ops.aten.index_copy_(x, 0, torch.arange(2, device=x.device), b[:2])
    return b + x


def set_stream_limit(x, y):
    side = torch.npu.Stream()
    torch.npu.set_stream_limit(side, 2, 3)
    with torch.npu.stream(side):
        a = x @ y
    return a


def default_stream(x, y):
    torch.npu.default_stream()
    return x @ y


def stream_none(x, y):
    with torch.npu.stream(None):
        a = x @ y
    return a


def external_event(x, y):
    ready = torch.npu.ExternalEvent()
    ready.record()
    return x @ y


class Training(torch.nn.Module):
    """A forward with a parameter that wants a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(SIZE, SIZE))

    def forward(self, x, y):
        side, done = torch.npu.Stream(), torch.npu.Event()
        with torch.npu.stream(side):
            a = x @ self.weight
            done.record()
        done.wait()
        return a * 2


def grouped_mm(x, y):
    ends = torch.tensor([SIZE // 2, SIZE], dtype=torch.int32, device="npu")
    return torch._grouped_mm(x.bfloat16(), torch.stack([y, y]).bfloat16(), ends)


def break_in_block(x, y):
    side, ready = torch.npu.Stream(), torch.npu.Event()
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        a = x @ y
        torch._dynamo.graph_break()
        b = a + 1
    return b


def break_between_stream_and_block(x, y):
    side, ready = torch.npu.Stream(), torch.npu.Event()
    a = x + 1
    ready.record()
    torch._dynamo.graph_break()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
    return b


class BreakBetweenRecordAndBlock(torch.nn.Module):
    """The stream is known before; the event is not."""

    def __init__(self) -> None:
        super().__init__()
        self.side = torch.npu.Stream()

    def forward(self, x, y):
        ready = torch.npu.Event()
        a = x + 1
        ready.record()
        torch._dynamo.graph_break()
        with torch.npu.stream(self.side):
            ready.wait()
            b = a @ y
        return b


def break_apart_from_streams(x, y):
    a = x + 1
    torch._dynamo.graph_break()
    side, ready = torch.npu.Stream(), torch.npu.Event()
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
    return b


WHOLE = {
    "wait_stream": wait_stream,
    "stream_synchronize": stream_synchronize,
    "event_synchronize": event_synchronize,
    "record_makes_event": record_makes_event,
    "generic_event": generic_event,
    "generic_stream": generic_stream,
    "generic_stream_in_npu_block": generic_stream_in_npu_block,
    "stream_never_entered": stream_never_entered,
    "stream_left_set": stream_left_set,
    "event_after_input_was_written": event_after_input_was_written,
    "set_stream_limit": set_stream_limit,
    "default_stream": default_stream,
    "stream_none": stream_none,
    "external_event": external_event,
    "training": Training().npu(),
    "grouped_mm": grouped_mm,
}
BROKEN = {
    "break_in_block": break_in_block,
    "break_between_stream_and_block": break_between_stream_and_block,
    "break_between_record_and_block": BreakBetweenRecordAndBlock(),
    "break_apart_from_streams": break_apart_from_streams,
}

seen = {}
for name, forward in {**WHOLE, **BROKEN}.items():
    seen[name] = {"eager": wrong_orders(forward, forward), "failure": failure(forward, fullgraph=name in WHOLE)}
written = event_after_a_function_wrote_the_input
seen["event_after_a_function_wrote_the_input"] = {
    "failure": failure(written),
    "graph": wrong_orders(compiled(written), written),
}
report(seen)
