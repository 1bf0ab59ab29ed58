"""What may stand at a place of a statement, in words for people."""

from __future__ import annotations

STATEMENTS = (
    "schedule", "model", "fakes", "scope", "input", "inputs", "leaf", "target", "device", "sync", "memory", "trace",
    "stream", "group", "world", "cost", "graphs", "batch", "collective",
)  # fmt: skip
SELECTORS = ("module", "op", "value", "node", "line")

_NAMES = frozenset(word.upper() for word in (*STATEMENTS, *SELECTORS))  # keywords that may be names
_OPERATORS = frozenset({"VBAR", "AMPERSAND", "MINUS", "_UPTO", "LSQB"})
_AFTER_GROUP = _OPERATORS | {"ON", "BEFORE", "_ARROW", "COMMA"}
_WORDS = {
    "NAME": "a name",
    "INT": "a whole number",
    "DURATION": "a duration such as `120us`",
    "STRING": "a string in double quotes",
    "_ARROW": "`->`",
    "_UPTO": "`..`",
    "COMMA": "`,`",
    "SEMICOLON": "`;`",
    "COLON": "`:`",
    "EQUAL": "`=`",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "LBRACE": "`{`",
    "RBRACE": "`}`",
    "VBAR": "`|`",
    "AMPERSAND": "`&`",
    "MINUS": "`-`",
    "$END": "the end of the statement",
}


def meant(accepted: frozenset[str], last_word: str) -> frozenset[str]:
    """The accepted terminals that somebody can have meant who has just written `last_word`.

    Behind a keyword the grammar also allows what may follow a group of that name; hardly anybody means that.
    """
    if last_word in STATEMENTS or last_word in SELECTORS:
        return accepted - _AFTER_GROUP or accepted
    return accepted


def keywords(accepted: frozenset[str]) -> tuple[str, ...]:
    """The keywords among the accepted terminals, but for those that can be names here."""
    names = _NAMES if "NAME" in accepted else frozenset()
    return tuple(sorted(name.lower() for name in accepted - names if name not in _WORDS))


def expected(accepted: frozenset[str]) -> str:
    """The accepted terminals as `A, B or C`."""
    phrases: list[str] = []
    if {"NAME", "LPAR"} <= accepted:
        phrases.append('a group\'s name or a selector such as `module "..."`')
    elif "NAME" in accepted:
        phrases.append("a name")
    if "NAME" in accepted:
        accepted -= _NAMES | {"NAME", "LPAR"}
    phrases += [f"`{word}`" for word in keywords(accepted)]
    operators = accepted >= _OPERATORS
    if operators:
        accepted -= _OPERATORS
    phrases += [words for terminal, words in _WORDS.items() if terminal in accepted]
    if operators:
        phrases.append("an operator (`|`, `-`, `&`, `..`, `[`)")
    return f"{', '.join(phrases[:-1])} or {phrases[-1]}" if len(phrases) > 1 else phrases[0]
