"""Short programs for the simulated NPU, each a function that returns what it saw; prints one JSON object of all."""

import json
import sys
import tempfile
from pathlib import Path

import torch
import torch_npu

from streamsched.npu_sim import control, orders

SIZE = 16
ADVERSARIAL = [orders.SIDE_FIRST, orders.SIDE_LAST, *(orders.random_order(seed) for seed in range(6))]
NAMES = ["serial", *map(str, ADVERSARIAL)]


def inputs(seed=0):
    generator = torch.Generator().manual_seed(seed)
    placed = [torch.randn(SIZE, SIZE, generator=generator).npu() for _ in range(4)]
    torch.npu.synchronize()
    return placed


def agreement(forward, call, output=None):
    """Whether every output (or one) is right under each order, three calls each with fresh inputs."""
    seen = {}
    for order in NAMES:
        control.set_order(order)
        right = True
        for seed in range(3):
            given = inputs(seed)
            expected = [tensor.cpu() for tensor in reference(*given)]
            torch.npu.synchronize()
            control.poison_free_blocks()
            got = call(forward, given)
            pairs = list(zip(got, expected, strict=True))
            right = right and all(
                torch.allclose(g, e, atol=1e-4) for g, e in (pairs if output is None else [pairs[output]])
            )
        seen[order] = right
        torch.npu.synchronize()
    control.set_order("serial")
    return seen


def reference(in1, in2, in3, in4):
    return torch.add(in1, in2), torch.mm(in3, in4), torch.mm(in3 + in4, in4), torch.add(in3, in4)


def eager(forward, given):
    """Calls, waits for every stream as a caller of a whole-model forward would, and copies to the host."""
    result = forward(*given)
    torch.npu.synchronize()
    return [tensor.cpu() for tensor in result]


def read_at_once(forward, given):
    return [tensor.cpu() for tensor in forward(*given)]


class Example(torch.nn.Module):
    """The multi-stream example of the documentation; `drop` names the lines that are left out."""

    def __init__(self, *drop):
        super().__init__()
        self.drop = drop
        self.stream1, self.stream2 = torch.npu.Stream(), torch.npu.Stream()

    def forward(self, in1, in2, in3, in4):
        event1, event2 = torch.npu.Event(), torch.npu.Event()
        add_result = torch.add(in1, in2)
        both = in3 + in4
        if "record" not in self.drop:
            event1.record()
        with torch.npu.stream(self.stream1):
            if "wait" not in self.drop:
                event1.wait()
            mm_result = torch.mm(both, in4)
            if "record_stream" not in self.drop:
                both.record_stream(self.stream1)
            event2.record()
        del both
        mm1 = torch.mm(in3, in4)
        with torch.npu.stream(self.stream2):
            if "order" not in self.drop:
                event2.wait()
            add2 = torch.add(in3, in4)
        return add_result, mm1, mm_result, add2


def compiled(*drop, **options):
    torch._dynamo.reset()  # or another instance's graph is used, streams and all
    return torch.compile(Example(*drop), backend="npugraph_ex", fullgraph=True, dynamic=False, options=options or None)


def log_of(run):
    with tempfile.TemporaryDirectory() as folder, control.logged(Path(folder) / "log.jsonl") as records:
        run()
        torch.npu.synchronize()
    return records


def arithmetic():
    return (torch.ones(3, device="npu") + 1).tolist()


def example_eager():
    return agreement(Example(), eager)


def example_eager_without_wait():
    return agreement(Example("wait"), eager)


def example_eager_without_record():
    return agreement(Example("record"), eager)


def example_eager_read_at_once():
    return agreement(Example(), read_at_once, output=2)


def example_graph():
    return agreement(compiled(), read_at_once)


def example_graph_inputs_in_place():
    return agreement(compiled(clone_input=False), read_at_once)


def example_graph_without_wait():
    return agreement(compiled("wait"), read_at_once)


def example_graph_without_record_stream():
    return agreement(compiled("record_stream"), read_at_once, output=2)


def example_graph_without_order():
    return agreement(compiled("order"), read_at_once)


def example_graph_launches():
    forward, given = compiled(), inputs()
    records = log_of(lambda: forward(*given))
    graph = max(record.graph for record in records if record.graph is not None)
    captured = [record for record in records if record.graph == graph]
    return [[r.call, r.operator, r.stream, r.event, r.node] for r in captured]


class QuantizedExpert(torch.nn.Module):
    """A W8A8 expert beside an attention, on two streams."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(3)

        def whole(*shape):
            return torch.randint(-20, 20, shape, dtype=torch.int8, generator=generator)

        self.up, self.down = whole(SIZE, 4 * SIZE).npu(), whole(2 * SIZE, SIZE).npu()
        self.up_scale, self.down_scale = torch.ones(4 * SIZE).bfloat16().npu(), torch.ones(SIZE).bfloat16().npu()
        self.side = torch.npu.Stream()

    def expert(self, x):
        number, scale = torch_npu.npu_dynamic_quant(x)
        gated = torch_npu.npu_quant_matmul(
            number, self.up, self.up_scale, pertoken_scale=scale, output_dtype=torch.bfloat16
        )
        number, scale = torch_npu.npu_dynamic_quant(torch_npu.npu_swiglu(gated))
        return torch_npu.npu_quant_matmul(
            number, self.down, self.down_scale, pertoken_scale=scale, output_dtype=torch.bfloat16
        )

    def forward(self, x):
        started, done = torch.npu.Event(), torch.npu.Event()
        x = x * 2
        started.record()
        with torch.npu.stream(self.side):
            started.wait()
            expert = self.expert(x)
            x.record_stream(self.side)
            done.record()
        heads = x.view(1, SIZE, 2, SIZE // 2).transpose(1, 2)
        attended = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        done.wait()
        return attended.transpose(1, 2).reshape(SIZE, SIZE) + expert


def quantized_expert_in_a_graph():
    torch._dynamo.reset()
    model, x = QuantizedExpert(), inputs()[0].bfloat16()
    expected = model(x).cpu()
    forward, seen = torch.compile(model, backend="npugraph_ex", fullgraph=True, dynamic=False), {}
    for order in NAMES:
        torch.npu.synchronize()
        control.set_order(order)
        seen[order] = torch.equal(forward(x).cpu(), expected) and bool(expected.isfinite().all())
    torch.npu.synchronize()
    control.set_order("serial")
    return seen


def graph_replays_do_not_launch_again():
    forward, given = compiled(), inputs()
    forward(*given)
    return [record.call for record in log_of(lambda: forward(*given))]


def unjoined_capture():
    class Unjoined(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.side = torch.npu.Stream()

        def forward(self, x):
            event = torch.npu.Event()
            y = x + 1
            event.record()
            event.wait(self.side)
            return y * 2

    try:
        torch.compile(Unjoined(), backend="npugraph_ex", fullgraph=True, dynamic=False)(inputs()[0])
        torch.npu.synchronize()
    except Exception as error:
        return str(error)
    finally:
        control.clear_error()
    return "nothing"


def plain_graph():
    x = inputs()[0]
    graph, empty = torch.npu.NPUGraph(), torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = x * 2
    with torch.npu.graph(empty):
        pass
    x.copy_(torch.ones(SIZE, SIZE))
    graph.replay()
    empty.replay()
    return y.cpu().unique().tolist()


def sync_in_capture():
    x, graph = inputs()[0], torch.npu.NPUGraph()
    try:
        with torch.npu.graph(graph):
            (x + 1).sum().item()
    except Exception as error:
        return str(error)
    return "nothing"


def failure_of(run):
    try:
        run()
        torch.npu.synchronize()
    except Exception as error:
        return str(error)
    finally:
        control.clear_error()
    return "nothing"


def operator_without_kernel():
    return failure_of(lambda: torch.erfinv(inputs()[0]))


def operator_without_entry():
    return failure_of(lambda: torch.cdist(*inputs()[:2]))


def launches_after_failure():
    return (torch.ones(2, device="npu") * 3).tolist()


def cores():
    from torch_npu.dynamo import npugraph_ex  # noqa: F401

    class Limited(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.side = torch.npu.Stream()

        def forward(self, x):
            y = x + 1
            with torch.npu.npugraph_ex.scope.limit_core_num(4, 8):
                z = torch.mm(x, y)
            with torch.npu.stream(self.side), torch.npu.npugraph_ex.scope.limit_core_num(2, 3):
                w = x * 2
            return z + 1, w

    forward, x = torch.compile(Limited(), backend="npugraph_ex", fullgraph=True, dynamic=False), inputs()[0]
    records = log_of(lambda: forward(x))
    return [[r.operator, r.aic, r.aiv] for r in records if r.call == "launch" and r.graph is not None]


def raced(order):
    """A read on a side stream that nothing orders with the write on another, far from the start of both."""
    x = inputs()[0]
    first, second = torch.npu.Stream(), torch.npu.Stream()
    target = torch.zeros(SIZE, SIZE, device="npu")
    torch.npu.synchronize()
    control.set_order(order)
    with torch.npu.stream(first):
        for _ in range(30):
            x.mul(1.0)
        target.add_(1)  # number 30
    with torch.npu.stream(second):
        seen = target + 0  # number 31
    torch.npu.synchronize()
    control.set_order("serial")
    return seen.mean().item()


def directed():
    return {order: raced(order) for order in ("serial", "before:30", "before:31", "after:30", "after:31")}


def directed_replay():
    """One graph without the wait of its product (launch 2) for the sum before it (launch 1), under directed orders."""
    forward, given = compiled("wait"), inputs()
    expected = [tensor.cpu() for tensor in reference(*given)]
    seen = {}
    for order in ("before:0", "before:2", "before:3", "after:1", "after:2"):
        torch.npu.synchronize()
        control.set_order(order)
        seen[order] = torch.allclose(forward(*given)[2].cpu(), expected[2], atol=1e-4)
    torch.npu.synchronize()
    control.set_order("serial")
    return seen


def empty_buffer():
    """A buffer from the default stream, filled on a side stream that never waits for it."""
    x, side, seen = torch.ones(300_001).npu(), torch.npu.Stream(), {}
    for order in ("serial", "side_first"):
        control.set_order(order)
        early = x * 2
        block = early.data_ptr()
        del early  # its block is used again, while its former owner is still pending
        buffer = torch.empty_like(x)
        assert buffer.data_ptr() == block
        with torch.npu.stream(side):
            buffer.fill_(7)
        torch.npu.synchronize()
        seen[order] = bool((buffer == 7).all())
    control.set_order("serial")
    return seen


def copies():
    x = inputs()[0]
    pinned = torch.empty(SIZE, SIZE, pin_memory=True)
    pinned.copy_(x, non_blocking=True)
    event = torch.npu.Event()
    event.record()
    while not event.query():
        pass
    y = x + 1
    while not torch.npu.current_stream().query():
        pass
    return torch.equal(pinned, x.cpu()) and torch.equal(y.cpu(), pinned + 1)


def collectives():
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("hccl", store=store, rank=0, world_size=1)
    x, gathered = inputs()[0], torch.empty(SIZE, SIZE, device="npu")
    torch.distributed.all_reduce(x)
    torch.distributed.all_gather_into_tensor(gathered, x)
    right = torch.equal(gathered.cpu(), inputs()[0].cpu())
    torch.distributed.destroy_process_group()
    return right


def random_numbers_in_a_graph():
    torch._dynamo.reset()

    def forward(x):
        return x + torch.randn_like(x)

    forward, x = (
        torch.compile(forward, backend="npugraph_ex", fullgraph=True, dynamic=False),
        torch.zeros(4, device="npu"),
    )
    first, second = forward(x).tolist(), forward(x).tolist()
    return first != second and all(abs(number) < 10 for number in first + second)


def log_lines():
    x, y = inputs()[:2]
    records = log_of(lambda: torch.cat([x, y]).add_(1))
    launches = [record for record in records if record.call == "launch"]
    return [
        [launch.operator, [[o.name, o.direction, o.size, list(o.shape), o.dtype] for o in launch.operands]]
        for launch in launches
    ]


def main(names):
    found = {name: function for name, function in globals().items() if name in names}
    results = {}
    for name in names:
        torch.npu.set_stream(torch.npu.default_stream())  # a capture that failed leaves its own stream current
        try:
            results[name] = found[name]()
        except Exception as error:
            results[name] = f"raised {type(error).__name__}: {error}"
            control.clear_error()
    print("RESULT", json.dumps(results))


assert torch_npu.__version__
main(sys.argv[1:])
