"""Auditing from Python: the context manager, and the fixture of the plugin for pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streamsched.dsl.audit import audit as audit_file
from streamsched.dsl.auditing import auditing

torch = pytest.importorskip("torch")

pytest_plugins = ["pytester"]


class Moe(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A shared part on a side stream, beside the rest."""

    def __init__(self, joined: bool = True) -> None:
        super().__init__()
        self.side = torch.cuda.Stream()
        self.shared = torch.nn.Linear(8, 8)
        self.joined = joined

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            shared = self.shared(x)
        if self.joined:
            main.wait_stream(self.side)
        return x + shared


@pytest.mark.parametrize("fake", [False, True])
def test_a_context_that_collects(fake: bool) -> None:
    with auditing(fake=fake) as audit:
        x = torch.randn(8, 8, device="cuda")
        audit(Moe(), x)
        assert audit.diagnostics == () and audit.report() == ""
        audit(Moe(joined=False), x=x)
    (race,) = audit.faults
    assert race.code == "ORD101"
    assert (
        race.message
        == "`add` on `default` reads `shared` that `linear` on `side_2` writes, and nothing orders them (RAW)"
    )
    assert "return x + shared" in audit.report()
    assert audit.program.streams[1].name == "side"
    assert not hasattr(torch, "npu")
    with pytest.raises((AssertionError, RuntimeError)):
        torch.cuda.Stream()


def test_what_was_found_can_be_asked_for_behind_the_block() -> None:
    with auditing(calls=1) as audit:
        audit(lambda x: x + 1, torch.ones(4, device="cuda"))
    assert [each.code for each in audit.faults] == ["AUD101"]


@pytest.mark.parametrize("wrong", [{"target": "cpu"}, {"calls": 0}, {"calls": "2"}, {"world": -1}])
def test_choices_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"the targets are|is a whole number"), auditing(**wrong):
        pass
    with pytest.raises(ValueError, match=r"the targets are|is a whole number"):
        audit_file("model.py:build", "x: f32[4]", **wrong)


def test_one_input_is_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plus.py").write_text("def plus(x):\n    return x + 1\n")
    given = [audit_file("plus.py:plus", inputs) for inputs in ("x: f32[4]", ["x: f32[4]"])]
    assert [[each.code for each in audited.diagnostics] for audited in given] == [["AUD101"], ["AUD101"]]


def test_the_code_s_own_exception_comes_through() -> None:
    def fails(x: object) -> None:
        raise ZeroDivisionError("no luck")

    with pytest.raises(ZeroDivisionError, match="no luck"), auditing() as audit:
        audit(fails, torch.ones(4, device="cuda"))
    assert not hasattr(torch, "npu"), "the device is gone"


def test_who_looks_at_values_without_them() -> None:
    def swallows(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        try:
            return x * x.sum().item()
        except RuntimeError:
            return x

    with auditing(fake=True) as audit, pytest.raises(RuntimeError, match="`item` needs the values of a tensor"):
        audit(swallows, torch.ones(4, device="cuda"))


def test_without_a_call_there_is_nothing_to_tell() -> None:
    with auditing() as audit, pytest.raises(ValueError, match="nothing was called"):
        _ = audit.diagnostics


def test_an_unknown_target() -> None:
    with pytest.raises(ValueError, match="cuda, npu, npugraph_ex, not 'rocm'"), auditing("rocm"):
        pass


MODEL = """
import torch

class Moe(torch.nn.Module):
    def __init__(self, joined=True):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.shared = torch.nn.Linear(8, 8)
        self.joined = joined

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            shared = self.shared(x)
        if self.joined:
            main.wait_stream(self.side)
        return x + shared
"""
TESTS = """
import pytest
import torch
from moe import Moe

def test_clean(race_free):
    race_free(Moe(), torch.randn(8, 8, device="cuda"))

def test_racy(race_free):
    race_free(Moe(joined=False), torch.randn(8, 8, device="cuda"))

@pytest.mark.streamsched(fake=True, calls=1)
def test_fake(race_free):
    race_free(Moe().requires_grad_(False), torch.empty(1 << 40, 8, device="cuda"))

def test_idle(race_free):
    race_free(lambda x: x + 1, torch.ones(8, device="cuda"))

@pytest.mark.streamsched(claps=1)
def test_marker(race_free):
    pass

def test_afterwards():
    with pytest.raises((AssertionError, RuntimeError)):
        torch.cuda.Stream()
"""
ONE_TEST = "import torch\nfrom moe import Moe\n\ndef test_it(race_free):\n    race_free({})\n"
PLUGIN = ("-p", "streamsched.dsl.pytest_plugin", "-p", "no:cacheprovider")


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    """pytest with the plugin, which a working copy that is not installed does not bring by itself."""
    known = any(each.module == "streamsched.dsl.pytest_plugin" for each in _entry_points())
    return pytester.runpytest_subprocess(*(() if known else PLUGIN), *words)


def _entry_points() -> list[object]:
    from importlib.metadata import entry_points

    return list(entry_points(group="pytest11"))


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(moe=MODEL, test_moe=TESTS)
    result = run(pytester, "-q")
    result.assert_outcomes(passed=3, failed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*error*ORD101*`add` on `default` reads `shared` that `linear` on `side` writes*",
            "*moe.py:17:*",
            "*return x + shared*",
        ]
    )
    result.stdout.fnmatch_lines(["*AUD101*nothing ran on a side stream*"])
    result.stdout.fnmatch_lines(["*the marker streamsched takes target=, calls=, fake=, world=*"])


@pytest.mark.parametrize("said", ['target="gpu"', "calls=0", "calls='two'", "world=-1", "call=3"])
def test_a_marker_that_is_wrong_is_told_in_a_line(pytester: pytest.Pytester, said: str) -> None:
    test = f"import pytest\n\n@pytest.mark.streamsched({said})\ndef test_it(race_free):\n    pass\n"
    pytester.makepyfile(test_moe=test)
    result = run(pytester, "-q")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the marker streamsched*"])
    result.stdout.no_fnmatch_line("*pytest_plugin.py:*")


def test_the_target_of_a_project(pytester: pytest.Pytester) -> None:
    test = (
        "import torch\nfrom moe import Moe\n\ndef test_it(race_free):\n    race_free(Moe(), torch.ones(8, 8).npu())\n"
    )
    pytester.makepyfile(moe=MODEL.replace("cuda", "npu"), test_moe=test)
    pytester.makeini("[pytest]\nstreamsched_target = npu\n")
    run(pytester, "-q").assert_outcomes(passed=1)


def test_a_comment_that_suppresses(pytester: pytest.Pytester) -> None:
    model = MODEL.replace("x + shared", "x + shared  # streamsched: ignore[ORD101] -- the caller waits")
    test = ONE_TEST.format("Moe(False), torch.ones(8, 8).cuda()")
    pytester.makepyfile(moe=model, test_moe=test)
    run(pytester, "-q").assert_outcomes(passed=1)


def test_the_plugin_is_light() -> None:
    asked = "import streamsched.dsl.pytest_plugin, sys; print(sorted({'torch', 'lark', 'click'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_plugin_is_announced() -> None:
    text = Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    assert '[project.entry-points.pytest11]\nstreamsched = "streamsched.dsl.pytest_plugin"' in text
