"""The tree of a schedule: what the parser builds, the formatter prints and the planner reads.

Spans and comments take no part in equality, so that `parse(format(tree)) == tree`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from streamsched.dsl.diagnostic import Span


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with its `#`. `own_line` tells a comment on a line of its own from one behind a statement."""

    text: str
    own_line: bool
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name:
    """A name where it is declared or used."""

    text: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ModuleSelector:
    """`module "GLOB"`: every op inside the module calls that match."""

    glob: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class OpSelector:
    """`op "GLOB"`: every op whose operator's name matches."""

    glob: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ValueSelector:
    """`value "NAME"` or `{ a, b }`: the ops of every statement of the scope's forward that binds one of the names."""

    names: tuple[Name, ...]
    braces: bool
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """`node "NAME"`: the op of that name in the trace."""

    name: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class LineSelector:
    """`line "FILE:FIRST-LAST"`: the ops issued from those lines."""

    file: str
    first: int
    last: int
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class GroupSelector:
    """A group's name."""

    name: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class RangeSelector:
    """`A .. B`: from A's first op to B's last op in program order."""

    first: Selector
    last: Selector
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class UnionSelector:
    """`A | B`."""

    left: Selector
    right: Selector
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class IntersectionSelector:
    """`A & B`."""

    left: Selector
    right: Selector
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class DifferenceSelector:
    """`A - B`."""

    left: Selector
    right: Selector
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class IndexSelector:
    """`A[i]` or `A[start:stop]`, as Python counts. `start` is the index when `slice` is false."""

    operand: Selector
    start: int | None
    stop: int | None
    slice: bool
    span: Span = field(compare=False, kw_only=True)


Selector: TypeAlias = (
    ModuleSelector
    | OpSelector
    | ValueSelector
    | NodeSelector
    | LineSelector
    | GroupSelector
    | RangeSelector
    | UnionSelector
    | IntersectionSelector
    | DifferenceSelector
    | IndexSelector
)


@dataclass(frozen=True, slots=True)
class ScheduleStatement:
    """`schedule NAME`."""

    name: Name
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ModelStatement:
    """`model "FILE-OR-PACKAGE:ATTR"`."""

    file: str
    attribute: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ScopeStatement:
    """`scope "GLOB" [class NAME]`."""

    glob: str
    class_name: Name | None
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class InputSpec:
    """`a, b: DTYPE[dims]`: inputs of one dtype and shape. A dim is a number or, for a dynamic one, a name."""

    names: tuple[Name, ...]
    dtype: str
    dims: tuple[int | str, ...]
    span: Span = field(compare=False, kw_only=True)
    dtype_span: Span | None = field(default=None, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class InputStatement:
    """`input a, b: DTYPE[dims]`; several specs may follow one another, separated by commas or `;`."""

    specs: tuple[InputSpec, ...]
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class InputsFromStatement:
    """`inputs from "FILE-OR-PACKAGE:FN"`."""

    file: str
    attribute: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class LeafStatement:
    """`leaf "GLOB" [from "FILE-OR-PACKAGE:FN"]`. `shape` are file and attribute of the function, if there is one."""

    glob: str
    shape: tuple[str, str] | None = None
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class FakesStatement:
    """`fakes "FILE-OR-PACKAGE"`: what registers fake implementations of ops, imported before the model."""

    file: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class TargetStatement:
    """`target NAME`."""

    name: Name
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class DeviceStatement:
    """`device NAME`."""

    name: Name
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class OwnDeviceStatement:
    """`device NAME { aic N, aiv N, mhz N, bandwidth N, streams N }`. `numbers` are in the order of the text."""

    name: Name
    numbers: tuple[tuple[str, int], ...]
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class DeviceFileStatement:
    """`device "PATH"`: a file of CANN's `platform_config`, relative to the schedule."""

    path: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class SyncStatement:
    """`sync explicit` or `sync auto`."""

    mode: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class MemoryStatement:
    """`memory auto`, `memory record_stream` or `memory join`."""

    mode: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class TraceStatement:
    """`trace compiled` or `trace eager`: how the model that is traced believes that it runs."""

    mode: str
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class StreamStatement:
    """`stream a, b { priority -1; cores aic N, aiv N }`. A number that was not given is None."""

    names: tuple[Name, ...]
    priority: int | None
    aic: int | None
    aiv: int | None
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class GroupStatement:
    """`group NAME = SELECTOR`."""

    name: Name
    selector: Selector
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class PlacementStatement:
    """`a, b on STREAM`."""

    selectors: tuple[Selector, ...]
    stream: Name
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class EdgeStatement:
    """`a, b -> c -> d`: happens-before from each stage to the next."""

    stages: tuple[tuple[Selector, ...], ...]
    span: Span = field(compare=False, kw_only=True)

    def __post_init__(self) -> None:
        assert len(self.stages) >= 2 and all(self.stages), self


@dataclass(frozen=True, slots=True)
class BeforeStatement:
    """`a before b`: host issue order only."""

    stages: tuple[tuple[Selector, ...], ...]
    span: Span = field(compare=False, kw_only=True)

    def __post_init__(self) -> None:
        assert len(self.stages) >= 2 and all(self.stages), self


@dataclass(frozen=True, slots=True)
class WorldStatement:
    """`world N`."""

    ranks: int
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class CostStatement:
    """`cost GROUP = 120us`, in microseconds."""

    group: Name
    microseconds: float
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class GraphsStatement:
    """`graphs N`: how many graphs of this schedule are captured in one process."""

    count: int
    span: Span = field(compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class HoldingStatement:
    """`batch a, b cores aic N, aiv N` or `collective a, b cores ...`: ops that hold cores while they wait.

    A number that was not given is None.
    """

    kind: str  # "batch" or "collective"
    selectors: tuple[Selector, ...]
    aic: int | None
    aiv: int | None
    span: Span = field(compare=False, kw_only=True)


Statement: TypeAlias = (
    ScheduleStatement
    | ModelStatement
    | ScopeStatement
    | InputStatement
    | InputsFromStatement
    | LeafStatement
    | FakesStatement
    | TargetStatement
    | DeviceStatement
    | OwnDeviceStatement
    | DeviceFileStatement
    | SyncStatement
    | MemoryStatement
    | TraceStatement
    | StreamStatement
    | GroupStatement
    | PlacementStatement
    | EdgeStatement
    | BeforeStatement
    | WorldStatement
    | CostStatement
    | GraphsStatement
    | HoldingStatement
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One parsed `.sched` file: its statements in the order of the text.

    `span` covers the whole text; `span.end` is where a new statement can be appended. `comments` are in the order of
    the text and take no part in equality of the tree (the formatter's tests compare them by text).
    """

    statements: tuple[Statement, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
    span: Span = field(compare=False, kw_only=True)

    @property
    def name(self) -> str:
        """The schedule's name; empty when the statement is missing."""
        return next((s.name.text for s in self.statements if isinstance(s, ScheduleStatement)), "")
