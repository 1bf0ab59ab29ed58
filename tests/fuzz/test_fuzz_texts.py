"""Schedules that are nearly right: told what is wrong with them, printed alike, and never a traceback."""

from __future__ import annotations

from dataclasses import replace

from damage import as_read, texts
from fuzzing import fuzz
from hypothesis import strategies as st
from tiny import EXAMPLES

from streamsched.codegen.emitter import generate
from streamsched.dsl.files import ScheduleFile, read_schedule
from streamsched.dsl.lint.fixing import fixed
from streamsched.dsl.lint.linting import lint
from streamsched.dsl.pipeline import load_file
from streamsched.dsl.report.formats import FORMATS, renderer
from streamsched.dsl.report.report import Report
from streamsched.dsl.rules import find
from streamsched.dsl.syntax.formatter import format_schedule
from streamsched.dsl.syntax.parser import parse

FILES = [read_schedule(str(path)) for path in sorted(EXAMPLES.glob("*/*.sched"))]


def test_texts_are_parsed_and_formatted() -> None:
    def check(text: str) -> None:
        parsed = parse(text, "f")
        for finding in parsed.diagnostics:
            assert finding.span.file == "f" and finding.span.end <= parsed.schedule.span.end
        once = format_schedule(parsed.schedule)
        again = parse(once, "f")
        assert again.schedule == parsed.schedule
        assert [c.text for c in again.schedule.comments] == [c.text for c in parsed.schedule.comments]
        assert format_schedule(again.schedule) == once

    fuzz("text", check, texts([file.text for file in FILES]), examples=600)


def test_texts_are_linted_and_fixed() -> None:
    """Over the trace of the right schedule; what is found is reported, what has no error is generated from."""

    def check(file: ScheduleFile) -> None:
        linted = fixed(file, lint, unsafe=True)
        assert parse(linted.file.text, "f").complete >= parse(file.text, "f").complete
        told = linted.told
        report = Report(told.left, lambda _: linted.file.text, (file.path,), find, told.found)
        for name in FORMATS:
            renderer(name)(report).encode()
        loaded = load_file(file)
        if loaded.program is not None and not loaded.failed:
            generate(loaded.program, loaded.program.target)

    each = [st.builds(replace, st.just(file), text=texts([file.text]).map(as_read)) for file in FILES]
    fuzz("linted", check, st.one_of(each), examples=200)
