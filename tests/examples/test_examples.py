"""Every example: its files are fresh, its numbers on the CPU, eagerly and compiled, and what only it shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tiny import EXAMPLES, NEEDS_NPU, SCOPED, SIZES, loaded, schedule
from torch._export.utils import _compiling_state_context

from streamsched.codegen.emitter import generate, same_generated
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import Loaded, load, trace_request
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.trace.tracing.collectives import copy_model
from streamsched.verify.compare import differences
from streamsched.verify.generated import load_generated
from streamsched.verify.live import live
from streamsched.verify.request import Request
from streamsched.verify.run import verify
from streamsched.verify.verdict import Verdict

NAMES = sorted(path.stem for path in EXAMPLES.glob("*/*.sched"))
TOGETHER = ("deepseek_v3", "deepseek_v3_attention")
"""Schedules for one model."""

WHOLE = [(name,) for name in sorted(SIZES.keys() - NEEDS_NPU)]


@pytest.fixture(autouse=True)
def reset() -> Iterator[None]:
    yield
    torch._dynamo.reset()


def test_every_example_has_a_tiny_size() -> None:
    assert sorted(SIZES | SCOPED) == NAMES


@pytest.mark.parametrize("names", [*WHOLE, *((name,) for name in SCOPED), TOGETHER], ids="+".join)
def test_it_agrees_with_the_original(names: tuple[str, ...]) -> None:
    first, *others = map(loaded, names)
    verdict = verify(first, Request("", orders=2, calls=2), others)
    assert isinstance(verdict, Verdict), verdict
    assert verdict.agrees, (verdict.failures, verdict.differences[:3])


@pytest.mark.parametrize("names", [*WHOLE, TOGETHER], ids="+".join)
def test_compiled_it_is_bit_identical(names: tuple[str, ...]) -> None:
    found = [loaded(name) for name in names]
    with live(trace_request(found[0].schedule, found[0].file.base), Request("")) as alive, torch.no_grad():
        assert not isinstance(alive, Diagnostic), alive
        scheduled = copy_model(alive.model)
        for each in found:
            assert each.program is not None
            load_generated(generate(each.program, "cpu"))["apply"](scheduled, strict=True)
        sample = alive.sample(0)
        args, kwargs = alive.call(sample)
        with _compiling_state_context():
            expected = alive.model(*args, **kwargs)
        args, kwargs = alive.call(sample)
        compiled = torch.compile(scheduled, fullgraph=True, backend="eager")
        assert list(differences(compiled(*args, **kwargs), expected, "compiled", 0)) == []


@pytest.mark.parametrize("name", NAMES)
def test_committed_files_are_fresh_and_have_no_errors(name: str) -> None:
    path = Path(schedule(name))
    assert path.with_name(f"{name}.trace.json.gz").exists()
    found = load(str(path))
    assert [d for d in found.diagnostics if d.severity.value != "info"] == []
    assert found.program is not None
    committed = path.with_name(f"{name}_scheduled.py").read_text(encoding="utf-8")
    assert same_generated(committed, generate(found.program, found.program.target))


def launches(loaded: Loaded) -> list[str]:
    """What `loaded` issues on the device: kernels, records and waits, each with its stream."""
    assert loaded.program is not None
    program = loaded.program
    kinds = (StepKind.LAUNCH, StepKind.RECORD, StepKind.WAIT)
    steps = [step for step in program.steps if step.kind in kinds]
    return [f"{program.streams[step.stream].name} {step.kind.value} {step.name}" for step in steps]


def test_multi_stream_issues_what_the_documentation_does() -> None:
    loaded = load(schedule("multi_stream"))
    assert launches(loaded) == [
        "default launch add",
        "default launch add_1",
        "default record B_done",
        "stream1 wait B_done",
        "stream1 launch mm",
        "stream1 record mm_result_done",
        "default launch mm_1",
        "stream2 wait mm_result_done",
        "stream2 launch add_2",
        "stream2 record add2_done",
        "default wait add2_done",
    ]
    assert loaded.program is not None
    recorded = [step.name for step in loaded.program.steps if step.kind is StepKind.RECORD_STREAM]
    assert recorded == ["B"]


def test_multi_stream_takes_at_most_fifteen_lines() -> None:
    text = Path(schedule("multi_stream")).read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line.strip() and not line.startswith("#")]) <= 15


def test_deepseek_moe_issues_the_shared_expert_first_and_merges_after() -> None:
    loaded = load(schedule("deepseek_moe"))
    assert loaded.program is not None
    text = generate(loaded.program, "npugraph_ex")
    shared, gate, experts = (text.index(f"self.{name}(") for name in ("shared_experts", "gate", "experts"))
    assert shared < gate < experts < text.index("expert_done.wait()")


def test_tp_moe_runs_the_shared_expert_beside_the_sum_of_the_ranks() -> None:
    loaded = load(schedule("tp_moe"))
    assert loaded.program is not None
    text = generate(loaded.program, "npu")
    issued = [text.index(call) for call in ("all_reduce(", "self.shared_expert(", "wait_tensor(", "add = routed")]
    assert issued == sorted(issued)
    assert len(text[text.index("    shared_stream =") : text.index("def apply")].strip().splitlines()) <= 20
