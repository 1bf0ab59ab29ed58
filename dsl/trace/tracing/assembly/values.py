"""The values of a trace: graph nodes, and what becomes of them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec
from torch.fx import Node

from streamsched.dsl.trace.model import NONE, Dim, StorageKind, Value
from streamsched.dsl.trace.tracing import accessors
from streamsched.dsl.trace.tracing.assembly import constants
from streamsched.dsl.trace.tracing.assembly.graph import FlatGraph
from streamsched.dsl.trace.tracing.assembly.storages import Memory
from streamsched.dsl.trace.tracing.dims.symbols import Dims
from streamsched.dsl.trace.tracing.provenance.issues import ISSUE, NOWHERE, TAG, Issue
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder


@dataclass(frozen=True, slots=True)
class BadConstant:
    """A constant that cannot be written out."""

    node: Node
    message: str


def tag_of(node: Node | None) -> int | None:
    """The tag on a node."""
    tag = node.meta.get("custom", {}).get(TAG) if node is not None else None
    return tag if isinstance(tag, int) else None


def issue_of(node: Node) -> int | None:
    """The issue that made a node."""
    issue = node.meta.get("custom", {}).get(ISSUE)
    return issue if isinstance(issue, int) else None


class Values:
    """Every value so far. Inputs come first; parameters, buffers and constants when first asked for."""

    def __init__(self, root: torch.nn.Module, program: ExportedProgram, flat: FlatGraph, recorder: Recorder) -> None:
        self.memory = Memory(recorder.dims.size)
        self.bad: list[BadConstant] = []
        self._root = root
        self._modules = dict(root.named_modules())
        self._program = program
        self._flat = flat
        self._recorder = recorder
        self._dims = recorder.dims
        self._values: list[Value] = []
        self._tensors: list[Any] = []
        self._of_node: dict[Node, int] = {}
        specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
        self.placeholders: dict[Node, InputSpec] = {
            node: specs[node.name] for node in program.graph.nodes if node.op == "placeholder"
        }
        flat.same.update(self._tied())

    def all(self) -> tuple[Value, ...]:
        """The values by index."""
        return tuple(self._values)

    def __getitem__(self, index: int) -> Value:
        return self._values[index]

    def tensor(self, index: int) -> Any:
        """The fake tensor, or the traced number, that a value was."""
        return self._tensors[index]

    def _tied(self) -> dict[Node, Node]:
        """The later placeholders of parameters and buffers with several names, each with the first."""
        first: dict[int, Node] = {}
        later: dict[Node, Node] = {}
        for node, spec in self.placeholders.items():
            if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                owner, _, name = str(spec.target).rpartition(".")
                before = first.setdefault(id(getattr(self._root.get_submodule(owner), name)), node)
                if before is not node:
                    later[node] = before
        return later

    def of(self, node: Node) -> int | None:
        """The value of a node; None where it has none (an assertion, an argument that is no tensor)."""
        node = self._flat.resolve(node)
        if node in self._of_node:
            return self._of_node[node]
        spec = self.placeholders.get(node)
        if spec is None or not isinstance(node.meta.get("val"), torch.Tensor):
            return None
        return self._state(node, spec)

    def add(
        self,
        name: str,
        node: Node | None,
        tensor: Any,
        storages: tuple[int, ...],
        producer: int,
        issue: Issue,
        same: int = NONE,
    ) -> int:
        """A value that the op `producer` makes, issued by `issue`."""
        return self._add(name, node, tensor, storages, producer, "", issue, same)

    def add_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
        """The tensors that forward() is called with, in the order of its parameters."""
        bound = inspect.signature(self._root.forward).bind(*args, **kwargs)
        expressions: dict[int, list[str]] = {}
        for name, value in bound.arguments.items():
            for expression, tensor in accessors.nested_tensors(name, value):
                expressions.setdefault(id(tensor), []).append(expression)
        leaves = torch.utils._pytree.tree_leaves((args, kwargs))
        nodes = [node for node, spec in self.placeholders.items() if spec.kind is InputKind.USER_INPUT]
        added: list[int] = []
        for node, leaf in zip(nodes, leaves, strict=True):
            if isinstance(leaf, torch.Tensor):
                spelled = expressions.get(id(leaf)) or [node.name]
                expression = spelled.pop(0) if len(spelled) > 1 else spelled[0]
                added.append(self._outer(node, StorageKind.INPUT, expression))
        return tuple(added)

    def _outer(self, node: Node, kind: StorageKind, expression: str) -> int:
        tensor = node.meta["val"]
        storages = self.memory.known(tensor) or (self.memory.fresh(node.name, kind, tensor),)
        return self._add(node.name, node, tensor, storages, NONE, expression, NOWHERE, NONE)

    def _state(self, node: Node, spec: InputSpec) -> int | None:
        target = str(spec.target)
        if spec.kind is InputKind.PARAMETER:
            accessor = accessors.tensor_accessor(self._root, target, "get_parameter")
            return self._outer(node, StorageKind.PARAMETER, f"self{accessor}")
        if spec.kind is InputKind.BUFFER:
            accessor = accessors.tensor_accessor(self._root, target, "get_buffer")
            return self._outer(node, StorageKind.BUFFER, f"self{accessor}")
        if spec.kind is InputKind.CONSTANT_TENSOR:
            return self._outer(node, StorageKind.CONSTANT, self._constant(node, target))
        return None

    def _constant(self, node: Node, target: str) -> str:
        owner, _, name = target.rpartition(".")
        if isinstance(getattr(self._modules.get(owner), name, None), torch.Tensor):
            return "self" + accessors.tensor_accessor(self._root, target, "get_buffer")
        tensor = self._program.constants[target]
        expression = constants.expression(tensor)
        if expression is None:
            shape = list(node.meta["val"].shape)
            known = constants.has_values(tensor)
            reason = "has too many elements to be written out" if known else "has no values while tracing"
            self.bad.append(BadConstant(node, f"a constant of shape {shape} {reason}"))
        return expression or "..."

    def _add(
        self,
        name: str,
        node: Node | None,
        tensor: Any,
        storages: tuple[int, ...],
        producer: int,
        expression: str,
        issue: Issue,
        same: int,
    ) -> int:
        tag = tag_of(node)
        local = self._recorder.local_name(tag, issue.statement) if tag is not None else ""
        inner = self._recorder.inner_name(tag, issue.call) if tag is not None else ""
        if same != NONE:  # the object keeps its name
            local = self._values[same].local or local
            inner = self._values[same].inner or inner
        aliases = self._recorder.locals.aliases(tag, local) if tag is not None else ()
        if isinstance(tensor, torch.Tensor):
            self.memory.place(tensor, storages)
        dtype, shape, stride = layout(tensor, self._dims)
        index = len(self._values)
        names = local, inner, same, aliases
        self._values.append(Value(name, storages, dtype, shape, stride, producer, expression, *names))
        self._tensors.append(tensor)
        if node is not None:
            self._of_node[node] = index
        return index


def layout(tensor: Any, dims: Dims) -> tuple[str, tuple[Dim, ...], tuple[Dim, ...]]:
    """dtype, shape and stride; a traced number has the dtype of its class."""
    if not isinstance(tensor, torch.Tensor):
        kinds = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}
        return kinds.get(type(tensor), type(tensor).__name__), (), ()
    strided = tensor.layout is torch.strided
    stride = tuple(map(dims.size, tensor.stride())) if strided else ()
    return str(tensor.dtype).removeprefix("torch."), tuple(map(dims.size, tensor.shape)), stride
