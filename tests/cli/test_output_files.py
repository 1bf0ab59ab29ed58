from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from streamsched.cli.console import Failure
from streamsched.cli.files import check_output, find_schedules, replace_file, write_text


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("b.sched", "a.sched", "sub/c.sched", "sub/deep/d.sched", ".hidden/e.sched", "sub/readme.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("schedule a\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folders_are_searched_in_a_fixed_order(tree: Path) -> None:
    assert find_schedules([])[0] == ["a.sched", "b.sched", "sub/c.sched", "sub/deep/d.sched"]
    assert find_schedules(["sub", "b.sched"])[0] == ["sub/c.sched", "sub/deep/d.sched", "b.sched"]


def test_a_file_named_twice_is_done_once(tree: Path) -> None:
    assert find_schedules(["sub/../a.sched", "a.sched", str(tree)])[0] == [
        "sub/../a.sched",
        *(str(tree / name) for name in ("b.sched", "sub/c.sched", "sub/deep/d.sched")),
    ]


def test_a_file_is_taken_whatever_its_name(tree: Path) -> None:
    assert find_schedules(["sub/readme.md", ".hidden/e.sched", "-"])[0] == ["sub/readme.md", ".hidden/e.sched", "-"]


def test_nothing_to_do_is_said(tree: Path) -> None:
    (tree / "empty").mkdir()
    with pytest.raises(Failure, match=r"no \.sched files under empty"):
        find_schedules(["empty"])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.py"
    path.write_text("old")

    def fail(beside: str) -> None:
        Path(beside).write_text("half")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        replace_file(str(path), fail)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["out.py"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.py"
    path.write_text("old")
    os.link(path, tmp_path / "reader")  # as one who opened the old file sees it
    write_text(str(path), "new")
    assert path.read_text() == "new"
    assert (tmp_path / "reader").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out.py", "reader"]


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.py"
    path.write_text("old")
    path.chmod(0o640)
    write_text(str(path), "new\n")
    assert path.read_text() == "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    write_text(str(tmp_path / "out.py"), "new\n")
    assert (tmp_path / "out.py").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("old")
    (tmp_path / "link.py").symlink_to("real.py")
    write_text(str(tmp_path / "link.py"), "new")
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "new"


def test_a_device_is_written_itself() -> None:
    write_text(os.devnull, "text")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing/out.py", "cannot write missing/out.py: there is no folder missing"),
        ("sub", "cannot write sub: it is a folder; name a file in it"),
        ("a.sched/out.py", "cannot write a.sched/out.py: there is no folder a.sched"),
        ("n" * 300, f"cannot write {'n' * 300}: file name too long"),
    ],
    ids=["missing folder", "folder", "a file for a folder", "long name"],
)
def test_a_place_that_cannot_be_written_is_said(tree: Path, path: str, message: str) -> None:
    with pytest.raises(Failure) as caught:
        write_text(path, "text")
    assert caught.value.message == message


def test_what_cannot_be_written_is_said_before_the_work(tree: Path) -> None:
    with pytest.raises(Failure, match="there is no folder missing"):
        check_output("a.sched", "missing/out.py")
    check_output("a.sched", "-")


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.py"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write everything
    with pytest.raises(Failure, match="it is read-only"):
        write_text(str(path), "new")
    assert path.read_text() == "old"


def test_a_result_never_overwrites_its_schedule(tree: Path) -> None:
    (tree / "link.sched").symlink_to("a.sched")
    for output in ("a.sched", "sub/../a.sched", "link.sched"):
        with pytest.raises(Failure, match="is the schedule itself"):
            check_output("a.sched", output)
    check_output("a.sched", "b.sched")
