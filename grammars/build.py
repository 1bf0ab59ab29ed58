"""Rebuild `sched.tables` after a change of `sched.lark`: `python -m streamsched.grammars.build`."""

from __future__ import annotations

from io import BytesIO

from streamsched.grammars.tables import GRAMMAR, TABLES, build_parser, header


def serialized() -> bytes:
    """What belongs into `sched.tables`: the line of `tables.header`, then lark's dump of the parser.

    The dump differs from run to run, as lark numbers terminals in the order of sets; the parser does not.
    """
    grammar = GRAMMAR.read_text(encoding="utf-8")
    dump = BytesIO()
    build_parser(grammar).save(dump)
    return header(grammar) + b"\n" + dump.getvalue()


if __name__ == "__main__":
    TABLES.write_bytes(serialized())
