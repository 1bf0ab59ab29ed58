from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from streamsched.cli import main as main_module
from streamsched.cli.main import VERBS, main

START = [sys.executable, "-m", "streamsched.cli.main"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str, project: Path, run: Callable[..., Any]) -> None:
    result = run(verb, "--help")
    assert (result.code, result.err) == (0, "")
    assert f"Usage: streamsched {verb}" in result.out
    assert f"Example:\n      streamsched {verb}" in result.out


def test_help_lists_the_verbs_in_the_order_of_work(project: Path, run: Callable[..., Any]) -> None:
    lines = run("--help").out.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(VERBS)


def test_version(project: Path, run: Callable[..., Any]) -> None:
    result = run("--version")
    assert result.code == 0
    assert result.out.startswith("streamsched ")


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "error: "),  # raised by a statement; Ctrl-C comes from none
        (click.Abort(), 130, ""),
        (RecursionError("too deep"), 2, "internal error: RecursionError: too deep"),
        (AssertionError(), 2, "internal error: AssertionError\n"),
        (OSError(28, "No space left on device"), 2, "error: [Errno 28] No space left on device"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_is_raised_becomes_a_message(
    raised: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise raised

    monkeypatch.delenv("STREAMSCHED_DEBUG", raising=False)
    monkeypatch.setattr(main_module.cli, "main", fail)
    assert main(["lint"]) == code
    err = capsys.readouterr().err
    assert err.startswith(words)
    assert bool(err) == bool(words)
    assert "Traceback" not in err


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_traceback_is_there_for_those_who_ask(
    how: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ValueError("why")

    monkeypatch.setattr(main_module.cli, "main", fail)
    if how == "environment":
        monkeypatch.setenv("STREAMSCHED_DEBUG", "1")
    assert main(["lint", "--verbose"] if how == "option" else ["lint"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="a name for standard output")
def test_standard_output_by_name(project: Path) -> None:
    done = subprocess.run(
        [*START, "gen", "good.sched", "-o", "/dev/stdout"], cwd=project, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "def forward(" in done.stdout


def test_a_narrow_encoding_loses_no_message(tmp_path: Path) -> None:
    (tmp_path / "bad.sched").write_text("schedule é ü\n", encoding="utf-8")
    done = subprocess.run(
        [*START, "lint", "bad.sched"], cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "SYN101" in done.stdout
    assert "\\xe9" in done.stdout


def test_lint_imports_nothing_that_it_does_not_need(project: Path) -> None:
    code = (
        "import sys; from streamsched.cli.main import main; main(['lint', 'good.sched']);"
        "print([n for n in ('torch', 'numpy', 'jinja2', 'rich') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stdout + done.stderr
