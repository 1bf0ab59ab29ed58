"""`[tool.streamsched]`: which file counts, what it says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamsched.dsl.config.config import Config
from streamsched.dsl.config.find import find_config, settings_text
from streamsched.dsl.config.read import read_config
from streamsched.dsl.diagnostic import Diagnostic, Severity, Span
from streamsched.dsl.rules import ALL
from streamsched.dsl.syntax.tree import DeviceStatement, SyncStatement, TargetStatement

TABLE = "[tool.streamsched]\n"


def read(text: str) -> tuple[Config, tuple[Diagnostic, ...]]:
    found = read_config(text, "pyproject.toml", ALL.keys)
    assert found is not None
    return found


def marked(text: str) -> list[tuple[str, str, str | None]]:
    """What is wrong with a file: the code, the text that it points at, and the advice."""
    lines = text.split("\n")
    result = []
    for d in read(text)[1]:
        assert d.span.line == d.span.end_line
        result.append((d.code, lines[d.span.line - 1][d.span.column - 1 : d.span.end_column - 1], d.help))
    return result


def test_every_setting() -> None:
    config, wrong = read(
        TABLE
        + 'select = ["ORD", "MEM1"]\nignore = ["ORD104"]\nexclude = ["build"]\ndevice = "ascend910b3"\n'
        + 'target = "cuda"\nsync = "auto"\nseverity = { MEM105 = "error" }\n'
        + '[tool.streamsched.per-file-ignores]\n"old/*.sched" = ["SEL"]\n'
    )
    assert wrong == ()
    assert (config.select, config.ignore, config.exclude) == (("ORD", "MEM1"), ("ORD104",), ("build",))
    assert config.per_file_ignores == (("old/*.sched", ("SEL",)),)
    assert config.severity == (("MEM105", Severity.ERROR),)
    target, device, sync = config.preset
    assert isinstance(target, TargetStatement)
    assert isinstance(device, DeviceStatement)
    assert isinstance(sync, SyncStatement)
    assert (target.name.text, device.name.text, sync.mode) == ("cuda", "ascend910b3", "auto")
    assert (target.span.line, target.span.column, target.span.end_column) == (6, 11, 15)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('ingore = ["ORD104"]', ("CFG101", "ingore", "did you mean `ignore`?")),
        ('"per-file-ignore" = {}', ("CFG101", '"per-file-ignore"', "did you mean `per-file-ignores`?")),
        ('ignore = ["ORD104", "ODR"]', ("CFG102", "ODR", "did you mean `ORD`?")),
        ('ignore = ["missing-edge"]', ("CFG102", "missing-edge", "`streamsched explain` lists them all")),
        ('ignore = ["O"]', ("CFG102", "O", "`streamsched explain` lists them all")),
        ('severity = { ODR104 = "info" }', ("CFG102", "ODR104", "did you mean `ORD104`?")),
        ('[tool.streamsched.severity]\nODR104 = "info"', ("CFG102", "ODR104", "did you mean `ORD104`?")),
        ('per-file-ignores = { "a*" = ["MEM999"] }', ("CFG102", "MEM999", "did you mean `MEM`?")),
        ('ignore = "ORD104"', ("CFG103", "ignore", None)),
        ("ignore = [104]", ("CFG103", "ignore", None)),
        ('severity = { ORD104 = "fatal" }', ("CFG103", "ORD104", None)),
        ('severity = "error"', ("CFG103", "severity", None)),
        ('sync = "sometimes"', ("CFG103", "sync", None)),
        ('target = "two words"', ("CFG103", "target", None)),
        ("device = 910", ("CFG103", "device", None)),
    ],
)
def test_what_is_wrong_is_pointed_at(text: str, expected: tuple[str, str, str | None]) -> None:
    ((code, place, advice),) = marked(TABLE + text)
    assert (code, place) == expected[:2]
    if expected[2] is not None and code != "CFG102":
        assert advice == expected[2]
    elif code == "CFG102":
        assert (advice or "").startswith(
            "did you mean" if expected[2] != "`streamsched explain` lists them all" else "`"
        )


def test_a_key_elsewhere_is_not_pointed_at() -> None:
    text = f'[tool.other]\nignore = "x"\n{TABLE}# ignore = 3\nignore = "ORD104"\n'
    (wrong,) = read(text)[1]
    assert wrong.span.line == 5 or text.split("\n")[wrong.span.line - 1].startswith("# ignore")


def test_no_toml() -> None:
    config, (wrong,) = read(f"{TABLE}ignore = [\n")
    assert (wrong.code, config) == ("CFG103", Config())
    _, (wrong,) = read(f"{TABLE}ignore == 3\n")
    assert (wrong.span.line, wrong.span.column) == (2, 9)


def test_no_table() -> None:
    assert read_config('name = "tool.streamsched"\n', "pyproject.toml", ALL.keys) is None
    assert [d.code for d in read("tool.streamsched = 3\n")[1]] == ["CFG103"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[tool]\nstreamsched = 3\n", (2, 1)),
        ("tool = {streamsched = {selct = 1}}\n", (1, 24)),
        ('["tool"."streamsched"]\nselct = 1\n', (2, 1)),
        ("[ tool . streamsched ]\nselct = 1\n", (2, 1)),
        ("[tool]\nstreamsched.selct = 1\n", (2, 13)),
        ("[project]\nname = 'streamsched.x'\n[tool]\nstreamsched . selct = 1\n", (4, 15)),
        ("tool.streamsched.sync = 'auto'\ntool.streamsched.selct = 1\n", (2, 18)),
        ("[tool]\nstreamsched.selct = 1\n[tool.streamsched.severity]\n", (2, 13)),
    ],
)
def test_settings_are_found_however_they_are_spelled(text: str, place: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    (wrong,) = find_config(str(tmp_path), ALL.keys)[1]
    assert wrong.code in ("CFG101", "CFG103")
    assert (wrong.span.line, wrong.span.column) == place


@pytest.mark.parametrize("name", ["streamsched==0.1", "streamsched>=0.1", "streamsched[npu]", "my-streamsched"])
def test_a_requirement_is_no_setting(name: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.x]\nrequires = ["{name}"]\n')
    assert settings_text(str(tmp_path)) == ""


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"[tool.streamsched]\n# caf\xe9\n", 2), (b"\xff\xfe[\0t\0o\0", 1), (b"\x80\x81\x82", 1)],
    ids=["Latin-1", "UTF-16", "binary"],
)
def test_a_file_that_cannot_be_read_is_told(data: bytes, line: int, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(data)
    config, (wrong,) = find_config(str(tmp_path), ALL.keys)
    assert (config, wrong.code, wrong.span.line) == (Config(), "CFG103", line)
    assert "it is not UTF-8 text" in wrong.message


def test_a_link_that_leads_nowhere_is_told_and_a_folder_is_not(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").symlink_to("pyproject.toml")
    assert [wrong.code for wrong in find_config(str(tmp_path), ALL.keys)[1]] == ["CFG103"]
    (tmp_path / "pyproject.toml").unlink()
    (tmp_path / "pyproject.toml").mkdir()
    assert find_config(str(tmp_path), ALL.keys) == (Config(), ())


def test_the_nearest_file_with_a_table_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(f'{TABLE}ignore = ["ORD"]\n')
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert find_config("a/b", ALL.keys)[0].ignore == ("ORD",)
    (tmp_path / "a/pyproject.toml").write_text(f'{TABLE}ignore = ["MEM"]\n')
    assert find_config("a/b", ALL.keys)[0].ignore == ("MEM",)
    assert find_config("a/b", ALL.keys)[0].root == "a"
    assert find_config("", ALL.keys)[0].ignore == ("ORD",)


@pytest.mark.parametrize(
    "header", ["[tool.streamsched", '["tool".streamsched', "[tool . 'streamsched'", "[ tool.streamsched #]"]
)
def test_a_table_that_is_not_closed_is_told(header: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "x"\n{header}\nselect = ["PRF"]\n')
    _, (wrong,) = find_config(str(tmp_path), ALL.keys)
    assert (wrong.code, wrong.span.line) == ("CFG103", 3)


@pytest.mark.parametrize("text", ['dependencies = ["streamsched>=1"', "[tool.streamsched-x", "# streamsched [tool]\n["])
def test_a_broken_file_that_holds_no_settings_is_not_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.x]\n{text}\n")
    assert find_config(str(tmp_path), ALL.keys) == (Config(), ())


@pytest.mark.parametrize(
    ("select", "ignore", "told"),
    [
        (["ALL"], [], True),
        (["ALL"], ["ALL"], False),
        (["ORD"], [], True),
        (["MEM"], [], False),
        (["ORD"], ["ORD104"], False),
        (["ORD104"], ["ORD"], True),
        (["ORD1"], ["ORD"], True),
        (["ORD104"], ["ORD104"], False),
        (["ORD101"], ["MEM"], False),
    ],
)
def test_the_longer_selector_has_the_last_word(select: list[str], ignore: list[str], told: bool) -> None:
    assert Config(select=tuple(select), ignore=tuple(ignore)).selects("ORD104", "a.sched") is told


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.sched", "a/b.sched", True),
        ("b.sched", "a/b.sched", True),
        ("old", "old/a/b.sched", True),
        ("old/", "old/a/b.sched", True),
        ("old/*", "old/a/b.sched", True),
        ("old/*.sched", "old/a/b.sched", True),
        ("a/*.sched", "old/a/b.sched", False),
        ("ol", "old/b.sched", False),
    ],
)
def test_globs(glob: str, path: str, matches: bool) -> None:
    config = Config("root", exclude=(glob,), per_file_ignores=((glob, ("ORD",)),))
    assert config.excludes(f"root/{path}") is matches
    assert config.selects("ORD104", f"root/{path}") is not matches
    assert config.selects("MEM104", f"root/{path}")


def test_the_longer_selector_decides_on_severity() -> None:
    found = Diagnostic("ORD104", "redundant-edge", Severity.INFO, "x", Span("a.sched", 1, 1, 1, 1))
    config = Config(severity=(("ORD104", Severity.ERROR), ("ORD", Severity.WARNING)))
    assert config.graded(found).severity is Severity.ERROR
    assert Config(severity=(("", Severity.WARNING),)).graded(found).severity is Severity.WARNING
    assert Config(severity=(("MEM", Severity.ERROR),)).graded(found) is found


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
@pytest.mark.parametrize("setting", ["sync = {}", "severity = {{ ORD104 = {} }}", "select = {}", "target = {}"])
def test_numbers_of_any_length(setting: str, number: str) -> None:
    assert [d.code for d in read(f"{TABLE}{setting.format(number)}\n")[1]] == ["CFG103"]
