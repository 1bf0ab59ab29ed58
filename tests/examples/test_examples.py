"""Every example: its numbers on the CPU, eagerly and compiled, and what only it shows."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from streamsched.codegen.emitter import generate
from streamsched.dsl.pipeline import Loaded, load
from streamsched.dsl.program.steps import StepKind
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.tracing.collectives import copy_model

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.name for path in EXAMPLES.iterdir() if (path / f"{path.name}.sched").exists())
ON_NPU_ONLY = {"w8a8_shared_expert"}
TINY = {
    "deepseek_moe": (("model.py:build", "model.py:tiny"), ("7168", "64")),
    "dlrm": (("model.py:build", "model.py:tiny"), ("i64[8,", "i64[3,")),
    "tp_moe": (("model.py:build", "model.py:tiny"), ("2048", "64")),
    "two_tower": (("model.py:build", "model.py:tiny"),),
}


def tiny_schedule(name: str, folder: Path) -> Path:
    """A copy of an example with a configuration that fits a CPU."""
    shutil.copy(EXAMPLES / name / "model.py", folder)
    text = (EXAMPLES / name / f"{name}.sched").read_text(encoding="utf-8")
    for old, new in TINY.get(name, ()):
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.sched"
    path.write_text(text, encoding="utf-8")
    return path


def import_file(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def reset() -> Iterator[None]:
    yield
    torch._dynamo.reset()
    if torch.distributed.is_initialized():  # by a model that communicates
        torch.distributed.destroy_process_group()


def build(loaded: Loaded, folder: Path, name: str) -> torch.nn.Module:
    """The example's model on the CPU, with seeded values."""
    attribute = "tiny" if name in TINY else {"inception": "Inception"}.get(name, "Model")
    model: torch.nn.Module = getattr(import_file(folder / "model.py", f"{name}_model"), attribute)().eval()
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for parameter in [*model.parameters(), *model.buffers()]:
            if parameter.is_floating_point():
                parameter.copy_(torch.rand(parameter.shape, generator=generator) * 0.5)
    return model


def inputs(trace: Trace) -> dict[str, torch.Tensor]:
    """Seeded inputs of the traced dtypes and shapes."""
    generator = torch.Generator().manual_seed(11)
    found = {}
    for index in trace.inputs:
        value = trace.values[index]
        dtype = getattr(torch, value.dtype)
        if dtype.is_floating_point:
            found[value.expression] = torch.randn(value.shape, generator=generator).to(dtype)
        else:
            found[value.expression] = torch.randint(0, 40, value.shape, generator=generator, dtype=dtype)
    return found


def identical(left: object, right: object) -> bool:
    if isinstance(left, torch.Tensor):
        assert isinstance(right, torch.Tensor)
        return left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, tuple):
        assert isinstance(right, tuple)
        return len(left) == len(right) and all(identical(a, b) for a, b in zip(left, right, strict=True))
    return bool(left == right)


@pytest.mark.parametrize("name", sorted(set(NAMES) - ON_NPU_ONLY))
def test_generated_for_cpu_it_is_bit_identical(name: str, tmp_path: Path) -> None:
    loaded = load(str(tiny_schedule(name, tmp_path)))
    assert loaded.program is not None, loaded.diagnostics
    assert not loaded.failed, loaded.diagnostics
    assert loaded.trace is not None
    generated = tmp_path / "generated.py"
    generated.write_text(generate(loaded.program, "cpu"), encoding="utf-8")
    original = build(loaded, tmp_path, name)
    scheduled = import_file(generated, f"{name}_generated").apply(copy_model(original))
    assert scheduled.forward.__module__ == f"{name}_generated"
    arguments = inputs(loaded.trace)
    with torch.no_grad():
        expected = original(**{k: v.clone() for k, v in arguments.items()})
        assert identical(scheduled(**{k: v.clone() for k, v in arguments.items()}), expected)
        compiled = torch.compile(scheduled, fullgraph=True, backend="eager")
        assert identical(compiled(**{k: v.clone() for k, v in arguments.items()}), expected)


@pytest.mark.parametrize("name", NAMES)
def test_committed_trace_is_fresh_and_has_no_errors(name: str) -> None:
    folder = EXAMPLES / name
    assert (folder / f"{name}.trace.json.gz").exists()
    loaded = load(str(folder / f"{name}.sched"))
    assert loaded.program is not None
    assert [d for d in loaded.diagnostics if d.severity.value != "info"] == []


@pytest.mark.parametrize("name", NAMES)
def test_committed_forward_is_fresh(name: str) -> None:
    from streamsched.codegen.emitter import same_generated

    loaded = load(str(EXAMPLES / name / f"{name}.sched"))
    assert loaded.program is not None
    committed = (EXAMPLES / name / f"{name}_scheduled.py").read_text(encoding="utf-8")
    assert same_generated(committed, generate(loaded.program, loaded.program.target))


def launches(loaded: Loaded) -> list[str]:
    """What `loaded` issues on the device: kernels, records and waits, each with its stream."""
    assert loaded.program is not None
    program = loaded.program
    kinds = (StepKind.LAUNCH, StepKind.RECORD, StepKind.WAIT)
    steps = [step for step in program.steps if step.kind in kinds]
    return [f"{program.streams[step.stream].name} {step.kind.value} {step.name}" for step in steps]


def test_multi_stream_issues_what_the_documentation_does() -> None:
    loaded = load(str(EXAMPLES / "multi_stream" / "multi_stream.sched"))
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
    text = (EXAMPLES / "multi_stream" / "multi_stream.sched").read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if line.strip() and not line.startswith("#")]) <= 15


def test_deepseek_moe_issues_the_shared_expert_first_and_merges_after() -> None:
    loaded = load(str(EXAMPLES / "deepseek_moe" / "deepseek_moe.sched"))
    assert loaded.program is not None
    text = generate(loaded.program, "npugraph_ex")
    shared, gate, experts = (text.index(f"self.{name}(") for name in ("shared_experts", "gate", "experts"))
    assert shared < gate < experts < text.index("expert_done.wait()")


def test_tp_moe_runs_the_shared_expert_beside_the_sum_of_the_ranks() -> None:
    loaded = load(str(EXAMPLES / "tp_moe" / "tp_moe.sched"))
    assert loaded.program is not None
    text = generate(loaded.program, "npu")
    issued = [text.index(call) for call in ("all_reduce(", "self.shared_expert(", "wait_tensor(", "add = routed")]
    assert issued == sorted(issued)
    assert len(text[text.index("    shared_stream =") : text.index("def apply")].strip().splitlines()) <= 20
