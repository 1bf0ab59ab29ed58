"""Each target's spellings, and that no generated forward holds a construct that npugraph_ex rejects or reorders."""

from __future__ import annotations

import re

import pytest
from forwards import forward_lines
from modelled import Planned
from plans import program_of
from recorder import Recorder
from traces import TraceBuilder

from streamsched.codegen.emitter import generate
from streamsched.codegen.targets import TARGETS
from streamsched.dsl.program.steps import Program, StepKind

HAZARDS = (
    "wait_stream",
    "synchronize",
    "record_event",
    "wait_event",
    "torch.Stream",
    "torch.Event",
    "default_stream",
    "set_stream",
    "stream(None)",
    "ExternalEvent",
    "enable_timing",
    ".query(",
)


def branching(schedule: str, target: str) -> Program:
    builder = TraceBuilder()
    builder.input("x", "w")
    builder.kernel("a", "x", "w")
    builder.kernel("b", "a", "w")
    builder.empty("buffer")
    builder.kernel("c", "b", inplace="buffer")
    builder.kernel("d", "a", "x")
    builder.kernel("e", "c", "d")
    return program_of(schedule, builder.build("e", "b"), target)


SCHEDULES = (
    'sync auto\nstream s { cores aic 8, aiv 16 }\nvalue "b" on s\n',
    'sync auto\nstream s, t { priority -1 }\nvalue { b, c } on s\nvalue "d" on t\n',
    'sync auto\nmemory record_stream\nstream default { cores aiv 3 }\nstream s\nvalue "e" on s\n',
    "sync auto\nmemory join\nstream s\nvalue { a, d } on s\n",
)


@pytest.mark.parametrize("target", ["npugraph_ex", "npu"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_no_hazard_is_generated(schedule: str, target: str) -> None:
    program = branching(schedule, target)
    text = generate(program, target)
    assert not [word for word in HAZARDS if word in text]
    assert len(re.findall(r"\.record\(\)", text)) == len(program.events), "each event is recorded once"
    for name in re.findall(r"(\w+) = self\.scheduled_streams", text):
        assert f"stream({name})" in text, "a stream that is fetched is entered"
    recorder = Recorder(program)
    recorder.run(text)
    synced = [(e.what, e.stream) for e in recorder.log if e.what in ("record", "wait")]
    kinds = (StepKind.RECORD, StepKind.WAIT)
    assert synced == [(s.kind.value, program.streams[s.stream].name) for s in program.steps if s.kind in kinds]


def test_a_limit_is_inside_its_stream_and_of_that_stream_only() -> None:
    lines = generate(branching(SCHEDULES[0], "npugraph_ex"), "npugraph_ex").splitlines()
    opened = [line for line in lines if "limit_core_num" in line]
    assert opened == ["    with torch.npu.stream(s), torch.npu.npugraph_ex.scope.limit_core_num(8, 16):"]


def test_a_limited_default_stream_has_its_ops_in_the_limit_and_no_side_block() -> None:
    text = generate(branching(SCHEDULES[2], "npugraph_ex"), "npugraph_ex")
    assert "    with torch.npu.npugraph_ex.scope.limit_core_num(-1, 3):\n        a = torch.mm(x, w)" in text
    assert "\n        with torch.npu.stream(s)" not in text, "side blocks are not inside the limit"


def test_cuda_says_that_it_cannot_limit_cores() -> None:
    text = generate(branching(SCHEDULES[0], "cuda"), "cuda")
    assert "# cuda cannot limit the cores of s: aic 8, aiv 16" in text
    assert "with torch.cuda.stream(s):" in text and "limit_core_num" not in text


def test_cpu_has_streams_and_syncs_as_comments_only() -> None:
    text = generate(branching(SCHEDULES[1], "cpu"), "cpu")
    code = "\n".join(line for line in forward_lines(text) if not line.startswith("#"))
    assert "stream" not in code and "wait" not in code and "with " not in code
    assert re.search(r"# s: wait for \w+_done", text) and "# on t" in text


def test_priorities_are_given_to_the_streams() -> None:
    text = generate(branching(SCHEDULES[1], "npu"), "npu")
    assert text.count("torch.npu.Stream(priority=-1)") == 2


@pytest.mark.parametrize("target", TARGETS)
def test_files_stand_on_their_own(target: str) -> None:
    text = generate(branching(SCHEDULES[0], target), target)
    imports = [line.split("  #")[0] for line in text.splitlines() if line.startswith(("import ", "from "))]
    assert set(imports) <= {"import logging", "import types", "import torch", "import torch_npu"}
    assert "\n# streamsched: " in text and "do not edit" in text.splitlines()[0]


def test_outputs_of_side_streams_are_kept_for_the_caller() -> None:
    """Eagerly, `default` is the caller's current stream, and is asked for outside any block."""
    text = generate(branching(SCHEDULES[0], "cuda"), "cuda")
    assert "\n    b.record_stream(torch.cuda.current_stream())\n" in text


def test_a_call_that_asks_whether_it_is_compiled_is_pointed_out(planned: Planned) -> None:
    program = planned(
        """
class Asks(nn.Module):
    def forward(self, x):
        return x * 2 if torch.compiler.is_compiling() else x + x

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.asks = Asks()

    def forward(self, x):
        y = self.asks(x)
        return torch.relu(y)
""",
        "input x: f32[4]\n",
    )
    lines = generate(program, "cpu").splitlines()
    call = lines.index("    y = self.asks(x)")
    assert lines[call - 1].startswith("    # asks whether it is being compiled")
