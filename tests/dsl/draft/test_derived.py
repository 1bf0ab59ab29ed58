"""The schedule that code with streams implements: of generated code the one that it was generated from, and more."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")

from drafts import wanted, write_generated
from likeness import likeness
from tiny import NEEDS_NPU, SCOPED, SIZES, loaded

from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.init import Drafted, Wanted, draft
from streamsched.dsl.pipeline import Loaded, load_drafted

NAMES = sorted(SIZES | SCOPED)
ALL = os.environ.get("STREAMSCHED_VERIFY") == "all"
ON_CUDA = NAMES if ALL else [name for name in NAMES if not name.startswith("deepseek_v3_")]
ON_NPU = NAMES if ALL else ["limit_cores", "multi_stream", "tp_moe", *NEEDS_NPU]
CASES = [*((name, "cuda") for name in ON_CUDA), *((name, "npu") for name in ON_NPU)]


def checked(drafted: Drafted) -> Loaded:
    assert drafted.text is not None and drafted.trace is not None, drafted.diagnostics
    return load_drafted(ScheduleFile("derived.sched", drafted.text, "", ""), drafted.trace)


@pytest.mark.parametrize(("name", "target"), CASES)
def test_round_trip(name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_generated(name, target, tmp_path)
    monkeypatch.chdir(tmp_path)
    fakes = "" if target == "cuda" and name not in NEEDS_NPU else "fakes.py"
    drafted = draft(wanted(name, model="build.py:build", target=target, fakes=fakes, implemented=True))
    again = checked(drafted)
    assert [each for each in again.diagnostics if each.severity is not Severity.INFO] == []
    original = loaded(name, target)
    assert again.program is not None and original.program is not None
    assert likeness(again.program) == likeness(original.program)


def test_a_lost_edge_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = write_generated("multi_stream", "cuda", tmp_path)
    assert text.count("mm_result_done.wait()") == 1
    (tmp_path / "generated.py").write_text(text.replace("mm_result_done.wait()", "pass"))
    monkeypatch.chdir(tmp_path)
    again = checked(draft(wanted("multi_stream", model="build.py:build", target="cuda", implemented=True)))
    original = loaded("multi_stream", "cuda")
    assert again.program is not None and original.program is not None
    assert likeness(again.program) != likeness(original.program)


HEAD = """
import torch
from torch import nn

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.shared, self.experts = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.aux, self.copy = torch.cuda.Stream(), torch.cuda.Stream(priority=-1)
        self.ready, self.late = torch.cuda.Event(), torch.cuda.Event()

    def forward(self, x):
        main = torch.cuda.current_stream()
"""


def derived(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements about streams, groups and edges of a forward() with this body."""
    monkeypatch.chdir(tmp_path)
    indented = "".join(f"        {line}\n" for line in body.strip().splitlines())
    Path("m.py").write_text(HEAD + indented)
    drafted = draft(Wanted("m.py:M", ("x: f32[8, 8]",), implemented=True))
    assert drafted.text is not None, drafted.diagnostics
    assert not checked(drafted).failed, checked(drafted).diagnostics
    return re.findall(r"^(?:stream|group|memory|\w.* (?:on|->) ).*$", drafted.text, re.MULTILINE)


SHARED_EXPERT = """
hidden = x * 2
self.aux.wait_stream(main)
with torch.cuda.stream(self.aux):
    shared_out = self.shared(hidden)
routed = self.experts(hidden) * self.gate(hidden)
main.wait_stream(self.aux)
return routed + shared_out
"""


def test_wait_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert derived(SHARED_EXPERT, tmp_path, monkeypatch) == [
        "stream aux",
        'group hidden = value "hidden"',
        'group shared_out = module "shared"',
        'group result = value "return"',
        "shared_out on aux",
        "hidden -> shared_out",
        "shared_out -> result",
    ]


def test_streams_of_no_device_in_particular(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = derived(SHARED_EXPERT, tmp_path, monkeypatch)
    body = SHARED_EXPERT.replace("with torch.cuda.stream(self.aux):", "with aux:").replace("self.aux", "aux")
    body = f"main, aux = torch.accelerator.current_stream(), torch.Stream()\n{body.strip()}"
    assert derived(body, tmp_path, monkeypatch) == plain


CHAIN = """
with torch.cuda.stream(self.aux):
    a = self.shared(x)
    self.ready.record()
with torch.cuda.stream(self.copy):
    self.ready.wait()
    b = a + 1
    self.late.record()
self.ready.wait()
self.late.wait()
return a * b
"""


def test_what_a_chain_implies_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = derived(CHAIN, tmp_path, monkeypatch)
    assert "stream copy { priority -1 }" in found
    assert [each for each in found if "->" in each] == ["a -> b", "b -> result"]


UNRECORDED = """
hidden = x * 2
with torch.cuda.stream(self.aux):
    self.ready.wait()
    y = self.shared(x)
hidden = hidden + 1
main.wait_stream(self.aux)
return hidden + y
"""


def test_a_wait_without_a_record_orders_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [each for each in derived(UNRECORDED, tmp_path, monkeypatch) if "->" in each] == ["y -> result"]


RACE = SHARED_EXPERT.replace("self.aux.wait_stream(main)\n", "")


def test_a_race_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    indented = "".join(f"        {line}\n" for line in RACE.strip().splitlines())
    Path("m.py").write_text(HEAD + indented)
    drafted = draft(Wanted("m.py:M", ("x: f32[8, 8]",), implemented=True))
    assert [each.code for each in drafted.diagnostics if each.severity is Severity.ERROR] == ["ORD101"]


def test_record_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = SHARED_EXPERT.replace("main.wait_stream(self.aux)\n", "main.wait_stream(self.aux)\nMORE\n")
    more = "hidden.record_stream(self.aux); shared_out.record_stream(main)"
    assert "memory record_stream" in derived(body.replace("MORE", more), tmp_path, monkeypatch)
    assert "memory record_stream" not in derived(body.replace("MORE", "pass"), tmp_path, monkeypatch)


def test_without_streams_there_is_nothing_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(HEAD + "        return self.gate(x)\n")
    drafted = draft(Wanted("m.py:M", ("x: f32[8, 8]",), implemented=True))
    assert drafted.text is None and [each.code for each in drafted.diagnostics] == ["AUD101"]


def test_torch_is_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    before = {name: vars(torch.cuda)[name] for name in ("Stream", "Event", "stream", "current_stream")}
    generic, record_stream = torch.Stream, torch.Tensor.record_stream
    derived(SHARED_EXPERT, tmp_path, monkeypatch)
    assert all(vars(torch.cuda)[name] is value for name, value in before.items())
    assert (torch.Stream, torch.Tensor.record_stream) == (generic, record_stream)
    assert not hasattr(torch, "npu")


def test_torch_compile_knows_the_true_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from torch._dynamo.trace_rules import get_torch_obj_rule_map
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable

    derived(SHARED_EXPERT, tmp_path, monkeypatch)
    handlers = TorchInGraphFunctionVariable._get_handlers()
    assert torch.cuda.current_stream in get_torch_obj_rule_map()
    assert torch.accelerator.current_stream in handlers or torch.cuda.current_stream in handlers
