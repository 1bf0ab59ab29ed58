"""Small traces built by hand, for tests that need no torch."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsched.dsl.trace.collectives import WAIT
from streamsched.dsl.trace.model import (
    NONE,
    Argument,
    Literal,
    ModuleCall,
    Op,
    OpKind,
    Parameter,
    ParameterKind,
    Position,
    Ref,
    Sequence,
    Source,
    Statement,
    Storage,
    StorageKind,
    Trace,
    Value,
)

ROOT = "model:Model"


@dataclass
class TraceBuilder:
    """Builds a trace op by op; values are known by name. Each op is a statement of its own that binds its name."""

    ops: list[Op] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    calls: list[ModuleCall] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    parameters: list[Parameter] = field(default_factory=list)
    pending: dict[str, tuple[int, ...]] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)
    open_calls: list[tuple[str, int]] = field(default_factory=list)

    def storage(self, name: str, kind: StorageKind = StorageKind.OP, nbytes: int = 64) -> int:
        self.storages.append(Storage(name, kind, nbytes))
        return len(self.storages) - 1

    def input(self, *names: str, kind: StorageKind = StorageKind.INPUT) -> None:
        for name in names:
            expression = name if kind is StorageKind.INPUT else f"self.{name}"
            self._value(name, (self.storage(name, kind),), NONE, expression)
            if kind is StorageKind.INPUT:
                self.parameters.append(Parameter(name, ParameterKind.POSITIONAL_OR_KEYWORD))

    def kernel(self, name: str, *reads: str, inplace: str = "", copies: str = "", random: bool = False) -> None:
        """A kernel that reads values and makes `name`; in place on a value, or perhaps an alias of one."""
        read = self._storages(*reads)
        writes: tuple[int, ...] = ()
        same = NONE
        if inplace:
            lies = self._storages(inplace)
            read += tuple(s for s in lies if s not in read)
            same = self.names[inplace]
            writes = lies
        elif copies:
            read += self._storages(copies)
            fresh = self.storage(name)
            lies, writes = (*self._storages(copies), fresh), (fresh,)
        else:
            lies = writes = (self.storage(name),)
        if random:
            writes += (self.generator(),)
        arguments = [*([inplace] if inplace else []), *([copies] if copies else []), *reads]
        self._op(name, "aten.mm.default", OpKind.KERNEL, arguments, read, writes, lies, same, random)

    def view(self, name: str, of: str) -> None:
        self._op(name, "aten.view.default", OpKind.VIEW, [of], (), (), self._storages(of))

    def empty(self, name: str) -> None:
        fresh = self.storage(name)
        self._op(name, "aten.empty.memory_format", OpKind.ALLOCATE, [], (), (fresh,), (fresh,))

    def collective(self, name: str, group: str, *reads: str) -> None:
        """A collective of a process group begins; `wait` is to wait for it."""
        storages = [i for i, s in enumerate(self.storages) if s.name == f"group {group}"]
        order = storages[0] if storages else self.storage(f"group {group}", StorageKind.PROCESS_GROUP, 0)
        fresh = self.storage(name)
        read = (*self._storages(*reads), order)
        self.pending[name] = read
        target = "_c10d_functional.all_reduce.default"
        self._op(name, target, OpKind.KERNEL, list(reads), read, (fresh, order), (fresh,))

    def wait(self, name: str, of: str) -> None:
        """Wait for the collective `of`, whose result is `name` from here on."""
        lies = self._storages(of)
        groups = [i for i in self.pending[of] if self.storages[i].kind is StorageKind.PROCESS_GROUP]
        reads = (*lies, *(i for i in self.pending[of] if i not in groups))
        self._op(name, WAIT, OpKind.KERNEL, [of], reads, lies, lies)

    def generator(self) -> int:
        for index, storage in enumerate(self.storages):
            if storage.kind is StorageKind.GENERATOR:
                return index
        return self.storage("generator", StorageKind.GENERATOR, 0)

    def begin(self, path: str) -> None:
        self.open_calls.append((path, len(self.ops)))

    def end(self) -> None:
        path, begin = self.open_calls.pop()
        occurrence = sum(call.path == path for call in self.calls)
        accessor = "." + path
        call = ModuleCall(path, occurrence, accessor, f"model:{path}", 0, begin, len(self.ops), (), (), Literal("None"))
        self.calls.append(call)

    def build(self, *outputs: str) -> Trace:
        root = ModuleCall("", 0, "", ROOT, NONE, 0, len(self.ops), (), (), Literal("None"))
        return Trace(
            (),
            "2.13.0",
            "3.11",
            ROOT,
            tuple(self.parameters),
            tuple(i for i, v in enumerate(self.values) if v.expression and not v.expression.startswith("self.")),
            Sequence("tuple", tuple(Ref(self.names[name]) for name in outputs)),
            tuple(self.ops),
            tuple(self.values),
            tuple(self.storages),
            (root, *self.calls),
            tuple(self.statements),
            tuple(self.positions),
            tuple((index,) for index in range(len(self.positions))),
            (("model.py", Source("model.py", "0" * 64)),),
            digest="0" * 64,
        )

    def _storages(self, *names: str) -> tuple[int, ...]:
        return tuple(dict.fromkeys(s for name in names for s in self.values[self.names[name]].storages))

    def _value(
        self, name: str, storages: tuple[int, ...], producer: int, expression: str = "", same: int = NONE
    ) -> int:
        unique = name if all(v.name != name for v in self.values) else f"{name}_{len(self.values)}"
        local = name if producer != NONE else ""
        self.values.append(
            Value(unique, storages, "float32", (4, 4), (4, 1), producer, expression, local, same_object=same)
        )
        self.names[name] = len(self.values) - 1
        return self.names[name]

    def _op(
        self,
        name: str,
        target: str,
        kind: OpKind,
        arguments: list[str],
        reads: tuple[int, ...],
        writes: tuple[int, ...],
        lies: tuple[int, ...],
        same: int = NONE,
        random: bool = False,
    ) -> None:
        index = len(self.ops)
        args: tuple[Argument, ...] = tuple(Ref(self.names[a]) for a in arguments)
        value = self._value(name, lies, index, same=same)
        line = index + 10
        self.positions.append(Position("model.py", "Model.forward", line, 9, line, 20))
        self.statements.append(Statement(self.positions[-1], (name,), f"{name} = ..."))
        self.ops.append(
            Op(
                self.values[value].name,
                target,
                kind,
                args,
                (),
                Ref(value),
                reads,
                writes,
                0,
                len(self.positions) - 1,
                len(self.statements) - 1,
                random=random,
            )
        )
