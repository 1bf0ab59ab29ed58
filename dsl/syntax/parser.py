"""Text to schedule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from lark import Lark
from lark.exceptions import UnexpectedInput

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.syntax.builder import Builder, NotAStatementError
from streamsched.dsl.syntax.foreign import foreign, not_text
from streamsched.dsl.syntax.names import check_names
from streamsched.dsl.syntax.rules import syntax_error
from streamsched.dsl.syntax.source import Fault, Source
from streamsched.dsl.syntax.statements import Piece, Remark, cut
from streamsched.dsl.syntax.tree import (
    Comment,
    DeviceFileStatement,
    DeviceStatement,
    FakesStatement,
    InputsFromStatement,
    InputStatement,
    MemoryStatement,
    ModelStatement,
    OwnDeviceStatement,
    Schedule,
    ScopeStatement,
    Statement,
    SyncStatement,
    TargetStatement,
)
from streamsched.grammars.tables import load_parser

ERROR_LIMIT = 20
"""How many syntax errors of one file are reported."""

_KINDS: tuple[tuple[type[Statement], ...], ...] = (
    (ModelStatement,),
    (FakesStatement,),
    (ScopeStatement,),
    (InputStatement, InputsFromStatement),
    (MemoryStatement,),
    (TargetStatement,),
    (DeviceStatement, OwnDeviceStatement, DeviceFileStatement),
    (SyncStatement,),
)
"""The statements that others may stand in for, those that say the same thing together."""

_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A schedule with what was found while reading it.

    Statements that did not parse are not in `schedule`; `complete` tells that there are none, so that printing the
    tree loses nothing.
    """

    schedule: Schedule
    diagnostics: tuple[Diagnostic, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The statements of a text, each by itself. `torn` are the words of those that did not parse."""

    source: Source
    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...]
    faults: tuple[Fault, ...]
    torn: frozenset[str]


def parse(text: str, file: str, instead: Mapping[str, str] | None = None, preset: tuple[Statement, ...] = ()) -> Parsed:
    """Parse the text of a `.sched` file and check its names. Faults are returned, never raised.

    `file` is what spans call the text. Newlines may be of any kind, and a byte order mark may stand in front. `instead`
    holds the texts, by what spans call them, of statements that stand in for its own of their kind; those of `preset`
    hold where it has none of their kind.
    """
    reading = read_statements(text, file)
    for name, stand_in in (instead or {}).items():
        reading = _with_stand_ins(reading, read_statements(stand_in, name))
    return as_schedule(reading, preset)


def as_schedule(reading: Reading, preset: tuple[Statement, ...] = ()) -> Parsed:
    """A text that was read as a schedule, its names checked. `preset` is as in `parse`."""
    statements, faults = reading.statements, reading.faults
    given = {kind for kind in _KINDS if any(isinstance(statement, kind) for statement in statements)}
    added = tuple(s for s in preset if not any(isinstance(s, kind) for kind in given))
    source = reading.source
    schedule = Schedule((*statements, *added), reading.comments, span=source.span(0, len(source.text)))
    if len(faults) > ERROR_LIMIT:
        told = [*faults[:ERROR_LIMIT], _too_many(faults[-1])]
        return Parsed(schedule, tuple(map(syntax_error, told)), False)
    found = [*map(syntax_error, faults), *check_names(schedule, reading.torn if faults else None)]
    return Parsed(schedule, tuple(sorted(found, key=lambda finding: finding.span)), not faults)


def read_statements(text: str, file: str) -> Reading:
    """Read the statements of a text, up to the error that is one too many."""
    source = Source(text, file)
    binary = not_text(source)
    if binary is not None:
        return Reading(source, (), (), (binary,), frozenset())
    reader = _Reader(source, [], [], [], set())
    reader.read()
    other = foreign(source) if reader.faults and reader.began_badly else None
    faults = reader.faults if other is None else [other]
    return Reading(source, tuple(reader.statements), tuple(reader.comments), tuple(faults), frozenset(reader.torn))


def _with_stand_ins(reading: Reading, other: Reading) -> Reading:
    """`reading` with the statements of `other` where those of their kind are, or else at the end."""
    statements = list(reading.statements)
    for kinds in _KINDS:
        given = [statement for statement in other.statements if isinstance(statement, kinds)]
        if not given:
            continue
        own = [index for index, statement in enumerate(statements) if isinstance(statement, kinds)]
        kept = [statement for statement in statements if not isinstance(statement, kinds)]
        place = own[0] if own else len(kept)
        statements[:] = [*kept[:place], *given, *kept[place:]]
    faults, torn = (*reading.faults, *other.faults), reading.torn | other.torn
    return replace(reading, statements=tuple(statements), faults=faults, torn=torn)


@dataclass(frozen=True, slots=True)
class _Reader:
    """What has been read of a source so far."""

    source: Source
    statements: list[Statement]
    comments: list[Comment]
    faults: list[Fault]
    torn: set[str]

    @property
    def began_badly(self) -> bool:
        """Whether no statement could be read before the first error."""
        return not self.statements or self.statements[0].span > self.faults[0].span

    def read(self) -> None:
        """Read the source, up to the error that is one too many."""
        for part in cut(self.source):
            if isinstance(part, Remark):
                text = self.source.text[part.start : part.end].rstrip()
                self.comments.append(Comment(text, part.own_line, span=self.source.span(part.start, part.end)))
            elif (fault := self._statement(part)) is not None:
                self.faults.append(fault)
                self.torn.update(_WORD.findall(self.source.text, part.start, part.end))
                if len(self.faults) > ERROR_LIMIT:
                    return

    def _statement(self, piece: Piece) -> Fault | None:
        if piece.fault is not None:
            return piece.fault
        try:
            tree = _parser().parse(self.source.text[piece.start : piece.end])
            self.statements.append(Builder(self.source, piece.start).statement(tree))
        except UnexpectedInput as error:
            from streamsched.dsl.syntax.slips import explain  # compiles patterns that a right schedule does not need

            return explain(self.source, piece.start, piece.end, error)
        except NotAStatementError as error:
            return error.fault
        return None


def _too_many(fault: Fault) -> Fault:
    message = f"more errors follow: only the first {ERROR_LIMIT} are shown, and nothing from here on was read"
    return Fault(fault.span.start, message)


@cache
def _parser() -> Lark:
    return load_parser()
