"""The traced model as data: ops in program order, values, storages, module calls and source positions.

Built by `export.py` from torch's export, saved and loaded by `store.py`. Nothing here needs torch. Ids are indices:
value 3 is `trace.values[3]`, and so on; `NONE` (-1) stands for "there is none".
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

NONE = -1

Dim: TypeAlias = int | str
"""A size: a number; -1 where it depends on data; or an expression over the trace's named dims, which `dims.py` reads:
`batch`, `4 * batch`, `seq // 2 + 1`."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A value used as an argument or returned."""

    value: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, as a Python expression that needs no import but torch: `-1`, `None`, `torch.bfloat16`, `'sum'`; or
    the attribute of the scope module that holds it: `self.layer_idx`; or an expression over the trace's named dims:
    `batch * seq`.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list, a tuple or a slice (`kind`), of arguments. A slice has start, stop and step."""

    kind: str
    items: tuple[Argument, ...]

    def __post_init__(self) -> None:
        assert self.kind in ("list", "tuple", "slice"), self.kind


@dataclass(frozen=True, slots=True)
class Mapping:
    """A dict with constant keys (each a Python literal's text)."""

    keys: tuple[str, ...]
    items: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class known to pytree (a dataclass, a named tuple, a model output), by keyword."""

    type: str  # "package.module:Class"
    fields: tuple[str, ...]
    items: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Opaque:
    """An argument that has no printed form (a Python object that the trace does not model). `text` is for people."""

    text: str


@dataclass(frozen=True, slots=True)
class Branch:
    """A function that an op calls, or not: a branch of `torch.cond`.

    It has values of its own, which its ops and its result refer to: the first `parameters` of them are the function's
    parameters, and each of the others is made by one of `ops`. Their storages are numbers that tell only which of them
    share memory. What the ops read and write, and where they come from, is told of the op that holds the branch.
    """

    name: str  # the user's function
    parameters: int
    values: tuple[Value, ...]
    ops: tuple[Op, ...]
    result: Argument

    def __post_init__(self) -> None:
        given, made = self.values[: self.parameters], self.values[self.parameters :]
        assert len(given) == self.parameters and all(value.expression == value.name for value in given), self
        assert all(0 <= value.producer < len(self.ops) for value in made), self
        trees = [argument for op in self.ops for argument in (*op.args, *(each for _, each in op.kwargs), op.result)]
        assert all(0 <= value < len(self.values) for tree in (*trees, self.result) for value in refs(tree)), self
        assert not any(op.reads or op.writes for op in self.ops), self


Argument: TypeAlias = Ref | Literal | Sequence | Mapping | Instance | Opaque | Branch


def refs(argument: Argument) -> Iterator[int]:
    """The values in an argument's tree, left to right; those of a branch are its own."""
    if isinstance(argument, Ref):
        yield argument.value
    elif isinstance(argument, Sequence | Mapping | Instance):
        for item in argument.items:
            yield from refs(item)


@dataclass(frozen=True, slots=True)
class Position:
    """A call in the user's source. `file` is a key of `Trace.sources`; lines and columns count from 1, end exclusive.

    `column` and `end_column` count characters (Python's `co_positions` counts bytes; the tracer converts).
    """

    file: str
    function: str  # qualified name of the code object, e.g. "Attention.forward"
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the scope module's own forward() that issued ops.

    `binds` are the names that it binds or updates in place (`x`, also for `x += 1`, `x[i] = y` and `x.add_(y)`;
    `self.cache` for an attribute); a return statement binds `return`. `text` is its source on one line, whitespace
    collapsed.
    """

    position: Position
    binds: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file that the trace was made from.

    For the user's own files `path` is relative to the schedule's folder, with `/`, and `digest` the SHA-256 of the
    text with universal newlines. For installed packages `package` is the distribution's name, `version` its version,
    `path` relative to site-packages, and `digest` is empty.
    """

    path: str
    digest: str
    package: str = ""
    version: str = ""


class StorageKind(enum.Enum):
    """What a storage is: where its memory comes from, or what order it stands for."""

    INPUT = "input"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    OP = "op"  # made by an op of the trace
    GENERATOR = "generator"  # a random generator: every random op writes it
    HOST = "host"  # what the host can see: such ops keep program order
    PROCESS_GROUP = "process_group"  # every collective of the group writes it

    @property
    def is_memory(self) -> bool:
        """Whether there is device memory under it, which can be freed and reused."""
        return self in (self.INPUT, self.PARAMETER, self.BUFFER, self.CONSTANT, self.OP)


@dataclass(frozen=True, slots=True)
class Storage:
    """The memory under one or more values. `name` is that of the first value in it."""

    name: str
    kind: StorageKind
    nbytes: Dim


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor in the trace.

    `storages` are all storages that it may lie in: one, or two where an op may alias *or* copy (its input's, and a
    fresh one). `name` is unique in the trace (the FX node's). `expression` is the Python expression of a value that
    no op makes: `in1`, `cache.layers[0].keys`, `self.layers[0].weight`, `torch.tensor(2.0)`.
    """

    name: str
    storages: tuple[int, ...]
    dtype: str  # "float16", without "torch."
    shape: tuple[Dim, ...]
    stride: tuple[Dim, ...]
    producer: int = NONE  # op
    expression: str = ""
    local: str = ""  # the local of the scope's forward that holds it at the next traced call
    inner: str = ""  # the same in the innermost module's forward, where that is not the scope's
    same_object: int = NONE  # the value that is the same Python object (an in-place op returns its argument)
    aliases: tuple[str, ...] = ()  # further locals of the scope's forward that hold it, at any time, in order

    def __post_init__(self) -> None:
        assert self.local not in self.aliases, self
        assert self.storages, f"{self.name} lies nowhere"
        assert (self.producer == NONE) == bool(self.expression), self


LEAF = "streamsched.leaf.default"
"""The target of the op that a call of a leaf module is. The call is `Op.call`, and nothing else is in it."""


COND = "higher_order.cond"
"""The target of `torch.cond`: its arguments are the predicate, two branches, and the list of the operands."""


class OpKind(enum.Enum):
    """What an op does on the device."""

    KERNEL = "kernel"
    VIEW = "view"  # launches nothing, allocates nothing
    ALLOCATE = "allocate"  # `empty` and its kin: allocates, launches nothing


@dataclass(frozen=True, slots=True)
class Op:
    """One traced operator call.

    `reads` and `writes` are storages. A fresh result counts as written; so does the generator of a random op. A
    read-write operand is in both. `result` is the tree of what the call returns: a `Ref`, a `Sequence` of them, or
    `Literal("None")`. getitem nodes of the graph are not ops: their values are in the result's tree.
    """

    name: str  # unique in the trace (the FX node's): "add_1"
    target: str  # "aten.add.Tensor"
    kind: OpKind
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...]
    result: Argument
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    call: int  # the innermost module call that issued it
    stack: int = NONE  # Trace.stacks
    statement: int = NONE  # Trace.statements: the statement of the scope's forward
    visit: int = 0  # which execution of that statement (loops)
    random: bool = False
    host_sync: bool = False  # the host waits for its result (`.item()`, `nonzero`)
    contexts: tuple[str, ...] = ()  # `with` expressions around it: "torch.no_grad()", "torch.autocast('cpu', ...)"


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of a module. Its ops are `trace.ops[begin:end]`; nested calls have `parent` pointing outward.

    `path` is relative to the scope module, empty for the scope itself; `accessor` is the expression after `self`
    that reaches it: `.layers[0].mlp`, `.d["k"]`. `occurrence` counts the calls of one module from 0.
    """

    path: str
    occurrence: int
    accessor: str
    type: str  # "package.module:Class"
    parent: int
    begin: int
    end: int
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...]
    result: Argument
    branches_on_compiling: bool = False  # the user's Python under it asks whether it is being compiled
    hooked: bool = False  # the module has forward hooks of its own, whose ops come after the call
    flags: tuple[tuple[str, str], ...] = ()  # conditions in its forward(), over the scope's `self`, each with its value
    constants: tuple[tuple[str, str, str], ...] = ()  # attributes: expression, value, what numbers in ops come of it

    @property
    def label(self) -> str:
        """The path as selectors spell it: `sub`, and `sub@1` for the second call."""
        return f"{self.path}@{self.occurrence}" if self.occurrence else self.path


class ParameterKind(enum.Enum):
    """How a parameter of forward() is passed; the names are those of `inspect.Parameter`."""

    POSITIONAL_ONLY = "positional_only"
    POSITIONAL_OR_KEYWORD = "positional_or_keyword"
    VAR_POSITIONAL = "var_positional"
    KEYWORD_ONLY = "keyword_only"
    VAR_KEYWORD = "var_keyword"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the scope's forward(), `self` left out. `default` is a Python expression, empty for none."""

    name: str
    kind: ParameterKind
    default: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """The modules that a trace stands for: all that match `glob` and, where `class_name` is given, are of that class.

    They run the same ops. The trace is that of `instances[0]`; what differs from instance to instance is spelled as
    the attribute of `self` that holds it.
    """

    glob: str
    class_name: str  # as the schedule names it; empty where it names none
    instances: tuple[str, ...]  # paths from the root, in the order of their calls

    def __post_init__(self) -> None:
        assert self.instances, "a scope that matches nothing has no trace"


@dataclass(frozen=True, slots=True)
class NamedDim:
    """A dynamic dim: its name, where its size is read from (`ids.shape[0]`), and the sizes that the trace holds for.

    `maximum` is None where there is none. Sizes outside of both would have made the model's Python go another way.
    """

    name: str
    expression: str
    minimum: int = 2
    maximum: int | None = None

    def __post_init__(self) -> None:
        assert self.name.isidentifier(), self.name
        assert self.maximum is None or self.minimum <= self.maximum, self


ABSENT = "absent"
"""What a place held that was not there; no constant is spelled like it."""

OF_CLASS = "class "
"""How what a place held begins that was an object, with the name of its class behind it; of a tensor, `Tensor`."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Something that forward() leaves in an object that it was given, or in a module: `target = value`.

    `target` is the expression of an attribute or item: `cache.layers[0].keys`, `self.count`. `before` is the
    constant that it held at entry; `ABSENT` where it was not there, `OF_CLASS` and a name where it held an object.
    `calls` are the module calls whose own code assigned it. `since` and `until` count ops: the first assignment is seen
    by no call before op `since`, the last by all calls from op `until` on.
    """

    target: str
    value: Argument
    calls: tuple[int, ...]
    since: int
    until: int
    before: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """One traced model.

    `determined_by` are the canonical texts of the schedule's statements that determine the trace. `digest` is the
    SHA-256 of the content without positions and sources. `result` is the tree that forward() returns.
    """

    determined_by: tuple[str, ...]
    torch_version: str
    python_version: str
    root: str  # class of the scope module, "package.module:Class"
    parameters: tuple[Parameter, ...]
    inputs: tuple[int, ...]  # values
    result: Argument
    ops: tuple[Op, ...]
    values: tuple[Value, ...]
    storages: tuple[Storage, ...]
    calls: tuple[ModuleCall, ...]  # calls[0] is the scope's own
    statements: tuple[Statement, ...]
    positions: tuple[Position, ...]
    stacks: tuple[tuple[int, ...], ...]  # of positions, outermost first
    sources: tuple[tuple[str, Source], ...]  # by the key that positions use
    warnings: tuple[str, ...] = ()  # what the tracer noticed
    digest: str = ""
    scope: Scope | None = None  # None: the root itself
    objects: tuple[tuple[str, str], ...] = ()  # what inputs are reached through, outermost first, each with its class
    constants: tuple[tuple[str, str], ...] = ()  # those in the objects that forward() is given, by their expressions
    dims: tuple[NamedDim, ...] = ()  # the dynamic dims; all other sizes are fixed
    assignments: tuple[Assignment, ...] = ()  # in the order in which they can be printed
    told: tuple[tuple[str, str], ...] = ()  # those of `warnings` that stay true of generated code, each with its code

    def __post_init__(self) -> None:
        assert self.calls and self.calls[0].parent == NONE and self.calls[0].path == "", "calls[0] is the scope's own"

    def outputs(self) -> tuple[int, ...]:
        """The values that forward() returns, left to right, and those that it leaves in its arguments; each once."""
        kept = (value for assignment in self.assignments for value in refs(assignment.value))
        return tuple(dict.fromkeys((*refs(self.result), *kept)))
