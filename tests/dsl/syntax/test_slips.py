"""Syntax errors: what they say, where, and what their fixes make of the text."""

from __future__ import annotations

import pytest

from streamsched.dsl.diagnostic import Diagnostic, apply_edits
from streamsched.dsl.syntax.parser import parse


def syntax_error(text: str) -> Diagnostic:
    (error,) = (d for d in parse(text, "f").diagnostics if d.name == "syntax-error")
    return error


FIXED = [
    # text, mended text, part of the message
    ('group a module "x"', 'group a = module "x"', "`=` is missing"),
    ("group a == b", "group a = b", "not `==`"),
    ("group a := b", "group a = b", "defined with `=`"),
    ("group a: b", "group a= b", "defined with `=`"),
    ('a = module "x"', 'group a = module "x"', "begins with `group`"),
    ("a => b", "a -> b", "not `a => b`"),
    ("a - > b", "a -> b", "not `a - > b`"),
    ("a -\n> b", "a -> b", "not `a - > b`"),
    ("a --> b", "a -> b", "not `a --> b`"),
    ("a > b", "a -> b", "not `a > b`"),
    ("a >> b", "a -> b", "not `a >> b`"),
    ("a \u2192 b", "a -> b", "not `a \u2192 b`"),
    ("a \u2013> b", "a -> b", "not `a \u2013> b`"),
    ("a -> b => c", "a -> b -> c", "not `a => b`"),
    ("strem shared", "stream shared", "no statement begins with `strem`"),
    ("grup a = b", "group a = b", "no statement begins with `grup`"),
    ('modul "x" on s', 'module "x" on s', "no statement begins with `modul`"),
    ("Stream shared", "stream shared", "no statement begins with `Stream`"),
    ("a ON s", "a on s", "lower case"),
    ("a Before b", "a before b", "lower case"),
    ('group a = modul "x"', 'group a = module "x"', "no selector begins with `modul`"),
    ('group a = b | Module "x"', 'group a = b | module "x"', "no selector begins with `Module`"),
    ("sync explict", "sync explicit", "expected `auto` or `explicit`, found `explict`"),
    ("memory record-stream", None, "expected `auto`, `join` or `record_stream`, found `record`"),
    ('inputs form "m:f"', 'inputs from "m:f"', "expected `from`, found `form`"),
    ('scope "x" clas Y', 'scope "x" class Y', "expected `class`"),
    ("stream a { prio 1 }", "stream a { priority 1 }", "expected `cores` or `priority`, found `prio`"),
    ("stream a { cores aix 1 }", "stream a { cores aiv 1 }", "expected `aic` or `aiv`, found `aix`"),
    ("stream a { priority 1, cores aic 3 }", "stream a { priority 1; cores aic 3 }", "separated by `;`"),
    ("stream a { cores aic 1 aiv 2 }", "stream a { cores aic 1, aiv 2 }", "comma is missing"),
    ("stream a b", "stream a, b", "a comma is missing before `b`"),
    ("a b -> c", "a, b -> c", "a comma is missing before `b`"),
    ("model \u201cm.py:b\u201d", 'model "m.py:b"', "typographic quote"),
    ("group a = module \u00abx\u00bb | op \u201ey\u201c", 'group a = module "x" | op "y"', "typographic quote"),
    ("model 'm.py:b'", 'model "m.py:b"', "double quotes"),
    ("model \u2018m.py:b\u2019", 'model "m.py:b"', "double quotes"),
    ("model m.py:b", 'model "m.py:b"', "`model` wants a string"),
    ("module shared_experts on s", 'module "shared_experts" on s', "`module` wants a string"),
    ('schedule "x"', "schedule x", "without quotes"),
    ('a on "s"', "a on s", "without quotes"),
    ("a on stream s", "a on s", "the stream's name alone"),
    ("group a = { b, c }", "group a = value { b, c }", "begins with `value`"),
    ("input a f16[1]", "input a: f16[1]", "the colon before the dtype"),
    ("input a: f16", "input a: f16[]", "the shape is missing"),
    ("cost a = 120", "cost a = 120us", "needs a unit"),
    ('a & op "x" and op "y" on s', 'a & op "x" & op "y" on s', "ops that are in both"),
    ("group a = b or c", "group a = b | c", "ops that are in one or the other"),
    ("a on s;", "a on s", "without `;`"),
    ("a on s; b on s", "a on s\nb on s", "a line of its own"),
    ("a -> b // why", "a -> b # why", "comments begin with `#`"),
    ('model "m.py:b', 'model "m.py:b"', "never closed"),
    ("group a = (b | c", "group a = (b | c)", "`(` is never closed"),
    ("input a: f16[1, 2", "input a: f16[1, 2]", "`[` is never closed"),
]


@pytest.mark.parametrize(("text", "mended", "message"), FIXED, ids=[text for text, _, _ in FIXED])
def test_a_slip_is_named_and_mended(text: str, mended: str | None, message: str) -> None:
    error = syntax_error(text)
    assert message in error.message
    if mended is None:
        return
    assert error.fix is not None
    assert apply_edits(text, error.fix.edits) == mended
    assert parse(mended, "f").complete


SAID = [
    # text, message, columns, part of the help
    ("a", "expected `before`, `on` or `->`, found the end of the statement", (2, 2), None),
    ("a ->", "found the end of the statement", (5, 5), None),
    ("a on", "expected a name, found the end of the statement", (5, 5), None),
    ("a <- b", "edges point from what comes first", (3, 4), "`b -> a`"),
    ("a -> b on s", "an edge cannot be a placement as well", (8, 10), "two statements"),
    ("a before b -> c", "an order cannot be an edge as well", (12, 14), "two statements"),
    ("-> b", "a statement cannot begin with `->`", (1, 3), "the line above"),
    ("foo bar", "no statement begins with `foo`", (1, 4), "statements begin with schedule, model"),
    ("?", "expected a statement, found `?`", (1, 2), "statements begin with"),
    ("group a on s", "a group's name is followed by `=`, not by `on`", (9, 11), "only defines"),
    ("group a = b c", "expected the end of the statement or an operator", (13, 14), None),
    ("group a = (b ]", "expected `)` or an operator", (14, 15), None),
    ("group a = b)", "`)` closes nothing", (12, 13), None),
    ("group a = b[1-3]", "a slice is written with a colon", (14, 16), "[1:3]"),
    ("group a = b .. c .. d", "a range has two ends", (18, 20), "parentheses"),
    ("schedule a-b", "`-` cannot be part of a name", (11, 12), "letters, digits and `_`"),
    ("input x: f32[größe, 8]", "`ö` cannot be part of a name: `größe`", (14, 19), "ASCII letters, digits and `_`"),
    ("input größe: f32[8]", "`ö` cannot be part of a name: `größe`", (7, 12), "ASCII letters"),
    ("größe on side", "`ö` cannot be part of a name: `größe`", (1, 6), "ASCII letters"),
    ("a -> ß", "`ß` cannot be part of a name", (6, 7), "ASCII letters"),
    ("world ä", "expected a whole number, found `ä`", (7, 8), None),
    ("schedule ../evil", "expected a name, found `../evil`", (10, 17), "ASCII letters"),
    ("group ../a = b", "expected a name, found `../a`", (7, 11), "ASCII letters"),
    ("schedule", "expected a name, found the end of the statement", (9, 9), None),
    ("model", "expected a string in double quotes, found the end of the statement", (6, 6), None),
    ('model "m.py"', "the colon and a name are missing", (7, 13), '"model.py:build"'),
    ('model "m.py:"', "the name behind the colon is missing", (7, 14), '"model.py:build"'),
    ('inputs from "m.py"', "the colon and a name are missing", (13, 19), '"model.py:build"'),
    ('line "m.py" on s', "this string names no lines of a file", (6, 12), "31-40"),
    ("input a", "expected `:`, found the end of the statement", (8, 8), None),
    ("input a: 16[1]", "expected a name, found `16`", (10, 12), None),
    ("input a: f16(1)", "expected `[`, found `(`", (13, 14), None),
    ("stream a { }", "expected `cores` or `priority`, found `}`", (12, 13), None),
    ("stream a { priority x }", "expected a whole number, found `x`", (21, 22), None),
    ("stream a { priority 1; priority 2 }", "`priority` is given twice", (24, 32), None),
    ("stream a { cores aic 1, aic 2 }", "`aic` is given twice", (25, 28), None),
    ("group a = b[99999999999999999999]", "this number is too large", (13, 33), None),
    ("world x", "expected a whole number, found `x`", (7, 8), None),
    ("cost a = soon", "expected a duration such as `120us`, found `soon`", (10, 14), None),
    ("a -> \u2028b", "found the character U+2028", (6, 7), None),
    ("group \u00e9 = b", "`\u00e9` cannot be part of a name", (7, 8), "ASCII letters"),
]


@pytest.mark.parametrize(("text", "message", "columns", "help"), SAID, ids=[case[0] for case in SAID])
def test_what_a_syntax_error_says(text: str, message: str, columns: tuple[int, int], help: str | None) -> None:
    error = syntax_error(text)
    assert message in error.message
    assert (error.span.column, error.span.end_column) == columns
    if help is not None:
        assert help in (error.help or "")


def test_guesses_are_not_safe_and_spellings_are() -> None:
    assert [syntax_error(text).fix.safe for text in ("strem a", "sync explict", "stream a b")] == [False] * 3  # type: ignore[union-attr]
    assert [syntax_error(text).fix.safe for text in ("Stream a", "a => b", "model 'm:b'")] == [True] * 3  # type: ignore[union-attr]


@pytest.mark.parametrize("text", [text for text, _, _ in FIXED] + [text for text, *_ in SAID])
def test_no_error_speaks_of_terminals_or_of_the_tool(text: str) -> None:
    error = syntax_error(text)
    for word in ("NAME", "STRING", "LPAR", "LSQB", "RBRACE", "$END", "_ARROW", "_UPTO", "EQUAL", "Token", "lark"):
        assert word not in f"{error.message} {error.help}"
