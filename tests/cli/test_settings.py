"""What pyproject.toml, options, comments and a baseline change about `lint`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def bad(project: Path) -> Path:
    """A schedule with one error (ORD101), two remarks MEM104 and one MEM105: its edges are gone."""
    path = project / "good.sched"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "->" not in line))
    return path


def settle(text: str, folder: Path | None = None) -> None:
    ((folder or Path()) / "pyproject.toml").write_text(f"[tool.streamsched]\n{text}\n")


def told(run: Run, *options: str) -> dict[str, str]:
    """The codes that are told, with their severities."""
    result = run("lint", "--output-format", "json", *options)
    assert result.code in (0, 1)
    return {each["code"]: each["severity"] for each in json.loads(result.out)}


EVERYTHING = {"ORD101": "error", "MEM104": "info", "MEM105": "info"}


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        ("", [], EVERYTHING),
        ('select = ["ORD"]', [], {"ORD101": "error"}),
        ('select = ["ORD"]', ["--select", "MEM104,MEM105"], {"MEM104": "info", "MEM105": "info"}),
        ('ignore = ["MEM"]', [], {"ORD101": "error"}),
        ('ignore = ["MEM"]', ["--ignore", "ORD", "--ignore", "MEM105"], {"MEM104": "info"}),
        ('per-file-ignores = { "good*" = ["ORD"] }', [], {"MEM104": "info", "MEM105": "info"}),
        ('per-file-ignores = { "sub/*" = ["ORD"] }', [], EVERYTHING),
        (
            'severity = { MEM = "error", ORD101 = "warning" }',
            [],
            dict.fromkeys(EVERYTHING, "error") | {"ORD101": "warning"},
        ),
        ('severity = { ORD = "warning" }', ["--severity", "ORD101=info"], dict.fromkeys(EVERYTHING, "info")),
    ],
)
def test_what_is_told(settings: str, options: list[str], expected: dict[str, str], bad: Path, run: Run) -> None:
    settle(settings)
    assert told(run, *options) == expected


def test_an_ignored_error_is_no_finding(bad: Path, run: Run) -> None:
    assert run("lint", "--ignore", "ORD101").code == 0
    assert run("lint", "--severity", "ORD101=info").code == 0
    assert run("gen", "good.sched").code == 1


def test_settings_say_what_a_schedule_does_not(bad: Path, run: Run) -> None:
    settle('sync = "auto"')
    assert run("lint").code == 0
    assert run("gen", "good.sched").code == 0
    assert run("lint", "--sync", "explicit").code == 1
    bad.write_text(bad.read_text() + "sync explicit\n")
    assert "ORD101" in told(run)
    assert "ORD101" not in told(run, "--sync", "auto")


def test_the_target_of_a_project(bad: Path, run: Run) -> None:
    settle('target = "cuda"')
    run("trace", "good.sched")
    assert "MEM105" not in told(run)
    assert "MEM105" in told(run, "--target", "npugraph_ex")
    settle('target = "cudda"')
    assert " --> pyproject.toml:2:11\n" in run("lint").out


def test_the_device_of_a_project(bad: Path, run: Run) -> None:
    settle('device = "ascend910b33"')
    assert "there is no device `ascend910b33`" in run("lint").out
    assert "there is no device" not in run("lint", "--device", "ascend910b3").out
    settle('device = "mine.ini"')
    assert " --> pyproject.toml:2:11\n" in run("lint").out
    (bad.parent / "mine.ini").write_text("[SoCInfo]\nai_core_cnt=20\nvector_core_cnt=40\n")
    assert set(told(run)) == set(EVERYTHING)
    bad.write_text(bad.read_text() + "device mine { aic 20, aiv 40 }\n")
    settle('device = "gone.ini"')
    assert set(told(run)) == set(EVERYTHING)
    assert "gone.ini" in run("lint", "--device", "gone.ini").out


def test_what_is_ignored_is_not_shown_by_others(project: Path, run: Run) -> None:
    with (project / "good.sched").open("a") as file:
        file.write("stream idle\n")
    for verb in ("gen", "show"):
        assert "SYN201" in run(verb, "good.sched").err
    settle('ignore = ["SYN201"]')
    for verb in ("gen", "show"):
        result = run(verb, "good.sched")
        assert (result.code, result.err) == (0, "")


def test_settings_that_are_wrong_stop_every_verb(bad: Path, run: Run) -> None:
    settle('ignore = ["ORD140"]\nselect = ["MEM"]')
    for verb in ("lint", "gen", "show", "fmt", "trace"):
        result = run(verb, "good.sched")
        assert result.code == 1
        assert "error[CFG102] unknown-rule: there is no rule `ORD140`" in result.out + result.err
        assert " --> pyproject.toml:2:12" in result.out + result.err
        assert "ORD101" not in result.out


def test_an_empty_selection_is_wrong(bad: Path, run: Run) -> None:
    settle("select = []")
    result = run("lint", "--output-format", "concise")
    assert result.code == 1
    assert "pyproject.toml:2:1: error CFG103 `select` names no rule" in result.out
    settle("ignore = []")
    assert "CFG103" not in told(run)


def test_wrong_settings_are_told_once(bad: Path, run: Run) -> None:
    settle("ingore = []")
    (bad.parent / "other.sched").write_text(bad.read_text())
    assert run("lint", "--output-format", "concise").out.count("CFG101") == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--select", "ODR"], "there is no rule `ODR`; did you mean `ORD`?"),
        (["--select", ""], "name a rule, or ALL for all"),
        (["-o", ""], "name a file, or - for standard output"),
        (["--write-baseline", ""], "the name of the file to write is empty"),
        (["-o", "one.json", "--write-baseline", "./one.json"], "-o and --write-baseline both name ./one.json"),
        (["--diff", "-o", "one.json"], "leave out -o"),
        (["--diff", "--write-baseline", "one.json"], "leave out --write-baseline"),
        (["--diff", "--statistics"], "leave out --statistics"),
        (["--diff", "--output-format", "json"], "leave out --output-format"),
        (["--ignore", "ORD101,ORD140"], "there is no rule `ORD140`"),
        (["--severity", "ORD101"], "'ORD101' is not CODE=LEVEL"),
        (["--severity", "ODR101=info"], "there is no rule `ODR101`"),
        (["--device", "a b"], "'a b' is neither a name nor a file"),
        (["--target", "cudda"], "'cudda' is not one of"),
    ],
)
def test_wrong_options(options: list[str], expected: str, bad: Path, run: Run) -> None:
    result = run("lint", *options)
    assert (result.code, result.out) == (2, "")
    assert expected in result.err


def test_excluded_files_are_not_found_by_searching(bad: Path, run: Run) -> None:
    (bad.parent / "sub/other.sched").write_text("schedule a b\n")
    assert "SYN101" in told(run)
    settle('exclude = ["sub"]')
    assert "SYN101" not in told(run)
    assert "SYN101" in told(run, "sub/other.sched")
    assert "SYN101" in told(run, "--exclude", "good*")
    assert run("lint", "--exclude", "*.sched").code == 2


def test_every_search_passes_over_what_is_excluded(project: Path, run: Run) -> None:
    other = project / "sub/other.sched"
    other.write_text("schedule   a\n")
    settle('exclude = ["sub"]')
    assert vars(run("fmt", ".")) == {"code": 0, "out": "", "err": ""}
    assert other.read_text() == "schedule   a\n"
    assert run("gen", "--beside").code == 0
    assert (project / "good_scheduled.py").exists()
    assert run("fmt", "sub/other.sched").code == 0
    assert other.read_text() == "schedule a\n"


def test_a_fix_never_changes_settings(project: Path, run: Run) -> None:
    Path("empty.sched").write_text("")
    settle('sync = "explicit"\ntarget = "cudda"')
    result = run("lint", "empty.sched", "--unsafe-fixes")
    assert "this schedule is empty" in result.out
    assert "there is no target `cudda`" in result.out
    assert "fix" not in result.out
    settle('ignore = ["ODR"]')
    result = run("lint", "good.sched", "--unsafe-fixes")
    assert "did you mean `ORD`?" in result.out
    assert "fix" not in result.out


def test_a_comment_suppresses_a_finding_in_its_statement(bad: Path, run: Run) -> None:
    lines = bad.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if line.endswith("on stream1"))
    lines[place] += "  # streamsched: ignore[ORD101, MEM104, MEM105] the caller waits"
    lines[0] += "  # streamsched: ignore[ORD104] left over"
    bad.write_text("\n".join(lines) + "\n")
    assert told(run) == {"SUP101": "warning", "MEM104": "info"}
    assert told(run, "--ignore", "SUP") == {"MEM104": "info"}


def test_syntax_errors_are_told_whatever_is_said(project: Path, run: Run) -> None:
    (project / "good.sched").write_text("schedule a b  # streamsched: ignore[SYN101] why\n")
    assert told(run, "--ignore", "SYN", "--severity", "SYN101=info")["SYN101"] == "error"


def test_a_baseline_knows_findings_wherever_they_move(bad: Path, run: Run) -> None:
    written = run("lint", "--write-baseline", "known.json")
    assert (written.code, written.out) == (0, "")
    assert written.err == "4 findings are known from now on, with --baseline known.json\n"
    assert vars(run("lint", "--verbose", "--baseline", "known.json")) == {"code": 0, "out": "", "err": ""}
    bad.write_text("# more\n" * 10 + bad.read_text() + "stream idle\n")
    assert told(run, "--baseline", "known.json") == {"SYN201": "warning"}


def test_a_baseline_says_what_is_mended(bad: Path, run: Run) -> None:
    run("lint", "--write-baseline", "sub/known.json")
    result = run("lint", "--sync", "auto", "--baseline", "sub/known.json")
    assert result.code == 0
    assert "1 known finding is mended; write sub/known.json anew" in result.err
    assert run("lint", "--sync", "auto", "--baseline", "sub/known.json", "-q").err == ""


def test_what_could_not_be_checked_is_not_mended(bad: Path, run: Run) -> None:
    run("lint", "--write-baseline", "known.json")
    model = bad.parent / "model.py"
    model.write_text(model.read_text().replace("def forward", "# changed\n    def forward"))
    bad.write_text(bad.read_text() + "stream\n")
    result = run("lint", "--baseline", "known.json")
    assert result.code == 1
    assert "mended" not in result.err


def test_a_baseline_is_the_same_from_anywhere(bad: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("lint", "--write-baseline", "known.json")
    text = Path("known.json").read_text()
    assert list(json.loads(text)["findings"]) == ["good.sched"]
    monkeypatch.chdir("sub")
    run("lint", "..", "--write-baseline", "../known.json")
    assert Path("../known.json").read_text() == text
    assert run("lint", "../good.sched", "--baseline", "../known.json").code == 0


def test_no_baseline_is_made_of_what_could_not_be_checked(project: Path, run: Run) -> None:
    (project / "good.sched").write_text("schedule a b\n")
    result = run("lint", "--write-baseline", "known.json")
    assert result.code == 1
    assert "SYN101" in result.out
    why = "error: known.json is not written, since a schedule could not be checked to the end; mend the errors first\n"
    assert result.err.startswith(why)
    assert not Path("known.json").exists()


def _spoil_settings(schedule: Path) -> None:
    settle("selct = 1")


def _spoil_trace(schedule: Path) -> None:
    schedule.with_suffix(".trace.json.gz").write_bytes(b"damaged")


def _spoil_encoding(schedule: Path) -> None:
    (schedule.parent / "other.sched").write_bytes(b"\xff")


@pytest.mark.parametrize(
    ("spoil", "code"),
    [(_spoil_settings, 1), (_spoil_trace, 1), (_spoil_encoding, 2)],
    ids=["settings", "trace", "encoding"],
)
def test_a_baseline_forgets_nothing_where_something_cannot_be_checked(
    spoil: Callable[[Path], None], code: int, bad: Path, run: Run
) -> None:
    run("lint", "--write-baseline", "known.json")
    before = Path("known.json").read_bytes()
    spoil(bad)
    result = run("lint", "--write-baseline", "known.json")
    assert result.code == code
    assert "known.json is left as it is" in result.err
    assert Path("known.json").read_bytes() == before


def test_what_stops_the_check_is_told_even_if_a_baseline_knows_it(project: Path, run: Run) -> None:
    (project / "good.sched").write_text("schedule a b\n")
    found = json.loads(run("lint", "--output-format", "json").out)
    known = [{"code": each["code"], "fingerprint": each["fingerprint"]} for each in found]
    Path("known.json").write_text(json.dumps({"version": 1, "findings": {"good.sched": known}}))
    assert "SYN101" in told(run, "--baseline", "known.json")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1, "findings": {"a": 3}}', '{"version": 9, "findings": {}}']
)
def test_what_is_no_baseline(text: str, bad: Path, run: Run) -> None:
    Path("known.json").write_text(text)
    result = run("lint", "--baseline", "known.json")
    assert result.code == 2
    assert result.err.startswith("error: cannot read known.json: it is")
    assert "--write-baseline" in result.err
