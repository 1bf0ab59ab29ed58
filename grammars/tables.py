"""The parser of one statement, from tables that were built beforehand.

Building a parser from `sched.lark` takes longer than all the rest of a cold start, so its tables are kept beside it
in `sched.tables`. After a change of the grammar rebuild them:

    python -m streamsched.grammars.tables

Tables of another grammar or another version of lark are passed over, and the parser is built from the grammar.
"""

from __future__ import annotations

import os
import subprocess
import sys
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
        header, _, body = tables.read_bytes().partition(b"\n")
    except OSError:
        return build_parser(grammar)
    if header != _header(grammar):
        return build_parser(grammar)
    return lark.Lark.load(BytesIO(body))


def build_parser(grammar: str, strict: bool = False) -> lark.Lark:
    """The parser, built from the text of the grammar. `strict` raises on any conflict; it needs interegular."""
    return lark.Lark(
        grammar, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=True, strict=strict
    )


def serialized() -> bytes:
    """What belongs into `sched.tables`: a line that names lark's version and the grammar's hash, then lark's dump."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    dump = BytesIO()
    build_parser(grammar).save(dump)
    return _header(grammar) + b"\n" + dump.getvalue()


def _header(grammar: str) -> bytes:
    return f"lark {lark.__version__} sched.lark {sha256(grammar.encode()).hexdigest()}".encode()


def main() -> None:
    """Rebuild `sched.tables`."""
    # lark numbers its states in the order of sets of strings: a fixed hash seed gives the same bytes every time.
    if os.environ.get("PYTHONHASHSEED") != "0":
        command = [sys.executable, "-m", "streamsched.grammars.tables"]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "0"}, check=True)
    else:
        TABLES.write_bytes(serialized())


if __name__ == "__main__":
    main()
