"""`streamsched audit`: what it prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamsched.cli.main import main

pytest.importorskip("torch")

SOURCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            y = x + 1
        {join}
        return y * 2

def plain(x):
    return x + 1

def fails(x):
    raise ValueError("no luck")

class Silent(Exception):
    def __str__(self):
        raise RuntimeError("nothing to say")

    __repr__ = __str__

def fails_silently(x):
    raise Silent

def leaves_silently(x):
    raise SystemExit(Silent())
"""


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(SOURCE.format(join="pass"))
    return path


def test_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "model.py:Model", "--input", "x: bf16[4, 4]", "--output-format", "concise"]) == 1
    printed = capsys.readouterr()
    assert printed.out == (
        "model.py:15:16: error ORD101 `mul` on `default` reads `y` that `add` on `side` writes, and nothing orders "
        "them (RAW)\n"
    )


def test_clean(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_text(SOURCE.format(join="main.wait_stream(self.side)"))
    assert main(["audit", "model.py:Model", "--input", "x: bf16[4, 4]"]) == 0
    assert capsys.readouterr().out == ""


def test_nothing_on_a_side_stream_is_not_clean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "model.py:plain", "--input", "x: f32[4]", "--output-format", "json"]) == 1
    assert [each["code"] for each in json.loads(capsys.readouterr().out)] == ["AUD101"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["model.py:fails", "--input", "x: f32[4]"], "ValueError: no luck"),
        (["model.py:fails_silently", "--input", "x: f32[4]"], "on the virtual device: Silent\n"),
        (["model.py:leaves_silently", "--input", "x: f32[4]"], "it exits (code a Silent)"),
        (["model.py:plain", "--input", "y: f32[4]"], "input `y` is no parameter"),
        (["model.py:plane"], "did you mean `plain`?"),
        (["model.py:plain", "--input", "x: f32[4]", "--fakes", "empty"], "empty is a folder"),
        (["model.py:plane"], " --> FILE:ATTR:1:1\n  |\n1 | model.py:plane\n  | ^^^^^^^^^^^^^^\n"),
        (["model.py:"], "Invalid value for FILE:ATTR: "),
        (["model.py:plain"], " --> FILE:ATTR:1:1\n"),
        (["model.py:plain"], 'describe it, as in `--input "x: f32[8, 64]`"'.replace('`"', '"`')),
        (["model.py:plain", "--inputs-from", "model.py:nothing"], " --> --inputs-from:1:1\n"),
        (["other.py:plain"], "other.py"),
        (["model.py:plain", "--input", "x: f32[4"], "Invalid value for --input: `[` is never closed"),
    ],
)
def test_code_that_cannot_be_run(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert main(["audit", *words]) == 2
    assert expected in "".join(capsys.readouterr())


def test_two_kinds_of_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "model.py:plain", "--input", "x: f32[4]", "--inputs-from", "model.py:f"]) == 2
    assert "not from both" in capsys.readouterr().err


def test_a_comment_in_the_code_suppresses_a_finding(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "model.py:Model", "--input", "x: bf16[4, 4]", "--output-format", "concise"]
    comment = "  # streamsched: ignore[ORD101] the caller waits"
    model.write_text(SOURCE.format(join="pass").replace("return y * 2", f"return y * 2{comment}"))
    assert main(words) == 0
    assert capsys.readouterr().out == ""
    model.write_text(SOURCE.format(join=f"main.wait_stream(self.side){comment}"))
    assert main(words) == 1
    assert "model.py:14:38: warning SUP101" in capsys.readouterr().out


def test_settings_and_options(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["audit", "model.py:Model", "--input", "x: bf16[4, 4]"]
    settings = model.parent / "pyproject.toml"
    settings.write_text('[tool.streamsched]\nignore = ["ORD"]\n')
    assert main(words) == 0
    assert main([*words, "--ignore", "MEM"]) == 1
    settings.write_text("[tool.streamsched]\nignroe = []\n")
    assert main([*words, "--ignore", "ORD,CFG"]) == 1
    assert "there is no setting `ignroe`" in capsys.readouterr().out


BRANCHES = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def other(self, x):
        return x * 5  # streamsched: ignore[ORD101] the caller waits

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            y = x + 1
        if x.shape[0] > 4:
            return y + x  # streamsched: ignore[ORD101] the caller waits
        main.wait_stream(self.side)
        y.record_stream(main)
        return y * 2{comment}
"""


def test_a_comment_on_what_did_not_run_is_not_called_unused(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_text(BRANCHES.format(comment=""))
    words = ["audit", "model.py:Model", "--output-format", "concise", "--input"]
    assert main([*words, "x: f32[4, 4]"]) == 0
    assert main([*words, "x: f32[8, 4]"]) == 0
    assert capsys.readouterr().out == ""
    model.write_text(BRANCHES.format(comment="  # streamsched: ignore[ORD101] long mended"))
    assert main([*words, "x: f32[8, 4]"]) == 0
    assert main([*words, "x: f32[4, 4]"]) == 1
    assert "model.py:21:23: warning SUP101" in capsys.readouterr().out


def test_a_clean_audit_says_how_much_was_checked(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model.write_text(BRANCHES.format(comment=""))
    words = ["audit", "model.py:Model", "--input", "x: f32[4, 4]"]
    assert main(words) == 0
    assert tuple(capsys.readouterr()) == ("", "clean: 4 ops on 2 streams in 2 calls\n")
    assert main([*words, "--calls", "1", "-q"]) == 0
    assert tuple(capsys.readouterr()) == ("", "")
    assert main([*words, "--calls", "1", "--ignore", "ORD"]) == 0
    assert capsys.readouterr().err == "clean: 2 ops on 2 streams in 1 call\n"
    model.write_text(BRANCHES.format(comment="").replace("main.wait_stream(self.side)", "pass"))
    assert main(words) == 1
    assert "clean" not in capsys.readouterr().err
