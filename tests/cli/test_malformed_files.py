"""Malformed schedules, traces and models: each gets a diagnostic or a message, and an exit code."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

GOOD = (Path(__file__).parents[2] / "examples" / "multi_stream" / "multi_stream.sched").read_text()
MODEL = 'schedule a\nmodel "{}"\ninput x: f16[2, 2]\nstream s\nop "mm" on s\n'


@dataclass(frozen=True)
class Schedule:
    """The bytes of a schedule, how `lint` ends, and words that it prints."""

    name: str
    content: bytes
    code: int
    words: str


SCHEDULES = [
    Schedule("carriage returns", GOOD.replace("\n", "\r\n").encode(), 0, ""),
    Schedule("byte order mark", b"\xef\xbb\xbf" + GOOD.encode(), 0, ""),
    Schedule("tabs", GOOD.replace(" ", "\t").encode(), 0, ""),
    Schedule("empty", b"", 1, "SYN"),
    Schedule("blank", b" \n\t\n\n", 1, "SYN"),
    Schedule("comment only", b"# nothing yet", 1, "SYN"),
    Schedule("not UTF-8", b"schedule caf\xe9\n", 2, "error: cannot read bad.sched: it is not UTF-8 text"),
    Schedule("UTF-16", GOOD.encode("utf-16"), 2, "error: cannot read bad.sched: it is not UTF-8 text"),
    Schedule("NUL", b"schedule a\n\0\n", 1, "bad.sched:2:1"),
    Schedule("binary", bytes(range(256)) * 64, 2, "error: cannot read bad.sched"),
    Schedule("nonsense in one line", b"qwerty" * 170_000, 1, "SYN101"),
    Schedule("nonsense in many lines", b"foo $ bar\n" * 100_000, 1, "more errors follow"),
    Schedule("nested parentheses", GOOD.encode() + b"group g = " + b"(" * 5000 + b'op "mm"' + b")" * 5000, 1, "SYN101"),
    Schedule("unclosed parentheses", GOOD.encode() + b"group g = " + b"(" * 5000, 1, "SYN101"),
    Schedule("unclosed string", GOOD.encode() + b'group g = op "mm\n', 1, "SYN101"),
    Schedule("smart quotes", GOOD.encode() + "group g = op “mm”\n".encode(), 1, "SYN101"),
    Schedule("control characters", GOOD.encode() + b"group \x1b[31m = op\n", 1, "SYN101"),
    Schedule("no model", b"schedule a\n", 1, "model"),
    Schedule("not supported yet", GOOD.encode() + b'group g = op "mm"\ncost g = 1us\n', 1, "not supported yet"),
    Schedule("a file without end of line", GOOD.rstrip("\n").encode(), 0, ""),
    Schedule("model file missing", MODEL.format("gone.py:build").encode(), 1, "TRC101"),
    Schedule("attribute missing", MODEL.format("model.py:biuld").encode(), 1, "TRC101"),
    Schedule("model is a folder", MODEL.format("sub:build").encode(), 1, "TRC101"),
]


@pytest.mark.parametrize("case", SCHEDULES, ids=lambda case: case.name)
def test_malformed_schedule(case: Schedule, project: Path, run: Callable[..., Any]) -> None:
    (project / "bad.sched").write_bytes(case.content)
    (project / "good.trace.json.gz").rename(project / "bad.trace.json.gz")
    if case.words == "TRC101":
        (project / "bad.trace.json.gz").unlink()
    result = run("lint", "bad.sched")
    assert (result.code, case.words in result.out + result.err) == (case.code, True), result
    if case.code == 0:
        assert "error" not in result.out + result.err
    assert len(result.out) < 100_000


@pytest.mark.parametrize("case", [s for s in SCHEDULES if s.words == "SYN101"], ids=lambda case: case.name)
def test_fmt_leaves_a_file_with_syntax_errors_alone(case: Schedule, project: Path, run: Callable[..., Any]) -> None:
    path = project / "bad.sched"
    path.write_bytes(case.content)
    result = run("fmt", "bad.sched")
    assert (result.code, result.out) == (1, "")
    assert "SYN101" in result.err
    assert path.read_bytes() == case.content


MODELS = {
    "raises": ("raise RuntimeError('no licence')\n", "TRC102", "no licence"),
    "exits": ("import sys\nsys.exit(0)\n", "TRC103", ""),
    "does not parse": ("def build(:\n", "TRC102", ""),
    "lacks a package": ("import no_such_package\n", "TRC102", "no_such_package"),
    "builds no module": ("def build():\n    return 3\n", "TRC104", ""),
}


@pytest.mark.parametrize(("source", "code", "words"), MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("verb", ["lint", "trace"])
def test_malformed_model(verb: str, source: str, code: str, words: str, project: Path, run: Callable[..., Any]) -> None:
    (project / "broken.py").write_text(source)
    (project / "bad.sched").write_text(MODEL.format("broken.py:build"))
    result = run(verb, "bad.sched")
    shown = result.out if verb == "lint" else result.err
    assert result.code == 1
    assert f"error[{code}]" in shown
    assert words in shown
    assert not (project / "bad.trace.json.gz").exists()


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _other_version(content: bytes) -> bytes:
    """The trace as a future release would write it, whatever the key of the format's number."""
    data = json.loads(gzip.decompress(content))
    key = next(key for key, value in data.items() if key in ("format", "version") and isinstance(value, int))
    return gzip.compress(json.dumps({**data, key: data[key] + 1}).encode())


TRACES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda content: b"", "TRC111"),
    "not compressed": (lambda content: gzip.decompress(content), "TRC111"),
    "cut off": (_truncated, "TRC111"),
    "not JSON": (lambda content: gzip.compress(b"\x00\xff"), "TRC111"),
    "JSON of something else": (lambda content: gzip.compress(b"[1, 2]"), "TRC111"),
    "another version": (_other_version, "TRC112"),
}


@pytest.mark.parametrize(("spoil", "code"), TRACES.values(), ids=TRACES)
def test_malformed_trace(spoil: Callable[[bytes], bytes], code: str, project: Path, run: Callable[..., Any]) -> None:
    path = project / "good.trace.json.gz"
    path.write_bytes(spoil(path.read_bytes()))
    result = run("lint", "good.sched")
    assert result.code == 1
    assert f"error[{code}]" in result.out
    assert "`streamsched trace" in result.out


def test_a_folder_for_a_trace(project: Path, run: Callable[..., Any]) -> None:
    (project / "good.trace.json.gz").unlink()
    (project / "good.trace.json.gz").mkdir()
    assert "error[TRC111]" in run("lint", "good.sched").out


def test_a_changed_model_makes_the_trace_stale(project: Path, run: Callable[..., Any]) -> None:
    with (project / "model.py").open("a") as file:
        file.write("\n# changed\n")
    for verb, code in (("lint", 1), ("gen", 1), ("show", 1)):
        result = run(verb, "good.sched")
        assert result.code == code
        assert "error[SEL105]" in result.out + result.err
        assert "`streamsched trace" in result.out + result.err
