"""Hand-written code held against a schedule: edges that it does not honour, and edges that cannot be found in it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from streamsched.cli.main import main
from streamsched.dsl.audit import Audited, audit
from streamsched.dsl.diagnostic import Severity
from streamsched.dsl.rules import find

PLAIN = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate, self.shared, self.routed = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        scores = self.gate(x)
        shared_out = self.shared(x)
        return self.routed(x) * scores + shared_out

def build():
    return nn.Sequential(Block(), Block())
"""

SCHEDULE = """
schedule staggered

model "plain.py:{model}"
{scope}input {input}: f32[4, 8]
target cuda

stream side

group gate = module "gate"
group expert = module "shared"

expert on side
gate -> expert -> value "return"[-1] - module "routed"
"""

HAND = """
import torch
from torch import nn
from plain import Block

class Hand(Block):
    def __init__(self):
        super().__init__()
        self.side, self.gate_done = torch.cuda.Stream(), torch.cuda.Event()

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        routed = self.routed(x)
        scores = self.gate(x)
        self.gate_done.record()
        with torch.cuda.stream(self.side):
            self.gate_done.wait()
            shared_out = self.shared(x)
            x.record_stream(self.side)
        main.wait_stream(self.side)
        return routed * scores + shared_out

def build():
    return nn.Sequential(Hand(), Hand())
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("plain.py").write_text(PLAIN)
    Path("hand.py").write_text(HAND)
    Path("plan.sched").write_text(SCHEDULE.format(model="Block", scope="", input="x"))
    return tmp_path


def run(attribute: str = "Hand", name: str = "x") -> Audited:
    return audit(f"hand.py:{attribute}", (f"{name}: f32[4, 8]",), against="plan.sched")


def findings(audited: Audited) -> list[tuple[str, str]]:
    assert audited.program is not None, audited.diagnostics
    return [(each.code, each.message) for each in audited.diagnostics if each.severity is not Severity.INFO]


def test_code_that_honours_its_edges_is_clean() -> None:
    assert findings(run()) == []


def test_an_order_that_is_lost_is_told_by_its_edge() -> None:
    Path("hand.py").write_text(HAND.replace("self.gate_done.wait()", "pass"))
    audited = run()
    assert findings(audited) == [
        (
            "AUD301",
            "`gate -> expert` is not honoured: `linear` on `side` may start before `linear` on `default` completes",
        )
    ]
    found = next(each for each in audited.diagnostics if each.code == "AUD301")
    lines = Path("hand.py").read_text().splitlines()
    assert lines[found.span.line - 1].strip() == "shared_out = self.shared(x)"
    assert [(Path(each.span.file).name, each.message) for each in found.related] == [
        ("hand.py", "`linear` must complete first"),
        ("plan.sched", "the edge"),
    ]
    assert lines[found.related[0].span.line - 1].strip() == "scores = self.gate(x)"
    assert findings(audit("hand.py:Hand", ("x: f32[4, 8]",))) == []


def test_kernels_are_told_apart_by_their_weights() -> None:
    """`routed` is issued first and unordered with the side stream, and is a `linear` like the gate."""
    late = HAND.replace("        self.gate_done.record()\n", "").replace(
        "        scores = self.gate(x)\n", "        self.gate_done.record()\n        scores = self.gate(x)\n"
    )
    Path("hand.py").write_text(late)
    assert [code for code, _ in findings(run())] == ["AUD301"]


def test_each_module_in_scope_is_held_against_it() -> None:
    Path("plan.sched").write_text(SCHEDULE.format(model="build", scope='scope "*"\n', input="input"))
    assert findings(run("build", "input")) == []
    Path("hand.py").write_text(HAND.replace("self.gate_done.wait()", "pass"))
    assert sorted(message.split("`")[5] for _, message in findings(run("build", "input"))) == ["side", "side_2"]


def test_what_the_code_does_not_run_cannot_be_checked() -> None:
    Path("hand.py").write_text(HAND.replace("self.shared(x)", "torch.tanh(x)"))
    ((code, message), *others) = findings(run())
    assert code == "AUD302" and message.endswith("the code runs nothing that is `expert`")
    assert {code for code, _ in others} == {"AUD302"}


def test_a_schedule_with_errors_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plan.sched").write_text(SCHEDULE.format(model="Block", scope="", input="x") + 'group gate = module "gat"\n')
    assert main(["audit", "hand.py:Hand", "--input", "x: f32[4, 8]", "--against", "plan.sched"]) == 2
    assert "SYN102" in capsys.readouterr().out


def test_a_schedule_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "hand.py:Hand", "--input", "x: f32[4, 8]", "--against", "other.sched"]) == 2
    assert "cannot read other.sched" in capsys.readouterr().err


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "hand.py:Hand", "--input", "x: f32[4, 8]", "--against", "plan.sched"]
    assert main(words) == 0
    Path("hand.py").write_text(HAND.replace("self.gate_done.wait()", "pass"))
    assert main([*words, "--output-format", "concise"]) == 1
    assert "AUD301" in capsys.readouterr().out


def test_the_page_says_what_to_type() -> None:
    for code in ("AUD301", "AUD302"):
        rule = find(code)
        assert rule is not None and "Use instead" in rule.page
