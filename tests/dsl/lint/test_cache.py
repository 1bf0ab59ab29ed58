"""What lint keeps: it is used while nothing has changed, and only then."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tiny import EXAMPLES

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Related, Severity, Span
from streamsched.dsl.files import ScheduleFile, read_schedule
from streamsched.dsl.lint import cache
from streamsched.dsl.lint.cached import cached
from streamsched.dsl.lint.linted import Linted
from streamsched.dsl.lint.linting import lint
from streamsched.dsl.lint.stored import pack, unpack
from streamsched.dsl.trace import sources


class Checks:
    """`lint`, counting how often it is asked."""

    def __init__(self) -> None:
        self.number = 0

    def __call__(self, file: ScheduleFile) -> Linted:
        self.number += 1
        return lint(file)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    shutil.copytree(EXAMPLES / "multi_stream", tmp_path / "project")
    return tmp_path / "project" / "multi_stream.sched"


def twice(project: Path, checks: Checks, options: str = "") -> tuple[Linted, Linted]:
    first = cached(read_schedule(str(project)), options, checks)
    return first, cached(read_schedule(str(project)), options, checks)


def test_a_second_run_checks_nothing_and_says_the_same(project: Path) -> None:
    checks = Checks()
    first, second = twice(project, checks)
    assert checks.number == 1
    assert first.told.found and second.told == first.told


def test_findings_come_back_whole(project: Path) -> None:
    project.write_text(project.read_text().replace("->", "-> ", 1) + 'stream idle\ngroup nothing = module "x"\n')
    checks = Checks()
    first, second = twice(project, checks)
    assert checks.number == 1 and any(d.severity is Severity.ERROR for d in first.told.left)
    assert second.told == first.told


def edit_schedule(project: Path) -> None:
    project.write_text(project.read_text() + "# more\n")


def edit_model(project: Path) -> None:
    model = project.parent / "model.py"
    model.write_text(model.read_text() + "# more\n")


def remove_model(project: Path) -> None:
    (project.parent / "model.py").unlink()


def other_trace(project: Path) -> None:
    shutil.copy(EXAMPLES / "limit_cores" / "limit_cores.trace.json.gz", project.with_suffix(".trace.json.gz"))


def settings(project: Path) -> None:
    (project.parent / "pyproject.toml").write_text('[tool.streamsched]\nignore = ["MEM"]\n')


@pytest.mark.parametrize("change", [edit_schedule, edit_model, remove_model, other_trace, settings])
def test_whatever_changes_is_checked_anew(project: Path, change: object) -> None:
    assert callable(change)
    checks = Checks()
    twice(project, checks)
    change(project)
    _, after = twice(project, checks)
    assert checks.number == 2
    assert after.told == lint(read_schedule(str(project))).told


def test_other_options_streamsched_or_packages_are_checked_anew(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = Checks()
    twice(project, checks)
    twice(project, checks, "other")
    assert checks.number == 2
    with monkeypatch.context() as patch:
        patch.setattr(cache, "_program", lambda: "another release")
        twice(project, checks)
    assert checks.number == 3


def test_a_package_of_another_version_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "cache"))
    shutil.copytree(EXAMPLES / "deepseek_moe", tmp_path / "project")
    path = tmp_path / "project" / "deepseek_moe.sched"
    checks = Checks()
    _, before = twice(path, checks)
    monkeypatch.setattr(sources, "installed_version", lambda name: "0.0.1")
    cached(read_schedule(str(path)), "", checks)
    assert checks.number == 2 and before.told.left == ()


def test_a_file_of_the_device_is_looked_at(project: Path) -> None:
    ini = project.parent / "mine.ini"
    ini.write_text("[SoCInfo]\ncube_core_cnt=20\nvector_core_cnt=40\n")
    project.write_text(project.read_text() + 'device "mine.ini"\n')
    checks = Checks()
    twice(project, checks)
    ini.write_text("nothing of use\n")
    _, after = twice(project, checks)
    assert checks.number == 2
    assert any(d.severity is Severity.ERROR for d in after.told.left)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"read": [], "found": [["x"]], "left": [0], "stops": []}', "\x00"])
def test_a_damaged_entry_is_made_anew(project: Path, tmp_path: Path, damage: str) -> None:
    checks = Checks()
    twice(project, checks)
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_text(damage)
    first, second = twice(project, checks)
    assert checks.number == 2 and first.told == second.told


def test_a_folder_that_cannot_be_written_is_no_fault(project: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    checks = Checks()
    first, second = twice(project, checks)
    assert checks.number == 2 and first.told == second.told


def test_nothing_is_kept_without_a_saved_trace(project: Path, tmp_path: Path) -> None:
    project.with_suffix(".trace.json.gz").unlink()
    assert cache.key_of(read_schedule(str(project)), "") == ""


def test_the_folder_does_not_grow_for_ever(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "ENTRIES", 4)
    checks = Checks()
    for number in range(9):
        cached(read_schedule(str(project)), str(number), checks)
    assert len(list((tmp_path / "cache").iterdir())) <= 4


def test_every_part_of_a_finding_is_kept() -> None:
    span = Span("a.sched", 1, 2, 3, 4)
    fix = Fix("mend it", (Edit(span, "x"), Edit(span.end, "y")), safe=True)
    whole = Diagnostic("ORD101", "missing-edge", Severity.WARNING, "m", span, (Related(span, "r"),), ("n",), "h", fix)
    assert unpack(pack(whole)) == whole
    assert unpack(pack(Diagnostic("ORD101", "a", Severity.INFO, "m", span))).fix is None


@pytest.mark.parametrize("part", range(9))
def test_an_entry_of_other_types_is_none(part: int) -> None:
    span = Span("a.sched", 1, 2, 3, 4)
    packed = pack(Diagnostic("ORD101", "a", Severity.INFO, "m", span, (Related(span, "r"),), ("n",), "h"))
    packed[part] = 7
    with pytest.raises((TypeError, ValueError)):
        unpack(packed)
