"""The launch log: what the host issued to the simulated NPU, in order, as JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CALLS = frozenset(
    {
        "launch",  # an operator
        "copy",  # an asynchronous copy or fill on a stream, or a synchronous copy, which has no stream
        "host_function",
        "record",
        "wait",
        "sync",  # the host waits for a stream, an event or the device
        "capture_begin",
        "capture_end",
        "replay",
        "malloc",  # of the device's memory, not of torch_npu's allocator
        "free",
        "error",
        "mark",
    }
)
DIRECTIONS = frozenset({"in", "out", "inout", "unknown"})


@dataclass(frozen=True)
class Operand:
    """A tensor or range of bytes that a launch reads or writes: `size` bytes from `address` hold all its elements."""

    name: str
    direction: str
    address: int
    size: int
    dtype: str = ""
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        assert self.direction in DIRECTIONS, self.direction
        assert self.size >= 0
        assert len(self.shape) == len(self.strides)

    @property
    def reads(self) -> bool:
        """Whether the launch depends on the old value."""
        return self.direction != "out"

    @property
    def writes(self) -> bool:
        """Whether the launch changes the value; an operator that is not in the table may."""
        return self.direction != "in"


@dataclass(frozen=True)
class Record:
    """One line. `order` counts the host's calls from 0; `stream`, `event`, `graph` are the device's own numbers.

    `node` numbers launches: within the graph when `graph` is set, else since the stream order was set. `aic` and `aiv`
    are the cube and vector cores that an operator may use. `kind` says between which memories a copy goes.
    """

    order: int
    call: str
    stream: int | None = None
    event: int | None = None
    graph: int | None = None
    node: int | None = None
    operator: str = ""
    operands: tuple[Operand, ...] = ()
    aic: int | None = None
    aiv: int | None = None
    kind: str = ""
    address: int | None = None
    size: int | None = None
    note: str = ""

    def __post_init__(self) -> None:
        assert self.order >= 0
        assert self.call in CALLS, self.call

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """The operands that the launch writes."""
        return tuple(operand for operand in self.operands if operand.writes)

    def describe(self) -> str:
        """One short line for people: `s2 Mm -> out`, `s2 wait e1`."""
        stream = "" if self.stream is None else f"s{self.stream} "
        if self.call == "launch":
            return f"{stream}{self.operator.removeprefix('aclnn')}"
        event = "" if self.event is None else f" e{self.event}"
        note = f" ({self.note})" if self.note else ""
        return f"{stream}{self.call}{event}{note}"


def parse_line(line: str) -> Record:
    """A line of the log. Raises ValueError for text that is none."""
    fields = json.loads(line)
    operands = tuple(_operand(item) for item in fields.pop("operands", ()))
    of = fields.pop("of", "")
    fields.pop("device", None)
    return Record(
        operands=operands,
        size=fields.pop("bytes", None),
        note=fields.pop("note", None) or fields.pop("message", None) or (f"of the {of}" if of else ""),
        **fields,
    )


def read(path: Path) -> tuple[Record, ...]:
    """All lines of a log. Raises OSError, ValueError."""
    return tuple(parse_line(line) for line in path.read_text(encoding="utf-8").splitlines())


def _operand(item: dict[str, Any]) -> Operand:
    return Operand(
        name=item["name"],
        direction=item["direction"],
        address=item["address"],
        size=item["bytes"],
        dtype=item.get("dtype", ""),
        shape=tuple(item.get("shape", ())),
        strides=tuple(item.get("strides", ())),
    )
