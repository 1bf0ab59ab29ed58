"""`lint --fix`, `--unsafe-fixes` and `--diff`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.dsl.lint.mend import applied
from streamsched.dsl.syntax.parser import parse

Run = Callable[..., Any]


@pytest.fixture
def bad(project: Path) -> Path:
    """The schedule without its edges, with comments and its own spacing."""
    path = project / "good.sched"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("# a word\n" + "".join(line for line in lines if "->" not in line) + "\n\n  # the end\n")
    return path


def test_safe_fixes_are_applied_until_nothing_is_left(bad: Path, run: Run) -> None:
    before = bad.read_text()
    result = run("lint", "--fix")
    assert (result.code, result.out, result.err) == (0, "", "1 fixed\n")
    after = bad.read_text()
    assert after.startswith(before)
    assert "->" in after.removeprefix(before)
    assert vars(run("lint", "--fix")) == {"code": 0, "out": "", "err": ""}
    assert bad.read_text() == after


def test_several_edges_are_added_one_by_one(project: Path, run: Run) -> None:
    path = project / "good.sched"
    text = "".join(line for line in path.read_text().splitlines(keepends=True) if "->" not in line)
    path.write_text(text.replace("sync auto\n", ""))
    assert run("lint", "--fix", "--unsafe-fixes").code == 0
    assert run("lint").code == 0


def test_a_fix_may_call_for_another(project: Path, run: Run) -> None:
    path = project / "good.sched"
    text = path.read_text()
    path.write_text(text + "group unused = value “B”\n")
    result = run("lint", "--unsafe-fixes")
    assert (result.code, result.err) == (0, "2 fixed\n")
    assert path.read_text() == text


def test_unsafe_fixes_are_asked_for(project: Path, run: Run) -> None:
    path = project / "good.sched"
    text = path.read_text()
    path.write_text(text + "stream idle\n")
    result = run("lint", "--fix")
    assert result.code == 1
    assert path.read_text() == text + "stream idle\n"
    assert run("lint", "--unsafe-fixes").code == 0
    assert path.read_text() == text


def test_what_is_ignored_is_not_fixed(bad: Path, run: Run) -> None:
    before = bad.read_text()
    assert run("lint", "--fix", "--ignore", "ORD101").err == ""
    assert bad.read_text() == before


def test_diff_writes_nothing(bad: Path, run: Run) -> None:
    before = bad.read_text()
    result = run("lint", "--diff")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith("--- good.sched\n+++ good.sched\n")
    assert [line for line in result.out.splitlines()[2:] if line.startswith("+")]
    assert bad.read_text() == before
    run("lint", "--fix")
    assert vars(run("lint", "--diff")) == {"code": 0, "out": "", "err": ""}


def test_line_ends_and_links_survive(bad: Path, run: Run) -> None:
    bad.write_bytes(bad.read_text().replace("\n", "\r\n").encode())
    os.rename("good.sched", "real.sched")
    os.symlink("real.sched", "good.sched")
    assert run("lint", "good.sched", "--fix").code == 0
    data = Path("real.sched").read_bytes()
    assert Path("good.sched").is_symlink()
    assert data.count(b"\n") == data.count(b"\r\n")
    assert b"->" in data


def test_standard_input_is_fixed_to_stdout(run: Run, project: Path) -> None:
    result = run(
        "lint", "-", "--fix", stdin=b"schedule a\nmodel \xe2\x80\x9cmodel.py:build\xe2\x80\x9d\nstream s\nx -> y\n"
    )
    assert result.code == 1
    assert result.out == 'schedule a\nmodel "model.py:build"\nstream s\nx -> y\n'
    assert "SYN" in result.err


def test_what_a_baseline_knows_is_not_fixed(bad: Path, run: Run) -> None:
    run("lint", "--write-baseline", "known.json")
    before = bad.read_text()
    assert run("lint", "--unsafe-fixes", "--baseline", "known.json").code == 0
    assert vars(run("lint", "--diff", "--baseline", "known.json")) == {"code": 0, "out": "", "err": ""}
    assert bad.read_text() == before
    bad.write_text(before + "stream idle\n")
    assert "1 fixed" in run("lint", "--unsafe-fixes", "--baseline", "known.json").err
    assert bad.read_text() == before


def test_remarks_are_fixed_where_they_are_shown(project: Path, run: Run) -> None:
    path = project / "good.sched"
    text = path.read_text()
    path.write_text(text + 'value "B" -> value "add2"\n')
    assert vars(run("lint", "--fix")) == {"code": 0, "out": "", "err": ""}
    assert run("lint", "--diff").code == 0
    assert run("lint", "--diff", "--verbose").code == 1
    assert run("lint", "--diff", "--verbose", "--exit-zero").code == 0
    assert "1 fixed" in run("lint", "--fix", "--verbose").err
    assert path.read_text() == text


def test_nothing_is_fixed_under_wrong_settings(bad: Path, run: Run) -> None:
    Path("pyproject.toml").write_text("[tool.streamsched]\nselct = 1\n")
    bad.write_text(bad.read_text() + "stream idle\n")
    before = bad.read_text()
    for option in ("--unsafe-fixes", "--diff"):
        result = run("lint", option)
        assert (result.code, bad.read_text()) == (1, before)
        assert "CFG101" in (result.err if option == "--diff" else result.out)
        assert "fixed" not in result.err
    assert run("lint", "-", "--fix", stdin=before.encode()).out == before


def test_one_file_that_cannot_be_written_keeps_no_other(bad: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bad.read_text()
    for name in ("a", "z"):
        (bad.parent / f"{name}.sched").write_text(before)
        shutil.copy("good.trace.json.gz", f"{name}.trace.json.gz")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != "good.sched" and access(path, mode))
    result = run("lint", "--fix")
    assert result.code == 2
    assert result.err == "error: cannot write good.sched: it is read-only\n2 fixed\n1 error\n"
    assert "good.sched:" in result.out
    assert bad.read_text() == before
    for name in ("a.sched", "z.sched"):
        assert "->" in Path(name).read_text()
        Path(name).write_text("schedule   a\n")
    bad.write_text("schedule   a\n")
    result = run("fmt")
    assert (result.code, result.err) == (2, "error: cannot write good.sched: it is read-only\n")
    assert [Path(name).read_text() for name in ("a.sched", "z.sched")] == ["schedule a\n"] * 2


def test_a_file_that_cannot_be_written(bad: Path, run: Run) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write everything")
    bad.chmod(0o444)
    result = run("lint", "--fix")
    assert result.code == 2
    assert "read-only" in result.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("stream a,   # of a\n    b  # of b\n", "stream a  # of a\n"),
        ("stream b,   # of b\n    a  # of a\n", "stream a  # of a\n"),
        ("stream b,\n    # of a\n    a\n", "# of a\nstream a\n"),
        ("stream a, b,  # of both\n    c\n", "stream a, # of both\n    c\n"),
        ("stream a, b  # of both\n", "stream a  # of both\n"),
        ("stream b, a  # of both\n", "stream a  # of both\n"),
        ("stream a,\n    # of b\n    b\n", "stream a\n"),
    ],
)
def test_the_comment_of_a_stream_that_stays_stays(before: str, after: str) -> None:
    text = f'schedule x\nmodel "m.py:M"\n{before}group g = module "m"\ng on a\n' + "g on c\n" * (", b," in before)
    (found,) = parse(text, "x.sched").diagnostics
    assert (found.code, found.fix is not None) == ("SYN201", True)
    assert found.fix is not None
    fixed = applied(text, found.fix.edits)
    assert fixed == text.replace(before, after)
    assert parse(fixed, "x.sched").diagnostics == ()


def test_a_schedule_moves_with_its_comment() -> None:
    text = '# head\nmodel "m.py:M"  # a model\nschedule x  # why so\nsync auto\n'
    (found,) = parse(text, "x.sched").diagnostics
    assert found.fix is not None
    fixed = applied(text, found.fix.edits)
    assert fixed == '# head\nschedule x  # why so\nmodel "m.py:M"  # a model\nsync auto\n'


def test_a_byte_order_mark_stays(bad: Path, run: Run) -> None:
    bad.write_bytes(b"\xef\xbb\xbf" + bad.read_bytes())
    assert "1 fixed" in run("lint", "--fix").err
    assert bad.read_bytes().startswith(b"\xef\xbb\xbf# a word")
    bad.write_text("\ufeffschedule   a\n")
    assert run("fmt").code == 0
    assert bad.read_bytes() == b"\xef\xbb\xbfschedule a\n"
