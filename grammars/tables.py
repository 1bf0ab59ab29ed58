"""The parser of one statement, from tables that were built beforehand.

Building a parser from `sched.lark` takes longer than all the rest of a cold start, so its tables are kept beside it
in `sched.tables`. After a change of the grammar rebuild them:

    python -m streamsched.grammars.build

Tables of another grammar or another version of lark are passed over, and the parser is built from the grammar.
"""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO
from pathlib import Path

import lark

_HERE = Path(__file__).parent
GRAMMAR = _HERE / "sched.lark"
TABLES = _HERE / "sched.tables"


def load_parser(tables: Path = TABLES) -> lark.Lark:
    """The parser of one statement, from `tables` where they fit, else built from the grammar."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    try:
        line, _, dump = tables.read_bytes().partition(b"\n")
    except OSError:
        return build_parser(grammar)
    return lark.Lark.load(BytesIO(dump)) if line == header(grammar) else build_parser(grammar)


def build_parser(grammar: str, strict: bool = False) -> lark.Lark:
    """The parser, built from the text of the grammar. `strict` raises on any conflict; it needs interegular."""
    return lark.Lark(
        grammar, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True, strict=strict
    )


def header(grammar: str) -> bytes:
    """The first line of the tables of `grammar`: it names lark's version and the grammar's hash."""
    return f"lark {lark.__version__} sched.lark {sha256(grammar.encode()).hexdigest()}".encode()
