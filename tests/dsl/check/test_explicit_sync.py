"""`sync explicit` from text to findings: where they point, what they say, and that their fixes mend them."""

from __future__ import annotations

from plans import HEAD, program_of
from random_cases import RandomTraceBuilder
from traces import TraceBuilder

from streamsched.dsl.check.registry import check
from streamsched.dsl.diagnostic import Diagnostic, Severity, apply_edits
from streamsched.dsl.trace.model import Trace


def found_in(text: str, trace: Trace, code: str) -> list[Diagnostic]:
    return [d for d in check(program_of(text, trace, "npu")) if d.code == code]


def place(text: str, diagnostic: Diagnostic) -> str:
    """The text under a finding's primary span."""
    span = diagnostic.span
    assert span.line == span.end_line
    return (HEAD + text).splitlines()[span.line - 1][span.column - 1 : span.end_column - 1]


def mended(text: str, trace: Trace, *diagnostics: Diagnostic) -> str:
    """The text with the fixes applied, in which nothing is wrong any more; what was added."""
    fixes = dict.fromkeys(d.fix for d in diagnostics)
    edits = tuple(edit for fix in fixes if fix for edit in fix.edits)
    fixed = apply_edits(HEAD + text, edits)
    left = check(program_of(fixed.removeprefix(HEAD), trace, "npu"))
    assert [d for d in left if d.severity is Severity.ERROR] == []
    return fixed.removeprefix(HEAD + text)


def model() -> TraceBuilder:
    t = TraceBuilder()
    t.input("x")
    t.kernel("a", "x")
    t.kernel("b", "a")
    return t


def test_raw() -> None:
    text = 'stream s\nvalue "b" on s\n'
    t = model()
    t.kernel("c", "x")
    trace = t.build("c")
    [found] = found_in(text, trace, "ORD101")
    assert found.message == "`b` on `s` reads `a` that `a` on `default` writes, and nothing orders them (RAW)"
    assert place(text, found) == 'value "b" on s'
    assert [(str(r.span), r.message.split(" must ")[0]) for r in found.related] == [
        ("model.py:10:9", "`a` on `default`"),
        ("model.py:11:9", "`b` on `s`"),
    ]
    assert mended(text, trace, found) == 'group a = value "a"\na -> value "b"\n'


def test_war_in_place() -> None:
    text = 'stream s\ngroup reader = value "b"\nreader on s\nvalue "a"[0] -> reader\n'
    t = model()
    t.kernel("changed", inplace="a")
    trace = t.build("changed")
    [found] = found_in(text, trace, "ORD101")
    assert found.message == "`changed` on `default` writes `a` that `b` on `s` reads, and nothing orders them (WAR)"
    assert place(text, found) == "reader on s"
    assert mended(text, trace, found) == 'group changed = value "changed"\nreader -> changed\n'


def test_waw_of_two_writers() -> None:
    text = 'stream s\ngroup second = value "two"\nsecond on s\nvalue "buf"[0] -> second\n'
    t = RandomTraceBuilder()
    t.empty("buf")
    t.fill("one", "buf")
    t.fill("two", "buf")
    trace = t.build("two")
    [found] = found_in(text, trace, "ORD101")
    assert (
        found.message == "`two` on `s` writes `buf` that `one` on `default` also writes, and nothing orders them (WAW)"
    )
    assert place(text, found) == "second on s"
    assert mended(text, trace, found) == 'group one = value "one"\none -> second\n'


def test_through_a_view() -> None:
    text = 'stream s\nvalue "c" on s\n'
    t = model()
    t.view("flat", "a")
    t.kernel("c", "flat")
    trace = t.build("c")
    [found] = found_in(text, trace, "ORD101")
    assert "`c` on `s` reads `a` that `a` on `default` writes" in found.message
    assert "`c` sees `a` as `flat`" in found.notes
    assert mended(text, trace, found).endswith('a -> value "c"\n')


def test_an_alias_or_a_copy_lies_in_both() -> None:
    """`flat` may be `a` or a copy: to change it in place must wait for who reads `a`, and for who makes the copy."""
    text = 'stream s\nvalue "changed" on s\n'
    t = model()
    t.kernel("flat", copies="a")
    t.kernel("changed", inplace="flat")
    trace = t.build("b", "changed")
    found = found_in(text, trace, "ORD101")
    assert len(found) == 1
    assert "`changed` on `s` reads `flat` that `flat` on `default` writes" in found[0].message
    assert "the same wait is missing for `a` (WAR)" in found[0].notes
    mended(text, trace, *found)


def test_one_finding_for_each_wait_and_one_fix_for_all() -> None:
    text = 'stream s, t\ngroup makers = value { a, b }\ngroup users = value { c, d }\nvalue "c" on s\nvalue "d" on t\n'
    t = model()
    t.kernel("c", "a")
    t.kernel("d", "b")
    trace = t.build("a", "b")
    found = found_in(text, trace, "ORD101")
    assert [place(text, d) for d in found] == ['value "c" on s', 'value "d" on t']
    assert len({d.fix for d in found}) == 2
    text = text.replace('value "c" on s\nvalue "d" on t\n', "users on s\n")
    found = found_in(text, trace, "ORD101")
    assert [place(text, d) for d in found] == ["users on s", "users on s"]
    assert mended(text, trace, *found) == "makers -> users\n"


def test_a_redundant_statement_can_be_taken_out() -> None:
    text = 'stream s\nvalue "b" on s\nvalue "a" -> value "b"\nvalue "a" -> value "b"\n'
    trace = model().build("a")
    [found] = found_in(text, trace, "ORD104")
    assert found.span.line == 6
    assert found.fix is not None
    lean = apply_edits(HEAD + text, found.fix.edits).removeprefix(HEAD)
    assert lean == text.removesuffix('value "a" -> value "b"\n') + "\n"
    assert found_in(lean, trace, "ORD104") == found_in(lean, trace, "ORD101") == []


def test_a_redundant_part_of_a_statement_stays_for_the_author() -> None:
    text = 'stream s\nvalue "b" on s\nvalue "a" -> value "b"\nvalue "a" -> value "b" -> value "c"\n'
    t = model()
    t.kernel("c", "b")
    [found] = found_in(text, t.build("c"), "ORD104")
    assert found.fix is None
    assert found.help == 'take `value "a" -> value "b"` out of the statement'
