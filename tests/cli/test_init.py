"""`streamsched init`: what it writes, what it says, and its exit codes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

Run = Callable[..., Any]
INPUTS = ("--input", "in1, in2, in3, in4: f16[8, 8]")


def test_what_it_writes_lints_clean_and_is_formatted(project: Path, run: Run) -> None:
    done = run("init", "model.py:Model", *INPUTS, "-o", "new.sched")
    assert (done.code, done.out) == (0, "")
    assert "wrote new.sched: 4 groups, of which 4 might overlap others\n" in done.err
    assert "streamsched lint new.sched" in done.err
    assert Path("new.trace.json.gz").is_file()
    assert run("lint", "new.sched") == run("fmt", "--check", "new.sched") == type(done)(0, "", "")


NESTED = """
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))

    def forward(self, x):
        return self.inner(x) + 1
"""


@pytest.mark.parametrize(
    "words",
    [
        ["--fakes", "fakes.py"],
        ["--world", "2"],
        ["--leaf", "inner.0", "--leaf", "inner.1", "--world", "2", "--fakes", "fakes.py"],
        ["--scope", "inner.*", "--class", "Linear", "--world", "2"],
        ["-o", "sub/new.sched", "--world", "2", "--fakes", "fakes.py"],
    ],
)
def test_its_trace_is_not_stale(words: list[str], project: Path, run: Run) -> None:
    Path("fakes.py").write_text("")
    Path("nested.py").write_text(NESTED)
    output = "sub/new.sched" if "-o" in words else "new.sched"
    assert run("init", "nested.py:Model", "--input", "x: f32[8, 8]", "-o", output, *words).code == 0
    assert "stale-trace" not in run("lint", output).out


def test_to_stdout(project: Path, run: Run) -> None:
    done = run("init", "model.py:Model", *INPUTS, "--name", "mine", "--target", "cuda")
    assert done.code == 0
    assert "schedule mine\n" in done.out and "target cuda\n" in done.out
    assert not Path("mine.sched").exists()


def test_no_file_is_replaced(project: Path, run: Run) -> None:
    before = Path("good.sched").read_text()
    done = run("init", "model.py:Model", *INPUTS, "-o", "good.sched")
    assert done.code == 2 and "good.sched is there already" in done.err
    assert Path("good.sched").read_text() == before


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (["model.py:Modal", *INPUTS], 2, "did you mean `Model`?"),
        (["model.py:Model"], 2, "in1"),
        (["model.py:Model", *INPUTS, "-o", "new.txt"], 2, "name it FILE.sched"),
        (["model.py:Model", *INPUTS, "-o", "nowhere/new.sched"], 2, "no folder nowhere"),
        (["model.py:Model", *INPUTS, "--inputs-from", "model.py:f"], 2, "not from both"),
        (["model.py:Model", *INPUTS, "--class", "Model"], 2, "give --scope too"),
        (["model.py:Model", "--input", "x: f16[8"], 2, "Invalid value for --input: `[` is never closed"),
        (["model.py:Model", *INPUTS, "--name", "a b"], 2, "Invalid value for --name: `a b` is no name for a schedule"),
        (["model.py:Model", *INPUTS, "--name", "on"], 2, "Invalid value for --name"),
    ],
)
def test_what_cannot_be_done(words: list[str], code: int, expected: str, project: Path, run: Run) -> None:
    done = run("init", *words)
    assert done.code == code and expected in done.err, done
    assert not [name for name in os.listdir() if name.startswith("new")]


def test_a_name_that_is_a_keyword(project: Path, run: Run) -> None:
    assert run("init", "model.py:Model", *INPUTS, "-o", "on.sched").code == 0
    assert "schedule on_\n" in Path("on.sched").read_text()


OVERLAPPED = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            y = x + 1
        z = x * 2
        torch.cuda.current_stream().wait_stream(self.side)
        return y * z
"""


def test_from_code_with_streams(project: Path, run: Run) -> None:
    Path("overlapped.py").write_text(OVERLAPPED)
    done = run("init", "--from", "overlapped.py:Model", "--input", "x: f32[8]", "-o", "new.sched")
    assert done.code == 0 and "wrote new.sched: 2 groups\n" in done.err, done
    text = Path("new.sched").read_text()
    assert "target cuda\n" in text and "y on side\n" in text and "y -> result\n" in text
    for verb in (("lint",), ("trace",), ("fmt", "--check"), ("gen", "-o", "out.py")):
        assert run(*verb, "new.sched").code == 0, verb


def test_a_model_or_code_with_streams(project: Path, run: Run) -> None:
    assert "name a model" in run("init", *INPUTS).err
    assert run("init", "model.py:Model", "--from", "model.py:Model", *INPUTS).code == 2


SILENT = """
from torch import nn

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("nothing to say")

class Model(nn.Module):
    def forward(self, x):
        raise Silent
"""


@pytest.mark.parametrize("words", [["silent.py:Model"], ["--from", "silent.py:Model"]])
def test_an_exception_that_cannot_say_what_it_is(project: Path, run: Run, words: list[str]) -> None:
    Path("silent.py").write_text(SILENT)
    done = run("init", *words, "--input", "x: f16[8, 8]")
    assert done.code == 2
    assert "forward() raises at silent.py:10: Silent\n" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["model.py:Model"], " --> FILE:ATTR:1:1\n  |\n1 | model.py:Model\n  | ^^^^^^^^^^^^^^\n"),
        (["--from", "model.py:Model"], " --> --from:1:1\n  |\n1 | model.py:Model\n  | ^^^^^^^^^^^^^^\n"),
        (["--from", "model.py:Model"], '--input "in1: f32[8, 64]"'),
        (["model.py:"], "Invalid value for FILE:ATTR: "),
        (["--from", "model.py:"], "Invalid value for --from: "),
    ],
)
def test_findings_speak_of_what_was_typed(project: Path, run: Run, words: list[str], told: str) -> None:
    done = run("init", *words)
    assert done.code == 2
    assert told in done.err
