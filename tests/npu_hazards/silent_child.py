"""Forwards that are right eagerly and compile without a word; prints under which orders each graph is wrong."""

from __future__ import annotations

import torch
from running import compiled, inputs, launches, report, wrong_orders
from torch_npu.dynamo import npugraph_ex  # noqa: F401  # makes torch.npu.npugraph_ex


def record_by_stream(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    a = x + 1
    torch.npu.current_stream().record_event(ready)
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
        done.record()
    done.wait()
    return a * 2, b


def record_and_wait_by_stream(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    a = x + 1
    torch.npu.current_stream().record_event(ready)
    with torch.npu.stream(side):
        side.wait_event(ready)
        b = a @ y
        done.record()
    done.wait()
    return a * 2, b


def wait_by_stream(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        side.wait_event(ready)
        b = a @ y
        done.record()
    done.wait()
    return a * 2, b


def default_waits_event_in_block(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    default = torch.npu.current_stream()
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
        done.record()
        default.wait_event(done)
    return a * 2, b + 1


def event_waits_on_default_in_block(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    default = torch.npu.current_stream()
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
        done.record()
        done.wait(default)
    return a * 2, b + 1


def event_recorded_on_default_in_block(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    default = torch.npu.current_stream()
    a = x + 1
    with torch.npu.stream(side):
        ready.record(default)
        ready.wait()
        b = a @ y
        done.record()
    done.wait()
    return a * 2, b


def event_recorded_on_other_in_block(x, y):
    side, other, start = torch.npu.Stream(), torch.npu.Stream(), torch.npu.Event()
    ready, done = torch.npu.Event(), torch.npu.Event()
    start.record()
    with torch.npu.stream(other):
        start.wait()
        a = x @ y
    with torch.npu.stream(side):
        ready.record(other)
        ready.wait()
        b = a @ y
        done.record()
    done.wait()
    return b * 2


def event_recorded_twice(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
    c = a * 2
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        d = b + c
        done.record()
    done.wait()
    return c, d


def variable_that_holds_memory(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
        done.record()
    c = x * 3
    done.wait()
    return b, c


def variable_with_record_stream(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    a = x + 1
    ready.record()
    with torch.npu.stream(side):
        ready.wait()
        b = a @ y
        a.record_stream(side)
        done.record()
    c = x * 3
    done.wait()
    return b, c


def input_written_on_side_stream(x, y):
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        x.copy_(y @ y)
    return y * 2


def synchronize(x, y):
    side = torch.npu.Stream()
    a = x + 1
    torch.npu.synchronize()
    with torch.npu.stream(side):
        b = a @ y
    torch.npu.synchronize()
    return a * 2, b + 1


def query(x, y):
    side, ready = torch.npu.Stream(), torch.npu.Event()
    a = x + 1
    ready.record()
    while not ready.query():
        pass
    with torch.npu.stream(side):
        b = a @ y
    return a * 2, b


def stream_that_only_waits_and_is_joined(x, y):
    side, ready, done = torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()
    a = x + 1
    ready.record()
    ready.wait(side)
    done.record(side)
    done.wait()
    return a @ y


def inner(side, done):
    """A forward that multiplies on `side`, after what was issued there."""

    def forward(x, y):
        with torch.npu.stream(side):
            a = x @ y
            done.record()
        done.wait()
        return a * 2

    return forward


def work_before_graph(compile_it):
    side, done = torch.npu.Stream(), torch.npu.Event()
    call = compile_it(inner(side, done))

    def whole(x, y):
        with torch.npu.stream(side):
            x.add_(1)
        return call(x, y)

    return whole


def event_recorded_by_the_caller(compile_it):
    other, side, written, done = torch.npu.Stream(), torch.npu.Stream(), torch.npu.Event(), torch.npu.Event()

    def forward(x, y):
        with torch.npu.stream(side):
            written.wait()
            a = x @ y
            done.record()
        done.wait()
        return a * 2

    call = compile_it(forward)

    def whole(x, y):
        with torch.npu.stream(other):
            x.add_(1)
            written.record()
        return call(x, y)

    return whole


def event_waited_for_by_the_caller(compile_it):
    other, side, made = torch.npu.Stream(), torch.npu.Stream(), torch.npu.Event()

    def forward(x, y):
        a = x @ y
        made.record()
        with torch.npu.stream(side):
            b = y + 1
        return a, b

    call = compile_it(forward)

    def whole(x, y):
        a, b = call(x, y)
        with torch.npu.stream(other):
            made.wait()
            c = a + 1
        return b, c

    return whole


def elapsed(compile_it):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)

    def forward(x, y):
        begin.record()
        a = x @ y
        end.record()
        return a

    compile_it(forward)(*inputs())
    torch.npu.synchronize()
    try:
        return begin.elapsed_time(end) >= 0
    except Exception as error:
        return str(error)


def limit_around_block(x, y):
    side = torch.npu.Stream()
    with torch.npu.npugraph_ex.scope.limit_core_num(4, 8):
        a = x + 1
        with torch.npu.stream(side):
            b = y @ y
    return a, b


def limit_inside_block(x, y):
    side = torch.npu.Stream()
    a = x + 1
    with torch.npu.stream(side), torch.npu.npugraph_ex.scope.limit_core_num(4, 8):
        b = y @ y
    return a, b


def limit_of_stream(x, y):
    side = torch.npu.Stream()
    with torch.npu.npugraph_ex.scope.limit_core_num(4, 8, stream=side):
        a = x + 1
        with torch.npu.stream(side):
            b = y @ y
    return a, b


def cores(forward):
    """By operator: the cube and vector cores that it may use."""
    return {record.operator: [record.aic, record.aiv] for record in launches(forward)}


FORWARDS = {
    "record_by_stream": record_by_stream,
    "record_and_wait_by_stream": record_and_wait_by_stream,
    "wait_by_stream": wait_by_stream,
    "default_waits_event_in_block": default_waits_event_in_block,
    "event_waits_on_default_in_block": event_waits_on_default_in_block,
    "event_recorded_on_default_in_block": event_recorded_on_default_in_block,
    "event_recorded_on_other_in_block": event_recorded_on_other_in_block,
    "event_recorded_twice": event_recorded_twice,
    "variable_that_holds_memory": variable_that_holds_memory,
    "variable_with_record_stream": variable_with_record_stream,
    "input_written_on_side_stream": input_written_on_side_stream,
    "synchronize": synchronize,
    "query": query,
    "stream_that_only_waits_and_is_joined": stream_that_only_waits_and_is_joined,
}
AROUND = {
    "work_before_graph": work_before_graph,
    "event_recorded_by_the_caller": event_recorded_by_the_caller,
    "event_waited_for_by_the_caller": event_waited_for_by_the_caller,
}
LIMITS = {
    "limit_around_block": limit_around_block,
    "limit_inside_block": limit_inside_block,
    "limit_of_stream": limit_of_stream,
}


def plain(forward):
    return forward


seen = {}
for name, forward in FORWARDS.items():
    seen[name] = {"eager": wrong_orders(forward, forward), "graph": wrong_orders(compiled(forward), forward)}
for name, around in AROUND.items():
    eager = around(plain)
    seen[name] = {"eager": wrong_orders(eager, eager), "graph": wrong_orders(around(compiled), eager)}
seen["elapsed"] = {"eager": elapsed(plain), "graph": elapsed(compiled)}
for name, forward in LIMITS.items():
    seen[name] = {"eager": cores(forward), "graph": cores(compiled(forward))}
report(seen)
