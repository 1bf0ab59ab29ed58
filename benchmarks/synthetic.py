"""Schedules and traces of any size, made up: two towers of layers, the right one fed by the left every eighth layer.

A layer issues ten ops: four in `layers.N.left`, four in `layers.N.right` (one of each four a view, which launches
nothing), and two between them. For every ten thousand ops the schedule has an edge between two groups of three
thousand ops each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

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
    Statement,
    Storage,
    StorageKind,
    Trace,
    Value,
)

OPS_PER_LAYER = 10
LAYERS_PER_EDGE = 1000
LAYERS_PER_GROUP = 750
WIDTH = 64
DETERMINED_BY = ('model "model.py:build"', f"input x, y: f16[{WIDTH}, {WIDTH}]")


def write_project(folder: Path, ops: int) -> Path:
    """A schedule with about `ops` ops and its saved trace, in `folder`. Returns the schedule's path."""
    from streamsched.dsl.trace.store import save

    layers = ops // OPS_PER_LAYER
    schedule = folder / f"ops_{ops}.sched"
    schedule.write_text(schedule_text(layers))
    save(make_trace(layers), str(folder / f"ops_{ops}.trace.json.gz"))
    return schedule


def schedule_text(layers: int) -> str:
    """The schedule: the right tower on its own stream."""
    lines = ["schedule towers", "", *DETERMINED_BY, "sync auto", "", "stream side", ""]
    edges = []
    for number, start in enumerate(range(0, layers - LAYERS_PER_EDGE + 1, LAYERS_PER_EDGE)):
        early = f"{start}..{start + LAYERS_PER_GROUP - 1}"
        late = f"{start + LAYERS_PER_EDGE - LAYERS_PER_GROUP}..{start + LAYERS_PER_EDGE - 1}"
        lines.append(f'group early_{number} = module "layers.{{{early}}}.left"')
        lines.append(f'group late_{number} = module "layers.{{{late}}}.right"')
        edges.append(f"early_{number} -> late_{number}")
    lines += ['group right = module "layers.*.right"', "", "right on side", *edges]
    return "\n".join(lines) + "\n"


def make_trace(layers: int) -> Trace:
    """The trace of `layers` layers."""
    builder = _Builder()
    left, right = builder.input("x"), builder.input("y")
    for index in range(layers):
        left, right = builder.layer(index, left, right)
    return builder.finish((left, right))


@dataclass
class _Builder:
    """Grows a trace op by op."""

    ops: list[Op] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    calls: list[ModuleCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.calls.append(_call("", NONE, 0, 0, (), Literal("None")))

    def input(self, name: str) -> int:
        """A graph input."""
        return self._value(name, self._storage(name, StorageKind.INPUT), NONE, name)

    def layer(self, index: int, left: int, right: int) -> tuple[int, int]:
        """One layer: what the towers hold after it, given what they held before."""
        path, begin, number = f"layers.{index}", len(self.ops), len(self.calls)
        self.calls.append(_call(path, 0, begin, begin + OPS_PER_LAYER, (left, right), Literal("None")))
        new_left = self._tower(f"{path}.left", number, left)
        new_right = self._tower(f"{path}.right", number, right)
        new_left = self._op("mul.Tensor", (Ref(new_left), Literal("2")), number)
        other = new_left if index % 8 == 0 else new_right
        new_right = self._op("add.Tensor", (Ref(new_right), Ref(other)), number)
        result = Sequence("tuple", (Ref(new_left), Ref(new_right)))
        self.calls[number] = _call(path, 0, begin, len(self.ops), (left, right), result)
        return new_left, new_right

    def finish(self, outputs: tuple[int, int]) -> Trace:
        """The trace that returns `outputs`."""
        result = Sequence("tuple", tuple(Ref(value) for value in outputs))
        self.calls[0] = _call("", NONE, 0, len(self.ops), (0, 1), result)
        positions = (Position("model.py", "Towers.forward", 8, 13, 8, 30),)
        return Trace(
            determined_by=DETERMINED_BY,
            torch_version="2.13.0",
            python_version="3.11",
            root="model:Towers",
            parameters=tuple(Parameter(name, ParameterKind.POSITIONAL_OR_KEYWORD) for name in ("x", "y")),
            inputs=(0, 1),
            result=result,
            ops=tuple(self.ops),
            values=tuple(self.values),
            storages=tuple(self.storages),
            calls=tuple(self.calls),
            statements=(Statement(positions[0], ("x", "y"), "x, y = layer(x, y)"),),
            positions=positions,
            stacks=((0,),),
            sources=(),
        )

    def _tower(self, path: str, parent: int, value: int) -> int:
        call, begin = len(self.calls), len(self.ops)
        self.calls.append(_call(path, parent, begin, begin + 4, (value,), Ref(value)))
        result = self._op("linear.default", (Ref(value), self._parameter(f"{path}.up")), call)
        result = self._op("view.default", (Ref(result), Literal(f"[{WIDTH}, {WIDTH}]")), call, view_of=result)
        result = self._op("relu.default", (Ref(result),), call)
        result = self._op("linear.default", (Ref(result), self._parameter(f"{path}.down")), call)
        self.calls[call] = _call(path, parent, begin, len(self.ops), (value,), Ref(result))
        return result

    def _parameter(self, path: str) -> Ref:
        name = "p_" + path.replace(".", "_")
        layers, number, rest = path.split(".", 2)
        expression = f"self.{layers}[{number}].{rest}"
        return Ref(self._value(name, self._storage(name, StorageKind.PARAMETER), NONE, expression))

    def _op(self, target: str, args: tuple[Argument, ...], call: int, view_of: int = NONE) -> int:
        """One op; the value that it makes."""
        number = len(self.ops)
        name = f"{target.split('.')[0]}_{number}"
        is_view = view_of != NONE
        storage = self.values[view_of].storages[0] if is_view else self._storage(name, StorageKind.OP)
        value = self._value(name, storage, number, "")
        reads = tuple(self.values[a.value].storages[0] for a in args if isinstance(a, Ref))
        self.ops.append(
            Op(
                name=name,
                target=f"aten.{target}",
                kind=OpKind.VIEW if is_view else OpKind.KERNEL,
                args=args,
                kwargs=(),
                result=Ref(value),
                reads=() if is_view else reads,
                writes=() if is_view else (storage,),
                call=call,
                stack=0,
                statement=0,
                visit=number // OPS_PER_LAYER,
            )
        )
        return value

    def _storage(self, name: str, kind: StorageKind) -> int:
        self.storages.append(Storage(name, kind, WIDTH * WIDTH * 2))
        return len(self.storages) - 1

    def _value(self, name: str, storage: int, producer: int, expression: str) -> int:
        shape, stride = (WIDTH, WIDTH), (WIDTH, 1)
        self.values.append(Value(name, (storage,), "float16", shape, stride, producer, expression))
        return len(self.values) - 1


def _call(path: str, parent: int, begin: int, end: int, args: tuple[int, ...], result: Argument) -> ModuleCall:
    accessor = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".") if part)
    kind = "model:Towers" if not path else "model:Layer" if path.count(".") == 1 else "model:Tower"
    return ModuleCall(path, 0, accessor, kind, parent, begin, end, tuple(Ref(value) for value in args), (), result)
