"""What each verb does with a good schedule, and with one that has findings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
UGLY = "schedule   a\nstream s  # side\n"
NEAT = "schedule a\nstream s  # side\n"


def spoil(project: Path) -> None:
    """Give the schedule a stream that nobody uses and a group that matches nothing."""
    with (project / "good.sched").open("a") as file:
        file.write('stream idle\ngroup gone = value "nothing"\ngone on idle\n')


def test_lint_is_quiet_when_all_is_well(project: Path, run: Run) -> None:
    assert vars(run("lint")) == {"code": 0, "out": "", "err": ""}
    assert vars(run("lint", "--output-format", "concise", "good.sched")) == {"code": 0, "out": "", "err": ""}


def test_lint_shows_remarks_to_those_who_ask(project: Path, run: Run) -> None:
    result = run("lint", "--verbose", "--output-format", "concise")
    assert result.code == 0
    assert result.out.splitlines()
    assert all(": info " in line for line in result.out.splitlines())
    data = json.loads(run("lint", "--output-format", "json").out)
    assert [item["severity"] for item in data] == ["info"] * len(result.out.splitlines())


def test_lint_prints_findings_to_stdout_and_the_summary_to_stderr(project: Path, run: Run) -> None:
    spoil(project)
    result = run("lint", "good.sched")
    assert result.code == 1
    assert "error[SEL101] matches-nothing" in result.out
    assert " --> good.sched:" in result.out
    assert result.err == "1 error\n"


def test_lint_of_several_files_goes_on_after_an_unreadable_one(project: Path, run: Run) -> None:
    spoil(project)
    result = run("lint", "--output-format", "json", "missing.sched", "good.sched")
    assert result.code == 2
    assert [item["code"] for item in json.loads(result.out)] == ["SEL101"]
    assert result.err == "error: cannot read missing.sched: no such file or directory\n"


def test_lint_traces_a_schedule_that_has_no_saved_trace(project: Path, run: Run) -> None:
    (project / "good.trace.json.gz").unlink()
    assert run("lint", "good.sched").code == 0
    assert not (project / "good.trace.json.gz").exists()


def test_lint_of_standard_input(project: Path, run: Run) -> None:
    result = run("lint", "-", stdin=b"schedule a\nfoo => bar\n")
    assert result.code == 1
    assert " --> <stdin>:2:" in result.out
    assert "2 | foo => bar" in result.out


def test_trace_writes_what_was_saved(project: Path, run: Run) -> None:
    path = project / "good.trace.json.gz"
    path.unlink()
    assert vars(run("trace", "good.sched")) == {"code": 0, "out": "", "err": ""}
    assert path.exists()
    assert run("trace", "good.sched", "-o", "sub/other.gz").code == 0
    assert (project / "sub" / "other.gz").read_bytes() == path.read_bytes()


def test_what_a_model_prints_is_no_data(project: Path, run: Run) -> None:
    (project / "good.trace.json.gz").unlink()
    with (project / "model.py").open("a") as file:
        file.write("\nprint('hello from the model')\n")
    result = run("gen", "good.sched", "--target", "cpu")
    assert result.code == 0
    assert "hello" not in result.out
    assert "hello from the model" in result.err


def test_gen_writes_what_it_prints(project: Path, run: Run) -> None:
    printed = run("gen", "good.sched")
    assert (printed.code, printed.err) == (0, "")
    assert "def forward(self, in1, in2, in3, in4):" in printed.out
    assert vars(run("gen", "good.sched", "-o", "out.py")) == {"code": 0, "out": "", "err": ""}
    assert (project / "out.py").read_text() == printed.out
    assert run("gen", "good.sched", "-o", "-").out == printed.out


def test_gen_check_ignores_the_version_and_nothing_else(project: Path, run: Run) -> None:
    out = project / "out.py"
    run("gen", "good.sched", "-o", "out.py")
    text = out.read_text()
    (version,) = (line for line in text.splitlines() if line.startswith("# streamsched: "))
    out.write_text(text.replace(version, "# streamsched: 0.0.1"))
    assert vars(run("gen", "good.sched", "-o", "out.py", "--check")) == {"code": 0, "out": "", "err": ""}
    out.write_text(text.replace("in1 + in2", "in1 - in2"))
    result = run("gen", "good.sched", "-o", "out.py", "--check")
    assert result.code == 1
    assert "-    add_result = in1 - in2\n+    add_result = in1 + in2\n" in result.err
    assert result.err.endswith("run: streamsched gen good.sched -o out.py\n")


def test_gen_beside_names_the_files_itself(project: Path, run: Run) -> None:
    assert vars(run("gen", "--beside", "good.sched")) == {"code": 0, "out": "", "err": ""}
    assert (project / "good_scheduled.py").read_text() == run("gen", "good.sched").out
    assert run("gen", "--beside", "--check", "good.sched").code == 0
    (project / "other.sched").write_text((project / "good.sched").read_text())
    shutil.copy(project / "good.trace.json.gz", project / "other.trace.json.gz")
    assert run("gen", "--beside", "--check", "other.sched").code == 1  # named, and not there
    (project / "good_scheduled.py").write_text((project / "good_scheduled.py").read_text() + "# mine\n")
    (project / "only").mkdir()
    for path in (*project.glob("good*"), *project.glob("other*"), project / "model.py"):
        shutil.copy(path, project / "only")
    result = run("gen", "--beside", "--check", "only")
    assert result.code == 1 and "good_scheduled.py is stale" in result.err and "other" not in result.err


def test_gen_for_another_target_names_the_same_schedule(project: Path, run: Run) -> None:
    own, other = run("gen", "good.sched").out, run("gen", "good.sched", "--target", "cpu").out
    assert "torch_npu" in own
    assert "torch_npu" not in other
    assert own.splitlines()[1] == other.splitlines()[1]
    assert own.splitlines()[1].startswith("# schedule: ")


def test_gen_refuses_a_schedule_with_errors(project: Path, run: Run) -> None:
    (project / "out.py").write_text("old")
    spoil(project)
    result = run("gen", "good.sched", "-o", "out.py")
    assert (result.code, result.out) == (1, "")
    assert "error[SEL101]" in result.err
    assert (project / "out.py").read_text() == "old"


def test_show_shows_a_program_that_gen_refuses(project: Path, run: Run) -> None:
    text = (project / "good.sched").read_text()
    without_edges = "".join(line for line in text.splitlines(keepends=True) if "->" not in line)
    (project / "good.sched").write_text(without_edges)
    refused, shown = run("gen", "good.sched"), run("show", "good.sched")
    assert (refused.code, refused.out) == (1, "")
    assert "error[ORD101] missing-edge" in refused.err
    assert shown.code == 1
    assert "stream1" in shown.out
    assert shown.err == refused.err


def test_gen_generates_in_spite_of_warnings(project: Path, run: Run) -> None:
    with (project / "good.sched").open("a") as file:
        file.write("stream idle\n")
    result = run("gen", "good.sched")
    assert result.code == 0
    assert "def forward(" in result.out
    assert "warning[" in result.err


def test_show_puts_the_streams_side_by_side(project: Path, run: Run) -> None:
    result = run("show", "good.sched")
    assert (result.code, result.err) == (0, "")
    assert any("default" in line and "stream1" in line and "stream2" in line for line in result.out.splitlines())
    assert result.out.endswith("\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_fmt_formats_in_place_and_keeps_line_ends(newline: str, project: Path, run: Run) -> None:
    path = project / "ugly.sched"
    path.write_bytes(UGLY.replace("\n", newline).encode())
    assert vars(run("fmt", "ugly.sched")) == {"code": 0, "out": "", "err": ""}
    assert path.read_bytes() == NEAT.replace("\n", newline).encode()
    assert vars(run("fmt", "--check", "ugly.sched")) == {"code": 0, "out": "", "err": ""}


def test_fmt_check_and_diff_write_nothing(project: Path, run: Run) -> None:
    path = project / "ugly.sched"
    path.write_text(UGLY)
    assert vars(run("fmt", "--check", "ugly.sched")) == {"code": 1, "out": "", "err": "would reformat ugly.sched\n"}
    result = run("fmt", "--diff", "ugly.sched")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("--- ugly.sched\n+++ ugly.sched\n")
    assert "-schedule   a\n+schedule a\n" in result.out
    assert path.read_text() == UGLY


def test_fmt_of_standard_input_goes_to_stdout(project: Path, run: Run) -> None:
    assert vars(run("fmt", "-", stdin=UGLY.encode())) == {"code": 0, "out": NEAT, "err": ""}


def test_fmt_formats_what_is_not_supported_yet(project: Path, run: Run) -> None:
    result = run("fmt", "-", stdin=b"schedule   a\nworld   8\n")
    assert (result.code, result.out) == (0, "schedule a\nworld 8\n")


@pytest.mark.parametrize("word", ["ORD101", "ord101", "missing-edge"])
def test_explain_finds_a_rule_by_code_and_by_name(word: str, project: Path, run: Run) -> None:
    result = run("explain", word)
    assert result.code == 0
    assert result.out.startswith("ORD101 missing-edge (error)\n\n")
    assert "Example:" in result.out


def test_explain_lists_the_rules_of_a_family(project: Path, run: Run) -> None:
    codes = [line.split()[0] for line in run("explain", "mem").out.splitlines()]
    assert "MEM101" in codes and all(code.startswith("MEM") for code in codes)


def test_explain_lists_every_rule(project: Path, run: Run) -> None:
    from streamsched.dsl.rules import ALL

    lines = run("explain").out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(ALL)
