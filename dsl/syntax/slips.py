"""Common slips, and what to type instead.

Each slip is a function from the place where the parser stopped to a fault, or to None where it is not that slip. The
first that knows the place speaks; where none does, the fault says what was expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from lark.exceptions import UnexpectedInput, UnexpectedToken

from streamsched.dsl.nearest import nearest
from streamsched.dsl.syntax.expected import SELECTORS, STATEMENTS, expected, keywords, meant
from streamsched.dsl.syntax.name_slips import NAMES_HELP, foreign_letter, path_as_name
from streamsched.dsl.syntax.source import Fault, Source, replacing
from streamsched.dsl.syntax.stop import Stop

_ARROW = re.compile(r"=+>|-+>+|>+|[\u2192\u21d2\u2794\u27f6]|[\u2013\u2014]\s*>?")
_SMART_QUOTE = re.compile("[\u201c\u201d\u201e\u201f\u00ab\u00bb]")
_OTHER_STRING = re.compile("['`\u2018\u2019](?P<inside>[^'`\u2018\u2019\"\r\n]*)['`\u2018\u2019]")
_UNQUOTED = re.compile(r"[^\s\"'#;,(){}\[\]|&=]+")
_ORDERING = re.compile(r"->|\b(?:on|before)\b")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPENING = {")": "(", "]": "[", "}": "{"}


def explain(source: Source, start: int, end: int, error: UnexpectedInput) -> Fault:
    """What is wrong with the statement in `source.text[start:end]`, where lark stopped with `error`."""
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    at = end if at_end else start + cast(int, error.pos_in_stream)
    accepted: frozenset[str] = frozenset(error.interactive_parser.accepts())  # type: ignore[no-untyped-call]
    stop = Stop(source, start, end, at, accepted)
    for slip in _SLIPS:
        fault = slip(stop)
        if fault is not None:
            return fault
    return _unexpected(stop)


def _unexpected(stop: Stop) -> Fault:
    found = f"`{stop.found}`" if stop.found.isprintable() else f"the character U+{ord(stop.found[0]):04X}"
    if not stop.found:
        found = "the end of the statement"
    if stop.at == stop.start:
        return stop.fault(f"expected a statement, found {found}", _STATEMENTS_HELP)
    words = expected(meant(stop.accepted, stop.last_word))
    return stop.fault(f"expected {words}, found {found}")


_STATEMENTS_HELP = (
    f"statements begin with {', '.join(STATEMENTS)}, or name groups: `a on STREAM`, `a -> b`, `a before b`"
)


def _smart_quotes(stop: Stop) -> Fault | None:
    if not _SMART_QUOTE.match(stop.found):
        return None
    quotes = [stop.at + quote.start() for quote in _SMART_QUOTE.finditer(stop.rest)]
    edits = [(stop.source.span(quote, quote + 1), '"') for quote in quotes]
    message = f'`{stop.found}` is a typographic quote; strings stand in straight ones: `"`'
    return Fault(stop.fault("").span, message, fix=replacing("use straight quotes", *edits, safe=len(quotes) % 2 == 0))


def _other_quotes(stop: Stop) -> Fault | None:
    match = _OTHER_STRING.match(stop.source.text, stop.at, stop.end)
    if match is None:
        return None
    return stop.replacement(match.start(), match.end(), f'"{match["inside"]}"', "strings stand in double quotes")


def _arrow(stop: Stop) -> Fault | None:
    # `- >` and `-->` stop behind their first dash, which reads as the operator.
    dashed = stop.source.text[stop.gap - 1 : stop.gap] == "-" and stop.found in (">", "->")
    start = stop.gap - 1 if dashed else stop.at
    match = _ARROW.match(stop.source.text, stop.at, stop.end)
    if match is None or not (dashed or "_ARROW" in stop.accepted):
        return None
    wrong = " ".join(stop.source.text[start : match.end()].split())
    message = f"an edge is written `a -> b`, not `a {wrong} b`"
    return stop.replacement(start, match.end(), "->", message, safe=wrong != ">")


def _backward_arrow(stop: Stop) -> Fault | None:
    if not stop.rest.startswith("<-"):
        return None
    return stop.fault("edges point from what comes first to what comes later", "write `a <- b` as `b -> a`")


def _equals(stop: Stop) -> Fault | None:
    if stop.head not in ("group", "cost"):
        return None
    if stop.found == "=" and stop.before.endswith("="):
        return stop.replacement(stop.at - 1, stop.at + 1, "=", f"a {stop.head} is defined with `=`, not `==`")
    if "EQUAL" not in stop.accepted or not stop.found:
        return None
    if stop.found == ":":
        end = stop.at + (2 if stop.rest.startswith(":=") else 1)
        return stop.replacement(stop.at, end, "=", f"a {stop.head} is defined with `=`", safe=False)
    if stop.found in ("on", "before", "->", ","):
        message = f"a {stop.head}'s name is followed by `=`, not by `{stop.found}`"
        return stop.fault(message, f"`{stop.head}` only defines: to use a group, write its name alone")
    message = f"`=` is missing behind the {stop.head}'s name"
    return stop.replacement(stop.at, stop.at, "= ", message, safe=stop.found in SELECTORS or stop.found == "(")


def _keyword(stop: Stop) -> Fault | None:
    accepted = meant(stop.accepted, stop.last_word)
    word = stop.word and nearest(stop.word, keywords(accepted))
    if not word:
        return None
    message = f"expected {expected(accepted)}, found `{stop.word}`"
    same = word == stop.word.lower()
    if same:
        message = f"keywords are in lower case: `{word}`"
    end = stop.at + len(stop.word)
    return stop.replacement(stop.at, end, word, message, f"did you mean `{word}`?", safe=same)


def _statement(stop: Stop) -> Fault | None:
    """A first word that is no keyword, and something behind it that cannot follow a group's name."""
    if not stop.head or stop.before.strip() != stop.head or not (stop.word or stop.found[:1] == '"'):
        return None
    if stop.head in STATEMENTS or stop.head in SELECTORS:
        return None
    known = STATEMENTS if stop.word else (*STATEMENTS, *SELECTORS)
    end = stop.start + len(stop.head)
    message = f"no statement begins with `{stop.head}`"
    word = nearest(stop.head, known)
    if word:
        same = word == stop.head.lower()
        return stop.replacement(stop.start, end, word, message, f"did you mean `{word}`?", safe=same)
    if _ORDERING.search(stop.rest):
        return _comma(stop)
    return Fault(stop.source.span(stop.start, end), message, _STATEMENTS_HELP)


def _comma(stop: Stop) -> Fault | None:
    if "COMMA" not in meant(stop.accepted, stop.last_word) or not stop.word:
        return None
    return stop.replacement(stop.gap, stop.gap, ",", f"a comma is missing before `{stop.word}`", safe=False)


def _definition_without_group(stop: Stop) -> Fault | None:
    if stop.found != "=" or stop.before.strip() != stop.head or stop.head in STATEMENTS:
        return None
    return stop.replacement(stop.start, stop.start, "group ", "a definition of a group begins with `group`", safe=False)


def _unquoted(stop: Stop) -> Fault | None:
    match = _UNQUOTED.match(stop.source.text, stop.at, stop.end)
    if match is None or "STRING" not in stop.accepted or "NAME" in stop.accepted:
        return None
    message = f"`{stop.last_word}` wants a string in double quotes"
    return stop.replacement(match.start(), match.end(), f'"{match[0]}"', message)


def _quoted_name(stop: Stop) -> Fault | None:
    name = stop.found[1:-1]
    if stop.found[:1] != '"' or "NAME" not in stop.accepted or not _NAME.fullmatch(name):
        return None
    advice = f'for a module of that name write `module "{name}"`' if "LPAR" in stop.accepted else None
    end = stop.at + len(stop.found)
    return stop.replacement(stop.at, end, name, "names stand without quotes", advice, safe=advice is None)


def _colon(stop: Stop) -> Fault | None:
    if "COLON" not in stop.accepted or stop.head != "input" or not stop.word:
        return None
    return stop.replacement(stop.gap, stop.gap, ":", f"the colon before the dtype `{stop.word}` is missing")


def _leading_operator(stop: Stop) -> Fault | None:
    operator = stop.head if stop.head in ("on", "before") else stop.found
    if operator != stop.head and stop.at != stop.start:
        return None
    if operator not in ("->", "on", "before", ",", "|", "&", "-", "..", "="):
        return None
    span = stop.source.span(stop.start, stop.start + len(operator))
    advice = f"end the line above with `{operator}`, or join the two lines"
    return Fault(span, f"a statement cannot begin with `{operator}`", advice)


def _reserved_name(stop: Stop) -> Fault | None:
    """`group on = ...` reads as the beginning of a placement of a group called `group`."""
    if stop.last_word not in ("on", "before") or stop.before.split() != [stop.head, stop.last_word]:
        return None
    if stop.head not in STATEMENTS or stop.word:
        return None
    span = stop.source.span(stop.gap - len(stop.last_word), stop.gap)
    return Fault(span, f"`{stop.last_word}` is a keyword and cannot be a name", "choose another name")


def _name_character(stop: Stop) -> Fault | None:
    if "$END" not in stop.accepted or "VBAR" in stop.accepted or stop.found not in ("-", ".", "/"):
        return None
    if not stop.last_word or stop.gap != stop.at:
        return None
    return stop.fault(f"`{stop.found}` cannot be part of a name", NAMES_HELP)


def _word_operator(stop: Stop) -> Fault | None:
    operator = {"and": "&", "or": "|"}.get(stop.word)
    if operator is None or "VBAR" not in stop.accepted:
        return None
    end = stop.at + len(stop.word)
    meaning = {"&": "ops that are in both", "|": "ops that are in one or the other"}[operator]
    return stop.replacement(stop.at, end, operator, f"{meaning} are written `a {operator} b`")


def _selector(stop: Stop) -> Fault | None:
    """A string behind a word that is no selector's keyword."""
    if stop.head in STATEMENTS and stop.before.strip() == stop.head:
        return None
    if stop.found[:1] != '"' or not stop.last_word or stop.last_word in SELECTORS or "VBAR" not in stop.accepted:
        return None
    word = nearest(stop.last_word, SELECTORS)
    message = f"no selector begins with `{stop.last_word}`"
    start = stop.gap - len(stop.last_word)
    if word is None:
        span = stop.source.span(start, stop.gap)
        return Fault(span, message, f"selectors with a string begin with {', '.join(SELECTORS)}")
    same = word == stop.last_word.lower()
    return stop.replacement(start, stop.gap, word, message, f"did you mean `{word}`?", safe=same)


def _second_range(stop: Stop) -> Fault | None:
    if stop.found != ".." or "VBAR" not in stop.accepted:
        return None
    return stop.fault("a range has two ends", "put a range inside a range in parentheses: `(a .. b) .. c`")


def _bare_braces(stop: Stop) -> Fault | None:
    if stop.found != "{" or "LPAR" not in stop.accepted:
        return None
    return stop.replacement(stop.at, stop.at, "value ", "a list of values begins with `value`")


def _dashed_slice(stop: Stop) -> Fault | None:
    if "RSQB" not in stop.accepted or "COLON" not in stop.accepted or not stop.found.startswith("-"):
        return None
    return stop.fault("a slice is written with a colon, as in Python", "`[1:3]` takes the second and the third")


def _shape(stop: Stop) -> Fault | None:
    if stop.head != "input" or stop.accepted != {"LSQB"} or stop.found:
        return None
    return stop.replacement(
        stop.gap, stop.gap, "[]", "the shape is missing", "a shape is `[4, 1000]`; a scalar's is `[]`", safe=False
    )


def _separator(stop: Stop) -> Fault | None:
    if stop.found == "," and "SEMICOLON" in stop.accepted:
        return stop.replacement(stop.at, stop.at + 1, ";", "options are separated by `;`")
    if stop.found != ";":
        return None
    if not stop.rest[1:].strip():
        return stop.replacement(stop.at, stop.at + 1, "", "a statement ends at the end of its line, without `;`")
    end = stop.end - len(stop.rest[1:].lstrip())
    return stop.replacement(stop.at, end, "\n", "each statement stands on a line of its own", safe=False)


def _other_comment(stop: Stop) -> Fault | None:
    if not stop.rest.startswith(("//", "/*", "--")):
        return None
    return stop.replacement(stop.at, stop.at + 2, "#", "comments begin with `#`")


def _stream_keyword(stop: Stop) -> Fault | None:
    if not re.search(r"\bon\s+stream\s*$", stop.before) or not stop.word:
        return None
    start = stop.gap - len("stream")
    return stop.replacement(start, stop.at, "", "behind `on` stands the stream's name alone")


def _two_statements(stop: Stop) -> Fault | None:
    kinds = {"->": "an edge", "on": "a placement", "before": "an order"}
    first = _ORDERING.search(stop.before)
    if stop.found not in kinds or first is None or first[0] == stop.found:
        return None
    message = f"{kinds[first[0]]} cannot be {kinds[stop.found]} as well"
    return stop.fault(message, "write two statements, each on a line of its own")


def _unit(stop: Stop) -> Fault | None:
    if stop.accepted != {"DURATION"} or not stop.found.isdigit():
        return None
    end = stop.at + len(stop.found)
    return stop.replacement(end, end, "us", "a cost needs a unit: `ns`, `us`, `ms` or `s`")


def _closing(stop: Stop) -> Fault | None:
    opening = _OPENING.get(stop.found)
    if opening is None or stop.accepted & {"RPAR", "RSQB", "RBRACE"}:
        return None
    if stop.before.count(opening) > stop.before.count(stop.found):
        return None
    return stop.fault(f"`{stop.found}` closes nothing: there is no `{opening}` before it")


_SLIPS: tuple[Callable[[Stop], Fault | None], ...] = (
    _smart_quotes,
    _other_quotes,
    _other_comment,
    _leading_operator,
    _arrow,
    _backward_arrow,
    _equals,
    _definition_without_group,
    _stream_keyword,
    _reserved_name,
    foreign_letter,
    path_as_name,
    _keyword,
    _statement,
    _selector,
    _word_operator,
    _second_range,
    _name_character,
    _colon,
    _unquoted,
    _quoted_name,
    _bare_braces,
    _dashed_slice,
    _shape,
    _separator,
    _two_statements,
    _unit,
    _closing,
    _comma,
)
