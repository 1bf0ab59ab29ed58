"""The faults of hand-written code that audit is for: each found by its lines, and gone when it is repaired."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.audit import Audited
from streamsched.dsl.diagnostic import Severity

pytest.importorskip("torch")

from audit_batch import audit_all
from audits import Auditor

X = "x: f32[8, 8]"


def sync_help(awaited: str, first: str, waiting: str, second: str) -> str:
    """What to type for a wait that is missing."""
    return (
        f"record an event on `{awaited}` after `{first}`, and let `{waiting}` wait for it before `{second}`: "
        "`done.record()` and `done.wait()`, each where its stream is current, with `done = torch.cuda.Event()`"
    )


def host_help(awaited: str, first: str, second: str) -> str:
    """The same where the host must wait."""
    return (
        f"record an event on `{awaited}` after `{first}`, and let the host wait for it before `{second}`: "
        "`done.record()` and `done.synchronize()`, with `done = torch.cuda.Event()`"
    )


TWO_PRODUCERS = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.cuda.Stream(), torch.cuda.Stream()
        self.w = torch.nn.Parameter(torch.ones(8, 8))

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.a.wait_stream(main)
        self.b.wait_stream(main)
        with torch.cuda.stream(self.a):
            left = torch.mm(x, self.w)
        with torch.cuda.stream(self.b):
            right = x + 1
        # join
        return left * right
"""


def test_two_producers(found: Auditor) -> None:
    right, left = found(TWO_PRODUCERS, X)
    assert left.code == right.code == "ORD101"
    assert left.message == ("`mul` on `default` reads `left` that `mm` on `a` writes, and nothing orders them (RAW)")
    assert left.at == right.at == "return left * right"
    assert left.related == ("left = torch.mm(x, self.w)",)
    assert right.related == ("right = x + 1",)
    assert left.help == sync_help("a", "mm", "default", "mul")
    assert right.help == sync_help("b", "add", "default", "mul")


def test_two_producers_joined(found: Auditor) -> None:
    joined = TWO_PRODUCERS.replace("# join", "main.wait_stream(self.a); main.wait_stream(self.b)")
    assert found(joined, X, remarks=True) == []


FLAGGED = """
import torch

class M(torch.nn.Module):
    def __init__(self, flag=False):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.ready, self.done = torch.cuda.Event(), torch.cuda.Event()
        self.flag = flag

    def forward(self, x):
        y = x * 2
        if self.flag:
            self.ready.record()
        with torch.cuda.stream(self.side):
            self.ready.wait()
            z = y + 1
            self.done.record()
        self.done.wait()
        return z + 1

def repaired():
    return M(True)
"""


def test_record_behind_a_flag(found: Auditor) -> None:
    wait, race = found(FLAGGED, X)
    assert wait.code == "ORD102"
    assert wait.message == "`side` waits for `ready`, which is never recorded"
    assert (wait.at, wait.related) == ("self.ready.wait()", ())
    assert wait.help == "record `ready` before this wait is issued: `ready.record()` on the stream that makes the data"
    assert race.code == "ORD101"
    assert race.message == "`add` on `side` reads `y` that `mul` on `default` writes, and nothing orders them (RAW)"
    assert race.at == "z = y + 1"
    assert race.related == ("y = x * 2",)
    assert race.help == sync_help("default", "mul", "side", "add")


def test_record_behind_a_flag_that_is_on(found: Auditor) -> None:
    assert found(FLAGGED, X, attribute="repaired", remarks=True) == []


NOISE = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.filled = torch.cuda.Event()

    def forward(self, probs):
        with torch.cuda.stream(self.side):
            # wait
            q = torch.ones(8, 8, device="cuda")
            q.exponential_()
            self.filled.record()
        self.filled.wait()
        out = probs / q
        # tell
        del q
        return out
"""


def test_block_reused_by_the_next_call(found: Auditor) -> None:
    (finding,) = found(NOISE, "probs: f32[8, 8]")
    assert finding.code == "MEM101"
    assert finding.message == "`q` is freed while `div` on `default` may still use it"
    assert finding.at == "out = probs / q"
    assert finding.related == ("del q", 'q = torch.ones(8, 8, device="cuda")')
    assert finding.help == (
        "tell the allocator with `q.record_stream(torch.cuda.current_stream())` where `default` is current before the "
        "last name dies, or let `side` wait for `div` first"
    )


def test_calls(run: Callable[..., Audited]) -> None:
    audited = run(NOISE, "probs: f32[8, 8]", calls=3)
    assert audited.program is not None
    assert [step.name for step in audited.program.steps].count("div") == 3


@pytest.mark.parametrize(
    "repair",
    [
        ("# tell", "q.record_stream(torch.cuda.current_stream())"),
        ("# wait", "self.side.wait_stream(torch.cuda.default_stream())"),
    ],
)
def test_block_protected(found: Auditor, repair: tuple[str, str]) -> None:
    assert found(NOISE.replace(*repair), "probs: f32[8, 8]") == []


SHARED_EXPERTS = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.shared = torch.nn.Linear(8, 8, bias=False)
        self.routed = torch.nn.Linear(8, 8, bias=False)

    def forward(self, x):
        hidden = x + 1
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            shared = self.shared(hidden)
        # wait
        hidden.mul_(2)
        out = self.routed(hidden)
        main.wait_stream(self.side)
        return out + shared
"""


def test_shared_experts_read_what_routed_experts_write(found: Auditor) -> None:
    (finding,) = found(SHARED_EXPERTS, X)
    assert finding.code == "ORD101"
    assert finding.message == (
        "`mul_` on `default` writes `hidden` that `linear` on `side` reads, and nothing orders them (WAR)"
    )
    assert finding.at == "hidden.mul_(2)"
    assert finding.related == ("shared = self.shared(hidden)",)
    assert finding.help == sync_help("side", "linear", "default", "mul_")
    assert found(SHARED_EXPERTS.replace("# wait", "main.wait_stream(self.side)"), X, remarks=True) == []


STORE = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.copies = torch.cuda.Stream()
        self.block = torch.zeros(8, 8, device="cuda")
        self.kept = torch.zeros(8, 8, device="cpu", pin_memory=True)

    def forward(self, x):
        self.block.copy_(x)
        # fork
        with torch.cuda.stream(self.copies):
            self.kept.copy_(self.block, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.copies)
        return x + 1
"""


def test_store_of_a_block_that_is_still_written(found: Auditor) -> None:
    (finding,) = found(STORE, X)
    assert finding.code == "ORD101"
    assert finding.message == (
        "`copy_` on `copies` reads `block` that `copy_` on `default` writes, and nothing orders them (RAW)"
    )
    assert finding.at == "self.kept.copy_(self.block, non_blocking=True)"
    assert finding.related == ("self.block.copy_(x)",)
    assert finding.help == sync_help("default", "copy_", "copies", "copy_")
    assert found(STORE.replace("# fork", "self.copies.wait_stream(torch.cuda.current_stream())"), X, remarks=True) == []


LOAD = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.copies = torch.cuda.Stream()
        self.block = torch.zeros(8, 8, device="cuda")
        self.kept = torch.zeros(8, 8, device="cpu", pin_memory=True)

    def forward(self, x):
        y = x + self.block
        # fork
        with torch.cuda.stream(self.copies):
            self.block.copy_(self.kept, non_blocking=True)
        torch.cuda.current_stream().wait_stream(self.copies)
        return y
"""


def test_load_into_a_block_that_is_still_read(found: Auditor) -> None:
    (finding,) = found(LOAD, X)
    assert finding.code == "ORD101"
    assert finding.at == "self.block.copy_(self.kept, non_blocking=True)"
    assert finding.message == (
        "`copy_` on `copies` writes `block` that `add` on `default` reads, and nothing orders them (WAR)"
    )
    assert finding.related == ("y = x + self.block",)
    assert finding.help == sync_help("default", "add", "copies", "copy_")
    assert found(LOAD.replace("# fork", "self.copies.wait_stream(torch.cuda.current_stream())"), X, remarks=True) == []


REFILLED = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.copies, self.copied = torch.cuda.Stream(), torch.cuda.Event()
        self.staging = torch.zeros(8, 8, device="cpu", pin_memory=True)

    def forward(self, x):
        # wait
        self.staging.fill_(1.0)
        self.copies.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copies):
            table = self.staging.to("cuda", non_blocking=True)
            self.copied.record()
        self.copied.wait()
        return x + table
"""


def test_pinned_buffer_refilled_too_early(found: Auditor) -> None:
    (finding,) = found(REFILLED, X)
    assert finding.code == "ORD101"
    assert finding.message == (
        "`fill_` on `host` writes `staging` that `cuda` on `copies` reads, and nothing orders them (WAR)"
    )
    assert finding.at == "self.staging.fill_(1.0)"
    assert finding.related == ('table = self.staging.to("cuda", non_blocking=True)',)
    assert finding.help == host_help("copies", "cuda", "fill_")
    assert found(REFILLED.replace("# wait", "self.copies.synchronize()"), X, remarks=True) == []
    assert found(REFILLED.replace("# wait", "self.copied.synchronize()"), X, remarks=True) == []


READ_BACK = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            y = x + 1
        torch.cuda.current_stream().wait_stream(self.side)
        host = y.to("cpu", non_blocking=True)
        # wait
        return float(host.numpy()[0, 0])
"""


def test_copy_read_before_it_is_there(found: Auditor) -> None:
    (finding,) = found(READ_BACK, X)
    assert finding.code == "ORD101"
    assert finding.message == (
        "`numpy` on `host` reads `host` that `cpu` on `default` writes, and nothing orders them (RAW)"
    )
    assert finding.at == "return float(host.numpy()[0, 0])"
    assert finding.related == ('host = y.to("cpu", non_blocking=True)',)
    assert finding.help == host_help("default", "cpu", "numpy")
    assert found(READ_BACK.replace("# wait", "torch.cuda.synchronize()"), X, remarks=True) == []
    assert found(READ_BACK.replace(", non_blocking=True", ""), X, remarks=True) == []


CAPTURED = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.graph = torch.cuda.CUDAGraph()
        self.static = torch.zeros(8, 8, device="cuda")

    def forward(self, x):
        with torch.cuda.graph(self.graph):
            y = self.static + 1
            self.side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.side):
                self.next = y * 2
            z = y * 3
            # join
        return z
"""


def test_prefetch_in_flight_when_the_capture_ends(found: Auditor) -> None:
    (finding,) = found(CAPTURED, X)
    assert finding.code == "CAP102"
    assert finding.message == "`side` is not joined: the end of the capture does not wait for `mul`"
    assert finding.at == "self.next = y * 2"
    assert finding.related == ("with torch.cuda.graph(self.graph):",)
    assert finding.help == (
        "record an event on `side` after `mul`, and let `capture` wait for it before the end of the capture: "
        "`done.record()` and `done.wait()`, each where its stream is current, with `done = torch.cuda.Event()`"
    )
    joined = CAPTURED.replace("# join", "torch.cuda.current_stream().wait_stream(self.side)")
    assert found(joined, X, remarks=True) == []


BUFFER = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.w = torch.nn.Parameter(torch.ones(8, 8))

    def forward(self, x):
        y = x + 1
        out = torch.empty_like(x)
        # fork
        with torch.cuda.stream(self.side):
            torch.mm(self.w, self.w, out=out)
        torch.cuda.current_stream().wait_stream(self.side)
        return out + y
"""


def test_buffer_filled_on_a_stream_that_never_waited(found: Auditor) -> None:
    (finding,) = found(BUFFER, X)
    assert finding.code == "ORD101"
    assert finding.message == (
        "`mm` on `side` writes `out` that `out` on `default` allocates, and nothing orders them (WAW)"
    )
    assert finding.at == "torch.mm(self.w, self.w, out=out)"
    assert finding.related == ("out = torch.empty_like(x)",)
    assert finding.help == sync_help("default", "out", "side", "mm")
    assert found(BUFFER.replace("# fork", "self.side.wait_stream(torch.cuda.current_stream())"), X, remarks=True) == []


COLLECTIVES = """
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.tp = dist.new_group([0, 1])
        self.ep = dist.new_group([0, 1])

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            gathered = funcol.all_gather_tensor(x, 0, self.tp)
            gathered = gathered + 1
        # wait
        sent = funcol.all_reduce(x, "sum", self.ep)
        out = sent * 2
        main.wait_stream(self.side)
        return out + gathered.sum()
"""


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_collectives_of_two_groups_at_once(found: Auditor) -> None:
    (finding,) = found(COLLECTIVES, X, world=2)
    assert finding.code == "ORD107"
    assert finding.at == 'sent = funcol.all_reduce(x, "sum", self.ep)'
    assert finding.related == ("gathered = funcol.all_gather_tensor(x, 0, self.tp)",)
    assert finding.help.startswith(
        "wait for `all_gather_into_tensor` where `default` is current, before `all_reduce`: "
    )
    assert found(COLLECTIVES.replace("# wait", "main.wait_stream(self.side)"), X, world=2) == []


TWO_WAITERS = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.cuda.Stream(), torch.cuda.Stream()
        self.ready, self.a_done, self.b_done = [torch.cuda.Event() for _ in range(3)]

    def forward(self, x):
        y = x + 1
        self.ready.record()
        with torch.cuda.stream(self.a):
            self.ready.wait()
            left = y * 2
            self.a_done.record()
        with torch.cuda.stream(self.b):
            self.ready.wait()
            right = y * 3
            self.b_done.record()
        self.a_done.wait()
        self.b_done.wait()
        return left + right
"""

CHAIN = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.cuda.Stream(), torch.cuda.Stream()
        self.events = [torch.cuda.Event() for _ in range(3)]

    def forward(self, x):
        main = torch.cuda.current_stream()
        first, second, third = self.events
        y = x + 1
        first.record(main)
        self.a.wait_event(first)
        with torch.cuda.stream(self.a):
            z = y * 2
            second.record()
        with torch.cuda.stream(self.b):
            second.wait()
            w = y + z
            third.record()
        main.wait_event(third)
        return w + z
"""

REVERSE_WAIT = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        main = torch.cuda.current_stream()
        y = x + 1
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            z = y * 2
        main.wait_stream(self.side)
        del y
        w = x * 3
        return w + z
"""

HELD = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.npu.Stream()
        self.events = {"layer": (torch.npu.Event(), torch.npu.Event())}

    def forward(self, x):
        ready, done = self.events["layer"]
        y = x + 1
        ready.record()
        with torch.npu.stream(self.side):
            ready.wait()
            z = y * 2
            # tell
            done.record()
        # drop
        w = x * 3
        done.wait()
        return z + w
"""


def test_a_variable_keeps_memory_but_not_in_a_graph(found: Auditor) -> None:
    assert found(HELD, X, target="npu") == []
    (finding,) = found(HELD, X, target="npugraph_ex")
    assert (finding.code, finding.message) == ("MEM101", "`y` is freed while `mul` on `side` may still use it")
    assert (finding.at, finding.related) == ("z = y * 2", ("w = x * 3",))
    assert found(HELD.replace("# tell", "y.record_stream(self.side)"), X, target="npugraph_ex") == []


def test_memory_that_is_deleted_behind_the_record_of_an_event_without_a_name(found: Auditor) -> None:
    """Whoever looks for the event's name among the variables must not keep them."""
    (finding,) = found(HELD.replace("# drop", "del y"), X, target="npu")
    assert (finding.code, finding.related) == ("MEM101", ("del y", "w = x * 3"))


MICRO_BATCHES = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        self.events = [torch.cuda.Event() for _ in range(8)]
        self.attention = torch.nn.Linear(8, 8)
        self.mlp = torch.nn.Linear(8, 8)

    def forward(self, x):
        halves = list(x.chunk(2))
        main = torch.cuda.current_stream()
        for batch, (stream, half) in enumerate(zip(self.streams, halves)):
            begun, attended, merged, done = self.events[4 * batch : 4 * batch + 4]
            begun.record(main)
            with torch.cuda.stream(stream):
                begun.wait()
                hidden = self.attention(half)
                attended.record()
            attended.wait(main)
            other = hidden * 2
            merged.record(main)
            with torch.cuda.stream(stream):
                merged.wait()
                out = self.mlp(hidden) + other
                done.record()
            halves[batch] = out
        for batch in range(2):
            self.events[4 * batch + 3].wait(main)
        return torch.cat(halves)
"""


CLEAN = {"waiters": TWO_WAITERS, "chain": CHAIN, "reverse wait": REVERSE_WAIT, "micro-batches": MICRO_BATCHES}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_code_is_silent(found: Auditor, name: str) -> None:
    assert found(CLEAN[name], X, remarks=True) == []


@pytest.mark.parametrize("target", ["npu", "npugraph_ex"])
def test_clean_code_is_silent_on_npus(target: str) -> None:
    on_npus = {name: source.replace("torch.cuda", "torch.npu") for name, source in CLEAN.items()}
    if target == "npugraph_ex":
        del on_npus["reverse wait"]  # by `wait_stream`, which does not compile
        del on_npus["micro-batches"]  # `other` is freed behind its last use, on a side stream
    for name, audited in audit_all(on_npus, target=target).items():
        assert audited.program is not None, (name, audited.diagnostics)
        assert [each for each in audited.diagnostics if each.severity is not Severity.INFO] == []


RETURNED = TWO_PRODUCERS.replace("return left * right", "return left * right, left").replace(
    "# join", "main.wait_stream(self.a); main.wait_stream(self.b)"
)


def test_output_of_a_side_stream(found: Auditor) -> None:
    (finding,) = found(RETURNED, X)
    assert finding.code == "MEM103"
    assert finding.at == "left = torch.mm(x, self.w)"
    assert finding.help == (
        "call `left.record_stream(torch.cuda.current_stream())` where `default` is current before the return, "
        "or produce it on `default`"
    )
    told = RETURNED.replace("        return left", "        left.record_stream(main)\n        return left")
    assert found(told, X) == []
