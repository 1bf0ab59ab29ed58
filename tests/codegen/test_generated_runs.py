"""Generated forwards of random programs issue what the program says: same ops, operands, streams, syncs, lifetimes."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from plans import program_of
from recorder import Entry, Recorder
from traces import TraceBuilder

from streamsched.codegen.emitter import generate
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace.model import Trace

STREAMS = ("s1", "s2")
NAMES = ("x", "a", "b", "h", "l", "max")


def random_trace(choose: random.Random, unnamed: bool) -> Trace:
    """A trace whose values share few names, some in place, some views, some perhaps copies."""
    builder = TraceBuilder()
    builder.input("x", "y")
    keys = ["x", "y"]
    for index in range(choose.randint(4, 16)):
        name = choose.choice(NAMES)
        kind = choose.random()
        reads = choose.sample(keys, choose.randint(1, min(2, len(keys))))
        if kind < 0.45:
            builder.kernel(name, *reads)
        elif kind < 0.6:
            builder.kernel(name, *reads, inplace=choose.choice(keys))
        elif kind < 0.7:
            builder.kernel(name, *reads[1:], copies=reads[0])
        elif kind < 0.9:
            builder.view(name, reads[0])
        else:
            builder.empty(name)
        key = f"#{index}"
        builder.names[key] = builder.names[name]
        keys.append(key)
    trace = builder.build(*choose.sample(keys, min(2, len(keys))))
    return _forget_names(choose, trace) if unnamed else trace


def _forget_names(choose: random.Random, trace: Trace) -> Trace:
    """The same trace, as if the source had nested most calls in one another."""
    values = tuple(replace(value, local="") if choose.random() < 0.7 else value for value in trace.values)
    ops = tuple(replace(op, statement=index // 3) for index, op in enumerate(trace.ops))
    return replace(trace, values=values, ops=ops)


def _with_aliases(choose: random.Random, trace: Trace) -> Trace:
    """The same trace, as if the source had held most values by several names."""
    others = [tuple(choose.sample((*NAMES, "r", "y"), choose.randint(0, 3))) for _ in trace.values]
    return replace(
        trace,
        values=tuple(
            replace(value, aliases=tuple(name for name in names if name != value.local))
            for value, names in zip(trace.values, others, strict=True)
        ),
    )


def random_program(seed: int, unnamed: bool = False, aliased: bool = False) -> Program:
    choose = random.Random(seed)
    trace = random_trace(choose, unnamed)
    trace = _with_aliases(choose, trace) if aliased else trace
    kernels = [op.name for op in trace.ops if op.kind.value != "view"]
    spread = choose.choice((0.0, 0.3, 0.7))
    streams = {name: choose.choice(STREAMS) for name in kernels if choose.random() < spread}
    used = sorted(set(streams.values()))
    nodes = {stream: [f'node "{name}"' for name in streams if streams[name] == stream] for stream in used}
    lines = [f"{' | '.join(nodes[stream])} on {stream}" for stream in used]
    declared = [f"stream {', '.join(used)}"] if used else []
    memory = choose.choice(("auto", "auto", "record_stream", "join"))
    return program_of("\n".join([*declared, "sync auto", f"memory {memory}", *lines, ""]), trace, "npu")


def ran(program: Program) -> list[Entry]:
    recorder = Recorder(program)
    recorder.run(generate(program, "npu"))
    assert recorder.current == ["default"] and not recorder.limits
    return recorder.log


def expected(program: Program) -> list[tuple[str, int, str]]:
    kinds = {StepKind.LAUNCH: "op", StepKind.ALLOC: "op", StepKind.RECORD: "record", StepKind.WAIT: "wait"}
    return [
        (kinds[step.kind], step.op if kinds[step.kind] == "op" else step.event, program.streams[step.stream].name)
        for step in program.steps
        if step.kind in kinds
    ]


def places(program: Program, kind: StepKind) -> list[tuple[int, str, int]]:
    """Storage, stream, and the ops issued before, of each step of a kind."""
    found = []
    ops = 0
    for step in program.steps:
        ops += step.kind in (StepKind.LAUNCH, StepKind.ALLOC)
        if step.kind is kind:
            found.append((step.storage, program.streams[step.stream].name, ops))
    return found


@pytest.mark.parametrize("aliased", [False, True], ids=["", "aliased"])
@pytest.mark.parametrize("unnamed", [False, True], ids=["named", "unnamed"])
@pytest.mark.parametrize("part", range(4))
def test_the_forward_issues_what_the_program_says(part: int, unnamed: bool, aliased: bool) -> None:
    for seed in range(part * 60, part * 60 + 60):
        program = random_program(seed, unnamed, aliased)
        log = ran(program)
        issued = [(e.what, e.ident, e.stream) for e in log if e.what in ("op", "record", "wait")]
        assert issued == expected(program), seed
        marks = {(e.ident, e.stream) for e in log if e.what == "record_stream"}
        assert {(storage, stream) for storage, stream, _ in places(program, StepKind.RECORD_STREAM)} <= marks, seed
        assert_freed_in_time(program, log, seed, patience=3 if unnamed else 1)


def assert_freed_in_time(program: Program, log: list[Entry], seed: int, patience: int) -> None:
    """No storage dies before the program frees it, nor much later: views and rebinding may take one statement more."""
    freed = {e.ident: (e.ops, index) for index, e in enumerate(log) if e.what == "free"}
    marked = {e.ident: index for index, e in enumerate(log) if e.what == "record_stream"}
    total = max((e.ops for e in log), default=0)
    for storage, _, ops in places(program, StepKind.FREE):
        died, index = freed.get(storage, (total + 1, len(log)))
        assert died >= ops, f"{seed}: {program.storages[storage].name} dies too early"
        assert died <= ops + patience or died >= total, f"{seed}: {program.storages[storage].name} dies too late"
        assert index > marked.get(storage, -1), f"{seed}: {program.storages[storage].name} dies before record_stream"
    for entry in log:
        assert entry.what != "free" or not program.storages[entry.ident].output, f"{seed}: an output dies early"


def test_random_files_pass_ruff(tmp_path: Path) -> None:
    for seed in range(60):
        for target in ("npugraph_ex", "cpu"):
            text = generate(random_program(seed, unnamed=seed % 2 == 0), target)
            (tmp_path / f"{target}_{seed}.py").write_text(text, encoding="utf-8")
    for verb in (("format", "--check"), ("check",)):
        command = [sys.executable, "-m", "ruff", *verb, "--isolated", str(tmp_path)]
        done = subprocess.run(command, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_same_program_gives_the_same_bytes() -> None:
    program = random_program(7)
    assert generate(program, "npu") == generate(program, "npu")
