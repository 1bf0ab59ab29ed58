"""Auditing a script: it runs as Python runs it, on the virtual device."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from streamsched.cli.main import main
from streamsched.dsl.audit import Audited, audit, audit_script
from streamsched.dsl.auditing import auditing

torch = pytest.importorskip("torch")

SCRIPT = """
import argparse
import sys

import torch
from layers import Layer

def run(steps):
    torch.manual_seed(0)
    model = Layer(8).to("cuda").eval()
    side = torch.cuda.Stream()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    x = torch.randn(8, 8, device="cuda")
    start.record()
    for _ in range(steps):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = model(x)
        {join}
        x = x + y
    end.record()
    torch.cuda.synchronize()
    print(f"{{steps / start.elapsed_time(end)}} per ms", x.sum().item())

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    run(parser.parse_args().steps)
    {end}
"""
LAYERS = """
import torch

class Layer(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.up = torch.nn.Linear(n, n)

    @torch.no_grad()
    def forward(self, x):
        return torch.relu(self.up(x))
"""
JOIN = "torch.cuda.current_stream().wait_stream(side)"
RACE = "`add` on `default` reads `y` that `relu` on `side` writes, and nothing orders them (RAW)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of scripts, which is not the current one."""
    inner = tmp_path / "scripts"
    inner.mkdir()
    (inner / "layers.py").write_text(LAYERS)
    monkeypatch.chdir(tmp_path)
    return inner


def write(folder: Path, join: str = JOIN, end: str = "pass") -> str:
    (folder / "run.py").write_text(SCRIPT.format(join=join, end=end))
    return "scripts/run.py"


def line(audited: Audited, index: int = 0) -> str:
    span = audited.diagnostics[index].span
    return Path(span.file).read_text().splitlines()[span.line - 1].strip()


@pytest.mark.parametrize("fake", [False, True])
def test_a_script_with_a_race(folder: Path, fake: bool) -> None:
    path = write(folder, "pass")
    if fake:
        (folder / "run.py").write_text((folder / "run.py").read_text().replace(", x.sum().item()", ""))
    before = sys.argv, sys.modules["__main__"], list(sys.path)
    audited = audit_script(path, ("--steps", "3"), fake=fake)
    assert audited.program is not None, audited.diagnostics
    (race,) = [each for each in audited.diagnostics if each.code == "ORD101" and "(RAW)" in each.message]
    assert race.message == RACE
    assert (race.span.file, line(audited, audited.diagnostics.index(race))) == (path, "x = x + y")
    (producer,) = race.related
    assert producer.span.file == "scripts/layers.py"
    assert (sys.argv, sys.modules["__main__"], sys.path) == before


def test_a_script_without(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", write(folder), "--", "--steps", "3"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "3.0 per ms" in printed.err, "what the script prints goes to stderr"


def test_a_script_without_streams_is_not_clean(folder: Path) -> None:
    (folder / "plain.py").write_text("import torch\nx = torch.ones(4, device='cuda') + 1\n")
    audited = audit_script("scripts/plain.py")
    (finding,) = audited.diagnostics
    assert (finding.code, finding.span.line) == ("AUD101", 1)


def test_a_script_that_misses_its_arguments(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", write(folder)]) == 2
    printed = capsys.readouterr()
    assert "error[AUD203]" in printed.out and "run.py exits with code 2" in printed.out
    assert "run(parser.parse_args().steps)" in printed.out
    assert "streamsched audit SCRIPT.py -- ARGUMENTS" in printed.out
    assert "the following arguments are required: --steps" in printed.err


def test_a_script_that_exits_well(folder: Path) -> None:
    audited = audit_script(write(folder, end="sys.exit(0)"), ("--steps", "2"))
    assert audited.program is not None and not audited.diagnostics


@pytest.mark.parametrize(
    ("end", "code", "message"),
    [
        ("sys.exit('no luck')", "AUD203", "run.py says: no luck"),
        ("raise ValueError('no luck')", "TRC102", "run.py does not run to its end: ValueError: no luck"),
        ("torch.mm(torch.ones(2, 3), torch.ones(2, 3))", "TRC102", "run.py does not run to its end: RuntimeError: "),
        ("raise KeyboardInterrupt", "TRC102", "run.py does not run to its end: KeyboardInterrupt"),
    ],
)
def test_a_script_that_fails_is_told_beside_what_it_did(folder: Path, end: str, code: str, message: str) -> None:
    audited = audit_script(write(folder, "pass", end), ("--steps", "3"))
    assert audited.program is None
    fault, *found = audited.diagnostics
    assert fault.code == code and fault.message.startswith(message)
    places = [fault.span, *(each.span for each in fault.related)]
    assert any(Path(each.file).read_text().splitlines()[each.line - 1].strip() == end for each in places)
    assert RACE in [each.message for each in found]


def test_a_script_that_ends_at_once_is_not_said_to_use_no_stream(folder: Path) -> None:
    (folder / "plain.py").write_text("import torch\ny = torch.ones(2) + 1\nraise ValueError('no luck')\n")
    assert [each.code for each in audit_script("scripts/plain.py").diagnostics] == ["TRC102"]


def test_a_script_that_trains(folder: Path) -> None:
    (folder / "train.py").write_text("import torch\ntorch.nn.Linear(2, 2)(torch.ones(2, 2)).sum().backward()\n")
    (fault,) = audit_script("scripts/train.py").diagnostics
    assert fault.code == "TRC102" and "does not require grad" in fault.message
    assert fault.help == "audit runs code for inference, without gradients: leave out `backward()`"


def test_a_script_that_looks_at_values_without_them(folder: Path) -> None:
    audited = audit_script(write(folder), ("--steps", "3"), fake=True)
    assert audited.program is None
    assert audited.diagnostics[0].code == "AUD201"
    assert "x.sum().item()" in line(audited)


def test_a_script_with_a_syntax_error(folder: Path) -> None:
    (folder / "run.py").write_text("import torch\nx = (\n")
    audited = audit_script("scripts/run.py")
    assert audited.program is None and "SyntaxError" in audited.diagnostics[0].message


def test_fakes_are_found_from_where_one_stands(folder: Path) -> None:
    Path("fakes.py").write_text('from streamsched.dsl.audit import missing_module\nmissing_module("absent_ext")\n')
    (folder / "ext.py").write_text("import absent_ext\nabsent_ext.init()\n")
    audited = audit_script("scripts/ext.py", fakes="fakes.py")
    assert "AUD104" in [each.code for each in audited.diagnostics]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scripts/no.py"], "is not there"),
        (["scripts/rum.py"], "did you mean `run.py`?"),
        (["scripts/run.py", "--input", "x: f32[4]"], "without --input"),
        (["scripts/run.py", "--inputs-from", "m.py:f"], "without --inputs-from"),
        (["scripts/run.py", "--calls", "2"], "without --calls"),
        (["scripts/run.py", "--target", "npugraph_ex"], "has no forward()"),
        (["scripts/run.py:run", "--", "--steps"], "is no script"),
    ],
)
def test_wrong_use(folder: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder)
    assert main(["audit", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.out + printed.err


def test_a_script_for_an_npu(folder: Path) -> None:
    text = textwrap.dedent(SCRIPT).format(join="pass", end="assert torch.npu.is_available()").replace("cuda", "npu")
    (folder / "run.py").write_text("import torch_npu\n" + text)
    audited = audit_script("scripts/run.py", ("--steps", "2"), target="npu")
    assert audited.program is not None, audited.diagnostics
    assert RACE in [each.message for each in audited.diagnostics]


BUILT = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = torch.zeros(8, 8, device="cuda")
        self.side = torch.cuda.Stream()

    def forward(self, x):
        with torch.cuda.stream(self.side):
            y = self.cache + 1
        torch.cuda.current_stream().wait_stream(self.side)
        y.record_stream(torch.cuda.current_stream())
        return x + y
"""


def test_only_a_script_shows_the_order_between_building_and_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What issues a model is taken to be complete before it is called, however the call is audited."""
    monkeypatch.chdir(tmp_path)
    Path("built.py").write_text(BUILT)
    Path("script.py").write_text('import torch\nfrom built import M\nM()(torch.ones(8, 8, device="cuda"))\n')
    assert audit("built.py:M", ("x: f32[8, 8]",)).diagnostics == ()
    with auditing() as auditor:
        namespace: dict[str, Any] = {}
        exec(BUILT, namespace)
        auditor(namespace["M"](), torch.ones(8, 8, device="cuda"))
    assert auditor.diagnostics == ()
    races = [each.message for each in audit_script("script.py").diagnostics if each.code == "ORD101"]
    assert len(races) == 1 and "reads `cache`" in races[0], races
