"""Near-valid texts and documents: right ones in which a few things are changed."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

_TOKEN = re.compile(r'"[^"\n]*"|\w+|->|\.\.|\s|.', re.DOTALL)

ODD = (
    *(
        "\r",
        "\r\n",
        "\n",
        "\n\n",
        "\0",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x0b",
        "\x0c",
        "\t",
        "\\",
        '"',
        "'",
        "`",
        "\ud800",
    ),
    *("é", "\U0001d518", "\ufb01", "\u0301", "\u202e", "\u200b", "\u0661", "²", "ß", "\u0130", "名", "\U0001f642"),
    *("9" * 30, "9" * 5000, "-1", "0", "00", "1e9", "0x10", "-" * 7, "(" * 120, "[" * 50, "{" * 50, ")" * 50),
    *("x" * 3000, " " * 3000, "a | " * 250, "(a" * 40, '"' + "*" * 60 + '"', '"{1..999999999}"', '"**.**.**.**"'),
)
WORDS = (
    *("schedule", "model", "fakes", "scope", "input", "inputs", "from", "leaf", "target", "device", "sync", "memory"),
    *(
        "stream",
        "group",
        "world",
        "cost",
        "graphs",
        "trace",
        "batch",
        "collective",
        "on",
        "before",
        "class",
        "priority",
    ),
    *("cores", "aic", "aiv", "mhz", "module", "op", "value", "node", "line", "default", "auto", "explicit", "join"),
    *("->", "..", "|", "&", "-", "=", ",", ";", ":", "(", ")", "[", "]", "{", "}", "[0]", "[-1]", "[1:3]", "#"),
    *('"*"', '"**"', '""', '"["', '"{"', '"{a,b}"', '"a@1"', '"model.py:1-9"', '"x:y"', "120us", "64", "f16[2, 3]"),
    *("# streamsched: ignore", "# streamsched: ignore[ORD101, SEL101] why", "# streamsched: ignore[", "on default\n"),
)


def texts(bases: Sequence[str], most: int = 6) -> st.SearchStrategy[str]:
    """One of `bases` with at most that many changes."""
    change = st.tuples(st.integers(0, 7), st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from((*ODD, *WORDS)))
    return st.builds(_changed, st.sampled_from(list(bases)), st.lists(change, max_size=most))


def _changed(text: str, changes: list[tuple[int, int, int, str]]) -> str:
    for kind, one, other, piece in changes:
        tokens = _TOKEN.findall(text) or [""]
        first, second = sorted((one % len(tokens), other % len(tokens)))
        if kind == 0:
            del tokens[first]
        elif kind == 1:
            tokens.insert(second, tokens[first])
        elif kind == 2:
            tokens[first], tokens[second] = tokens[second], tokens[first]
        elif kind == 3:
            tokens[first] = piece
        elif kind == 4:
            tokens.insert(first, f" {piece} ")
        elif kind == 5:
            tokens.insert(first, piece)
        elif kind == 6:
            del tokens[first : first + second % 40]
        else:
            tokens[first:first] = tokens[first:second] if second - first < 60 else ["\n"]
        text = "".join(tokens)
    return text


def as_read(text: str) -> str:
    """A text as it is read from a file that holds it."""
    plain = text.encode("utf-8", "replace").decode("utf-8").removeprefix("\ufeff")
    return plain.replace("\r\n", "\n").replace("\r", "\n")


_ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, -2, 2, 7, 10**6, 2**63, 10**40, 0.5, 1e400, float("nan"), "", "a", "é", "\0"),
    *("\ud800", "(", "1 +", "x" * 300, "self.a", "-1", "batch", [], {}, [0], [-1], [[]], [None], ["a"], {"a": 1}),
)


def documents(bases: Sequence[Any], most: int = 3) -> st.SearchStrategy[Any]:
    """One of `bases`, as JSON reads them, with at most that many changes."""
    seeds = st.lists(st.integers(0, 2**32), min_size=1, max_size=most)
    return st.builds(_damaged, st.sampled_from(list(bases)), seeds)


def _damaged(base: Any, seeds: list[int]) -> Any:
    document = copy.deepcopy(base)
    for number in seeds:
        chance = random.Random(number)
        document = _damage(document, chance)
    return document


def _damage(document: Any, chance: random.Random) -> Any:
    """The document with one place changed; deep places are as likely as shallow ones."""
    if not isinstance(document, list | dict) or not document or chance.random() < 0.02:
        return _other(document, chance)
    key = chance.choice(list(document) if isinstance(document, dict) else range(len(document)))
    inner = document[key]
    if isinstance(inner, list | dict) and inner and chance.random() < 0.9:
        document[key] = _damage(inner, chance)
        return document
    kind = chance.randrange(8)
    if kind == 0:
        del document[key]
    elif kind == 1 and isinstance(document, list):
        document.insert(key, copy.deepcopy(chance.choice(document)))
    elif kind == 2:
        other = chance.choice(list(document) if isinstance(document, dict) else range(len(document)))
        document[key], document[other] = document[other], document[key]
    elif kind == 3 and isinstance(document, dict):
        document[chance.choice(["a", "", "version", "é"])] = inner
    else:
        document[key] = _other(inner, chance)
    return document


def _other(value: Any, chance: random.Random) -> Any:
    if isinstance(value, int) and chance.random() < 0.6:
        return value + chance.choice([-3, -2, -1, 1, 2, 3, 10, 1000, -1000])
    if isinstance(value, str) and chance.random() < 0.6:
        cut = chance.randrange(len(value) + 1)
        return value[:cut] + chance.choice(["", "(", ".", " ", "é", "1", value]) + value[cut + chance.randrange(2) :]
    return copy.deepcopy(chance.choice(_ODD_VALUES))


def as_bytes(document: Any) -> bytes:
    """A document as JSON in UTF-8, whatever it holds."""
    return json.dumps(document).encode()
