"""Names of files that are no text, or that a terminal would act on: told escaped, in every format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from streamsched.dsl.report.formats import FORMATS

ODD = {b"b\xff": "b\\udcff", b"e\x1b[31m": "e\\x1b[31m", b"n\nl": "n\\nl"}
PARSERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "sarif": json.loads,
    "gitlab": json.loads,
    "junit": ElementTree.fromstring,
}


@pytest.fixture
def odd(project: Path) -> Path:
    """A folder with schedules of odd names, each with a warning, and one of each that cannot be read."""
    folder = os.fsencode(project) + b"/odd/"
    os.mkdir(folder)
    schedule = (project / "good.sched").read_bytes() + b"stream spare\n"
    try:
        for name in ODD:
            for end, data in (
                (b".sched", schedule),
                (b".trace.json.gz", (project / "good.trace.json.gz").read_bytes()),
                (b"-bad.sched", b"\xff"),
            ):
                with open(folder + name + end, "wb") as file:
                    file.write(data)
    except OSError:
        pytest.skip("a file system that takes no such names")
    (project / "odd" / "model.py").write_bytes((project / "model.py").read_bytes())
    return project


@pytest.mark.parametrize("output", ["-", "report.txt"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_tells_of_them(form: str, output: str, odd: Path, run: Callable[..., Any]) -> None:
    result = run("lint", "odd", "--output-format", form, "-o", output)
    assert result.code == 2
    report = result.out if output == "-" else (odd / output).read_text(encoding="utf-8")
    assert report.count("SYN201") >= 3
    assert "\x1b" not in report + result.err
    PARSERS.get(form, str)(report)
    for name in ODD.values():
        assert f"cannot read odd/{name}-bad.sched" in result.err
        assert form not in ("text", "concise") or f"odd/{name}.sched:13:8" in report


def test_a_baseline_knows_them(odd: Path, run: Callable[..., Any]) -> None:
    names = [os.fsdecode(b"odd/" + name + b".sched") for name in ODD]
    assert run("lint", *names).code == 1
    run("lint", *names, "--write-baseline", "known.json")
    result = run("lint", *names, "--baseline", "known.json")
    assert (result.code, result.out, result.err) == (0, "", "")
