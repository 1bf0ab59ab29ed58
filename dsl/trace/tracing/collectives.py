"""Collectives in an exported graph: what they touch, and the expression that reaches their process group."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.fx import Node

from streamsched.dsl.trace.collectives import WAIT
from streamsched.dsl.trace.model import Literal, StorageKind
from streamsched.dsl.trace.tracing.accessors import attribute, module_accessor, subscript
from streamsched.dsl.trace.tracing.assembly.storages import Memory

_NAMESPACES = ("_c10d_functional", "_c10d_functional_autograd")
_GROUP = "group_name"
_DEFAULT = "torch.distributed.group.WORLD.group_name"
_DEPTH = 2


def is_wait(target: Any) -> bool:
    """Whether an operator lets the current stream wait for a collective."""
    return str(target) == WAIT


def is_collective(target: Any) -> bool:
    """Whether an operator begins a functional collective."""
    return getattr(target, "namespace", "") in _NAMESPACES and not is_wait(target)


def is_unordered(target: Any) -> bool:
    """Whether an operator communicates in a way that leaves no tensor to wait for: `dist.send`, `dist.barrier`."""
    return getattr(target, "namespace", "") == "c10d"


def group_place(target: Any) -> int:
    """The place of the group's name among a collective's arguments."""
    return next(i for i, argument in enumerate(target._schema.arguments) if argument.name == _GROUP)


def name_of_group(node: Node) -> str:
    """The name of a collective's group, in this process."""
    return str(node.args[group_place(node.target)])


class Communication:
    """The collectives of one trace: the storages that stand for their groups, and what they still work on."""

    def __init__(self, root: torch.nn.Module, memory: Memory) -> None:
        self.unreachable: list[Node] = []  # collectives whose group no expression reaches
        self.begun = False
        self._groups = Groups(root)
        self._memory = memory
        self._names: dict[str, str] = {}  # for people, by the group's own
        self._pending: dict[int, tuple[int, ...]] = {}  # by storage of a result: what the collective touches

    def waits(self, target: Any, storages: Iterable[int]) -> bool:
        """Whether a call waits for a collective, whose result lies in `storages`, for the first time."""
        return is_wait(target) and any(s in self._pending for s in storages)

    def note(self, target: Any, group: str, reads: list[int], writes: list[int]) -> None:
        """Add to what a call touches: a collective writes its `group`; whoever waits for it needs all that it works on.

        So the operands of a collective live until it is waited for, and nothing writes over them before.
        """
        if is_collective(target):
            touched = tuple(dict.fromkeys((*reads, *writes)))
            self._pending.update(dict.fromkeys(writes, touched))
            storage = self._memory.order(group, StorageKind.PROCESS_GROUP)
            reads.append(storage)
            writes.append(storage)
        elif is_wait(target):
            waited = [self._pending.pop(s) for s in tuple(reads) if s in self._pending]
            writes.extend(reads if waited else ())
            reads.extend(s for touched in waited for s in touched)

    def group(self, node: Node, path: str) -> tuple[str, Literal]:
        """What the group of a collective is called, and the expression of its name in the live model."""
        self.begun = True
        name = name_of_group(node)
        expression = self._groups.expression(name, path)
        if expression is None:
            self.unreachable.append(node)
        return self._label(name, expression or name), Literal(expression or "...")

    def _label(self, name: str, expression: str) -> str:
        """A name for people, another for each group."""
        if name not in self._names:
            wanted = label(expression)
            taken = self._names.values()
            numbered = (f"{wanted}_{number}" for number in itertools.count(2))
            self._names[name] = wanted if wanted not in taken else next(n for n in numbered if n not in taken)
        return f"group {self._names[name]}"


class Groups:
    """The process groups that can be reached from a model.

    Their names count the groups of one process, so that a trace cannot hold them: it holds the expression of an
    attribute in which every process finds its own.
    """

    def __init__(self, root: torch.nn.Module) -> None:
        self._root = root
        self._modules = dict(root.named_modules())
        self._inside = frozenset(map(id, self._modules.values()))

    def expression(self, name: str, path: str) -> str | None:
        """The expression of the name of a group, for a collective issued by the module at `path`.

        The nearest module that holds the group is asked first; None if none holds it and it is not the default group.
        """
        for owner in self._nearest_first(path):
            for found, steps in self._held(self._modules[owner], "", _DEPTH):
                if found == name:
                    return f"self{module_accessor(self._root, owner)}{steps}"
        return _DEFAULT if dist.is_initialized() and name == _name_of(dist.group.WORLD) else None

    def _nearest_first(self, path: str) -> Iterator[str]:
        names = path.split(".") if path else []
        around = [".".join(names[:length]) for length in range(len(names), -1, -1)]
        near = [owner for owner in around if owner in self._modules]
        yield from near
        yield from (owner for owner in self._modules if owner not in near)

    def _held(self, owner: object, expression: str, depth: int) -> Iterator[tuple[str, str]]:
        """The groups that the attributes of an object hold: the name of each, and the steps that lead to that name."""
        for key, value in vars(owner).items():
            step = attribute(key)
            if step is None or (key == "_modules" and isinstance(owner, torch.nn.Module)):
                continue
            reached = expression + step
            if isinstance(value, str) and "group" in key:
                yield value, reached
            for item, steps in _items(value):
                if isinstance(item, dist.ProcessGroup):
                    yield _name_of(item), f"{reached}{steps}.group_name"
                elif isinstance(item, DeviceMesh):
                    yield from _of_mesh(item, reached + steps)
                elif depth > 1 and self._may_hold(item):
                    yield from self._held(item, reached + steps, depth - 1)

    def _may_hold(self, value: object) -> bool:
        """Whether to look into an object: not into the modules of the model, which are asked themselves."""
        return (
            hasattr(value, "__dict__") and not isinstance(value, type | torch.Tensor) and id(value) not in self._inside
        )


def label(expression: str) -> str:
    """What people call a group: `tp` for `self.tp_group.group_name`."""
    if expression == _DEFAULT:
        return "world"
    names = [part for part in expression.replace(".get_group(", ".").rstrip("()").split(".") if part.isidentifier()]
    holder = next((name for name in reversed(names) if name not in ("group_name", "self")), "world")
    short = holder.removesuffix("_name").removesuffix("_group").removesuffix("_mesh").strip("_")
    return short or holder


def _items(value: object) -> Iterator[tuple[object, str]]:
    """A value, or what is in it where it is a list, a tuple or a dict, each with the step that leads there."""
    if isinstance(value, list | tuple):
        yield from ((item, f"[{index}]") for index, item in enumerate(value))
    elif isinstance(value, dict):
        yield from ((item, subscript(key)) for key, item in value.items() if isinstance(key, str | int))
    else:
        yield value, ""


def _of_mesh(mesh: DeviceMesh, expression: str) -> Iterator[tuple[str, str]]:
    names = mesh.mesh_dim_names or ()
    for dim in range(mesh.ndim):
        which = f'"{names[dim]}"' if names else str(dim)
        given = "" if mesh.ndim == 1 else which
        yield _name_of(mesh.get_group(dim)), f"{expression}.get_group({given}).group_name"


def _name_of(group: Any) -> str:
    return str(group.group_name)


def copy_model(model: torch.nn.Module, memo: dict[int, Any] | None = None) -> torch.nn.Module:
    """A deep copy of a model in the same process groups, which cannot be copied."""
    held = [item for module in model.modules() for value in vars(module).values() for item, _ in _items(value)]
    groups = {id(value): value for value in held if isinstance(value, dist.ProcessGroup | DeviceMesh)}
    return copy.deepcopy(model, (memo or {}) | groups)
