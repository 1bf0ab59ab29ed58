"""The statements of forward() that issued ops."""

from __future__ import annotations

from streamsched.dsl.trace.model import NONE, Op, Position, Statement
from streamsched.dsl.trace.tracing.frames import to_characters
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder


def statements(recorder: Recorder, file: str, ops: tuple[Op, ...]) -> tuple[tuple[Statement, ...], dict[int, int]]:
    """The statements that issued ops, in the order of the text, and where each of the recorder's went."""
    used = sorted({op.statement for op in ops} - {NONE})
    code = recorder.code
    assert code is not None or not used
    found: list[Statement] = []
    for index in used:
        source = recorder.function.statements[index]
        assert code is not None
        start = to_characters(code.co_filename, source.start[0], source.start[1])
        end = to_characters(code.co_filename, source.end[0], source.end[1])
        position = Position(file, code.co_qualname, source.start[0], start, source.end[0], end)
        found.append(Statement(position, source.binds, source.text))
    return tuple(found), {index: place for place, index in enumerate(used)}
