"""verify of schedules with a scope, and of several schedules for one model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from streamsched.cli.main import main
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import Loaded, load, trace_request
from streamsched.dsl.program.edit import without
from streamsched.dsl.program.steps import StepKind
from streamsched.verify.instances import MOST
from streamsched.verify.live import live
from streamsched.verify.parts import Part, parts_of
from streamsched.verify.request import Request
from streamsched.verify.run import verify
from streamsched.verify.verdict import Verdict

MODEL = """import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.up = nn.Linear(8, 8)
        self.gate = nn.Linear(8, 8)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, scale=1.0):
        self.calls += 1
        a = self.up(x)
        b = torch.sin(self.gate(x)) * scale
        return a * b + self.calls


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)
        self.k = nn.Linear(8, 8)

    def forward(self, x):
        q = self.q(x)
        k = self.k(x)
        return torch.softmax(q @ k.mT, -1) @ x


class Layer(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.attention = Attention()
        self.mlp = Mlp(layer)

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.mlp(x, scale=0.5)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(16, 8)
        self.layers = nn.ModuleList(Layer(i) for i in range(6))

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return x
"""

HEAD = 'schedule {name}\n\nmodel "model.py:Model"\nscope "{scope}"\ninput ids: i64[1, 4]\nsync auto\nstream side\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a model of six layers and a schedule for each of their two parts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    mlp = HEAD.format(name="mlp", scope="layers.*.mlp") + 'value "b" on side\n'
    attention = HEAD.format(name="attention", scope="layers.*.attention") + 'value "k" on side\n'
    (tmp_path / "mlp.sched").write_text(mlp)
    (tmp_path / "attention.sched").write_text(attention)
    return tmp_path


@pytest.fixture
def mlp(folder: Path) -> Loaded:
    found = load("mlp.sched")
    assert not found.failed, found.diagnostics
    return found


def parts(loaded: Loaded, calls: int) -> list[Part]:
    assert loaded.trace is not None
    with live(trace_request(loaded.schedule, loaded.file.base), Request("mlp.sched")) as alive, torch.no_grad():
        assert not isinstance(alive, Diagnostic), alive
        return parts_of(loaded.trace, alive, [alive.sample(call) for call in range(calls)])


def verified(loaded: Loaded) -> Verdict:
    verdict = verify(loaded, Request("mlp.sched", orders=2, calls=2))
    assert isinstance(verdict, Verdict), verdict
    return verdict


def test_the_first_and_the_last_module_get_what_the_model_gives_them(mlp: Loaded) -> None:
    found = parts(mlp, 2)
    assert len(found) == MOST
    assert (found[0].path, found[-1].path) == ("layers.0.mlp", "layers.5.mlp")
    for part in found:
        assert [arguments["scale"] for arguments in part.arguments] == [0.5, 0.5]
        assert not torch.equal(part.arguments[0]["x"], part.arguments[1]["x"])
        for call, arguments in enumerate(part.arguments):
            assert any(torch.equal(given, arguments["x"]) for given in part.inputs[call].values())
        assert part.module.get_buffer("calls") < 1  # no call has counted in it
        assert len(part.results) == 2
    assert not torch.equal(found[0].arguments[0]["x"], found[-1].arguments[0]["x"])


def test_a_scope_agrees(mlp: Loaded) -> None:
    verdict = verified(mlp)
    assert verdict.agrees, (verdict.failures, verdict.differences[:3])


def test_of_many_modules_those_that_differ_run_and_the_verdict_says_which(folder: Path) -> None:
    text = MODEL.replace("self.layer = layer", "self.layer, self.gain = layer, 3.0 if layer == 1 else 1.0")
    (folder / "model.py").write_text(text.replace("return a * b", "return a * self.gain * b"))
    found = load("mlp.sched")
    assert not found.failed, found.diagnostics
    assert "layers.1.mlp" in [part.path for part in parts(found, 1)]
    (note,) = verified(found).notes
    assert note == (
        "4 of the 6 modules in scope ran under the orders: layers.0.mlp, layers.1.mlp, layers.2.mlp, layers.5.mlp; "
        "the generated forward ran in all of them"
    )


def test_a_wait_taken_out_is_missed_in_every_module(mlp: Loaded) -> None:
    assert mlp.program is not None
    waits = [index for index, step in enumerate(mlp.program.steps) if step.kind is StepKind.WAIT]
    verdict = verified(replace(mlp, program=without(mlp.program, waits[-1])))
    under = {difference.order for difference in verdict.differences}
    assert "side streams last in layers.0.mlp" in under
    assert "side streams last in layers.5.mlp" in under


def test_a_trace_that_is_another_module_s_is_told_by_the_results(folder: Path, mlp: Loaded) -> None:
    text = MODEL.replace("a = self.up(x)", 'a = self.up(x) * (2 if self.layer == 5 and x.device.type == "cpu" else 1)')
    (folder / "model.py").write_text(text)
    verdict = verified(mlp)
    under = {difference.order for difference in verdict.differences}
    assert "the ops of the trace in layers.5.mlp" in under
    assert "the generated forward" in under
    assert not any("layers.0.mlp" in order for order in under)


def test_several_schedules_are_applied_to_one_model(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["verify", "mlp.sched", "attention.sched", "--orders", "1", "--calls", "2"])
    out, err = capfd.readouterr()
    assert (code, err) == (0, ""), out
    assert out.startswith("cpu: the ops of the plans against the same ops in program order, and the forwards generated")


def test_schedules_of_two_models_are_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "other.py").write_text(MODEL)
    text = (folder / "attention.sched").read_text().replace("model.py", "other.py")
    (folder / "attention.sched").write_text(text)
    assert main(["verify", "mlp.sched", "attention.sched"]) == 2
    err = capfd.readouterr().err
    assert "mlp.sched and attention.sched have different `model` statements" in err


CACHED = """import dataclasses

import torch
from torch import nn


class Step(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.k = nn.Linear(8, 8)

    def forward(self, x, cache, place):
        b = self.k(x)
        keys = cache[self.layer]
        keys.index_copy_(1, place + 1, b)
        return x + keys.sum(1, keepdim=True)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = nn.ModuleList(Step(i) for i in range(2))

    def forward(self, x, cache, place):
        for step in self.steps:
            x = step(x, cache, place)
        return x


def inputs():
    return {"x": torch.empty(1, 1, 8), "cache": [torch.empty(1, 3, 8) for _ in range(2)], "place": torch.full((1,), 1)}
"""


def test_a_cache_is_filled_anew_for_every_call(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "model.py").write_text(CACHED)
    text = HEAD.format(name="step", scope="steps.*").replace("input ids: i64[1, 4]", 'inputs from "model.py:inputs"')
    (folder / "step.sched").write_text(text + 'value "b" on side\n')
    code = main(["verify", "step.sched", "--orders", "1", "--calls", "2"])
    out, err = capfd.readouterr()
    assert (code, err) == (0, ""), out  # `place` is 1, as the function says: any other would be out of range or 0
    found = load("step.sched")
    with live(trace_request(found.schedule, found.file.base), Request("step.sched")) as alive:
        assert not isinstance(alive, Diagnostic)
        assert [entry.name for entry in alive.inputs] == ["x", "cache[0]", "cache[1]", "place"]
        assert all(alive.sample(seed)[3].tolist() == [1] for seed in range(5))
        first, second = (alive.call(alive.sample(0))[0] for _ in range(2))
        assert first[1] is not second[1]
        assert first[1][0].data_ptr() != second[1][0].data_ptr()
