"""One statement that will be printed, with what it uses and binds."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from streamsched.dsl.trace.model import NONE, Argument, Literal


class UnitKind(enum.Enum):
    """What is printed."""

    OP = "op"
    CALL = "call"  # a module call
    RECORD = "record"
    WAIT = "wait"
    RECORD_STREAM = "record_stream"
    FREE = "free"
    ASSIGN = "assign"  # to an attribute or item of what forward() is given
    RETURN = "return"


NOTHING = Literal("None")
"""The result of what returns nothing."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a statement comes from: the groups that hold it, the user's statement and which execution of it, and the
    contexts around it.
    """

    groups: tuple[int, ...] = ()
    statement: int = NONE
    visit: int = 0
    contexts: tuple[str, ...] = ()


NOWHERE = Origin()
"""The origin of what no op stands behind."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One statement to print.

    `stream` is NONE where it does not matter which stream is current. `uses` and `binds` are objects (`objects`);
    `binds` are those that come to be here. A view goes with its first user: it has that user's stream, groups and
    statement.
    """

    kind: UnitKind
    stream: int
    op: int = NONE
    call: int = NONE
    event: int = NONE
    storage: int = NONE
    place: str = ""  # of ASSIGN: what is assigned to
    user: int = NONE  # of RECORD_STREAM: the stream that uses the storage
    uses: tuple[int, ...] = ()
    binds: tuple[int, ...] = ()
    result: Argument = NOTHING
    runs: bool = False  # launches or allocates
    origin: Origin = NOWHERE
