"""From an exported program and what was noted during the export to a Trace."""

from __future__ import annotations

import bisect
import inspect
import platform
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from streamsched.dsl.trace import model
from streamsched.dsl.trace.model import (
    COND,
    LEAF,
    NONE,
    Argument,
    Literal,
    Op,
    Opaque,
    OpKind,
    Parameter,
    ParameterKind,
    Position,
    Ref,
    Sequence,
    Statement,
    StorageKind,
)
from streamsched.dsl.trace.tracing import collectives
from streamsched.dsl.trace.tracing.accessors import module_accessor
from streamsched.dsl.trace.tracing.arguments import class_name, describe, is_traced, map_refs, result_tree
from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.effects import Effect, Operand
from streamsched.dsl.trace.tracing.assembly.graph import COND as COND_OP
from streamsched.dsl.trace.tracing.assembly.graph import FlatNode, flatten, references
from streamsched.dsl.trace.tracing.assembly.values import BadConstant, Values, issue_of, tag_of
from streamsched.dsl.trace.tracing.collectives import Communication
from streamsched.dsl.trace.tracing.cond import branches
from streamsched.dsl.trace.tracing.cond.names import UNKNOWN
from streamsched.dsl.trace.tracing.flags import flags, input_objects
from streamsched.dsl.trace.tracing.frames import to_characters
from streamsched.dsl.trace.tracing.provenance.calls import CallRecord
from streamsched.dsl.trace.tracing.provenance.recorder import NOWHERE, TAG, Issue, Recorder
from streamsched.dsl.trace.tracing.state.kept import State, attribute_state, state_of

_LIFTS = frozenset({"aten::lift_fresh_copy", "aten::lift_fresh", "aten::detach_", "aten::detach", "aten::alias"})


@dataclass(frozen=True, slots=True)
class Assembled:
    """The parts of a trace that come from the graph, and the nodes that kept it from being one."""

    values: Values
    inputs: tuple[int, ...]
    ops: tuple[Op, ...]
    calls: tuple[model.ModuleCall, ...]
    result: Argument
    unsupported: tuple[Node, ...]
    bad_constants: tuple[BadConstant, ...]
    objects: tuple[tuple[str, str], ...]
    constants: tuple[tuple[str, str], ...]
    communication: Communication
    unspelled: tuple[Node, ...]  # numbers made of named dims that have no printed form
    state: State


def assemble(
    root: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    program: ExportedProgram,
    recorder: Recorder,
) -> Assembled:
    """Ops, values and module calls of an exported program."""
    builder = _Ops(root, program, recorder)
    inputs = builder.values.add_inputs(args, kwargs)
    builder.add_all()
    calls = tuple(builder.call(record) for record in recorder.calls.records)
    given = inspect.signature(root.forward).bind(*args, **kwargs).arguments
    state, changed = builder.state(), builder.changed()
    reached = [builder.values[index].expression for index in inputs] + [
        _around(each.target) for each in state.assignments
    ]
    return Assembled(
        builder.values,
        inputs,
        tuple(builder.ops),
        calls,
        calls[0].result,
        tuple(builder.flat.unsupported),
        tuple(builder.values.bad),
        input_objects(given, reached),
        tuple(recorder.calls.constants),
        builder.communication,
        tuple(builder.unspelled),
        State(state.assignments + changed.assignments, state.refused + changed.refused),
    )


def _around(target: str) -> str:
    """What a place is reached through, up to the first list on the way: an item need not stand for all of them."""
    return target.partition("[")[0]


class _Ops:
    """The ops of a trace in the making."""

    def __init__(self, root: torch.nn.Module, program: ExportedProgram, recorder: Recorder) -> None:
        self.flat = flatten(program.graph_module)
        self.values = Values(root, program, self.flat, recorder)
        self.communication = collectives.Communication(root, self.values.memory)
        self.ops: list[Op] = []
        self.unspelled: list[Node] = []
        self._root = root
        self._recorder = recorder
        self._dims = recorder.dims
        self._moments: list[int] = []  # by op
        self._node_of_tag: dict[int, Node] = {}

    def add_all(self) -> None:
        """The operator calls in order, then the assignments to buffers, which take effect as forward() ends."""
        moment = 0
        for flat in self.flat.nodes:
            moment = max(moment, issue_of(flat.node) or 0)
            if not self._is_left_out(flat.node):
                self._moments.append(moment)
                self._add(flat, self._recorder.issues.get(moment, NOWHERE))
        self._find_tags()
        for path, tag in self._recorder.assignments.items():
            self._assign(path, tag)

    def _is_left_out(self, node: Node) -> bool:
        if self._dims.is_number(node.meta.get("val")):
            return True
        if not isinstance(node.target, torch._ops.OpOverload):
            return False
        return effects.is_assert(node.target) or self._is_lift(node) or self._is_epilogue(node)

    def _is_lift(self, node: Node) -> bool:
        """Whether a node only turns a constant into a tensor of the model's; the constant then stands for it."""
        if effects.base_name(node.target) not in _LIFTS:
            return False
        source = self.flat.resolve(node.args[0])  # type: ignore[arg-type]
        spec = self.values.placeholders.get(source)
        if spec is None or spec.kind is not InputKind.CONSTANT_TENSOR or issue_of(source) != issue_of(node):
            return False
        self.flat.same[node] = source
        if TAG in node.meta["custom"]:
            source.meta["custom"].setdefault(TAG, node.meta["custom"][TAG])
        return True

    def _is_epilogue(self, node: Node) -> bool:
        """Whether torch.export appended this node for an assignment to a buffer of the root."""
        if node.target is not torch.ops.aten.copy_.default:
            return False
        buffer, source = node.args[:2]
        spec = self.values.placeholders.get(buffer) if isinstance(buffer, Node) else None
        if spec is None or spec.kind is not InputKind.BUFFER or not isinstance(source, Node):
            return False
        return spec.target in self._recorder.assignments and issue_of(source) == issue_of(node)

    # One op

    def _add(self, flat: FlatNode, issue: Issue) -> None:
        node = flat.node
        conditional = self._conditional(node, issue) if node in self.flat.branches else None
        if isinstance(conditional, Node):
            if conditional not in self.flat.unsupported:
                self.flat.unsupported.append(conditional)
            return
        operands = self._operands(node) if conditional is None else conditional.given(self.values.tensor)
        results = self._results(node)
        effect = self._effect(node, operands, [tensor for _, _, tensor in results])
        if collectives.is_wait(node.target):
            effect = self._joining(node, operands)
        if conditional is not None:
            effect = conditional.effect()
        looks = not effects.looks_at_metadata(node.target)
        reads = [s for value, operand in operands if looks and not operand.out for s in self.values[value].storages]
        if effect.kind is OpKind.VIEW:
            writes = []
        else:
            writes = [s for value, operand in operands if operand.written for s in self.values[value].storages]
        if effect.random:
            generator = self.values.memory.order("generator", StorageKind.GENERATOR)
            reads.append(generator)
            writes.append(generator)
        if effect.host_sync:
            writes.append(self.values.memory.order("host", StorageKind.HOST))
        args = [self._argument(arg) for arg in node.args] if conditional is None else conditional.arguments()
        group = ""
        if collectives.is_collective(node.target):
            path = self._recorder.calls.records[issue.call].path
            group, args[collectives.group_place(node.target)] = self.communication.group(node, path)
        made = [
            self._place(name, result, tensor, placement, operands, writes, issue)
            for (name, result, tensor), placement in zip(results, effect.placements, strict=True)
        ]
        self.communication.note(node.target, group, reads, writes)
        result = result_tree(node.meta.get("val"), iter(made))
        self.ops.append(
            Op(
                name=node.name,
                target=LEAF if self._recorder.leaves.of(node.target) else _target(node.target),
                kind=effect.kind,
                args=tuple(args),
                kwargs=tuple((name, self._argument(arg)) for name, arg in node.kwargs.items()),
                result=Ref(made[0]) if conditional is not None and len(made) == 1 else result,
                reads=tuple(dict.fromkeys(reads)),
                writes=tuple(dict.fromkeys(writes)),
                call=issue.call,
                stack=issue.stack,
                statement=issue.statement,
                visit=issue.visit,
                random=effect.random,
                host_sync=effect.host_sync,
                contexts=flat.contexts,
            )
        )

    def _conditional(self, node: Node, issue: Issue) -> branches.Conditional | Node:
        """The call of `torch.cond` that a node is, or the node in a branch that no branch of a trace can have."""
        called = self._recorder.branches.get(issue_of(node) or 0, UNKNOWN)
        graphs = self.flat.branches[node]

        def name(value: int) -> str:
            return self.values[value].local or self.values[value].name

        return branches.conditional(node, graphs, called, self.values.of, name, self._dims)

    def _operands(self, node: Node) -> list[tuple[int, Operand]]:
        """The values among a node's arguments, in the order of the schema."""
        if not isinstance(node.target, torch._ops.OpOverload):
            found = [self.values.of(n) for n in references((node.args, node.kwargs))]
            return [(v, Operand(self.values.tensor(v), False, False, frozenset())) for v in found if v is not None]
        operands: list[tuple[int, Operand]] = []
        for argument, given in effects.operands(node.target, node.args, node.kwargs):
            info = argument.alias_info
            sets = frozenset(info.before_set) if info is not None else frozenset()
            for reference in references(given):
                value = self.values.of(reference)
                if value is not None:
                    written = effects.is_written(argument)
                    tensor = self.values.tensor(value)
                    operands.append((value, Operand(tensor, written, written and argument.is_out, sets)))
        return operands

    def _effect(self, node: Node, operands: list[tuple[int, Operand]], results: list[Any]) -> Effect:
        given = [operand for _, operand in operands]
        leaf = self._recorder.leaves.of(node.target)
        if leaf is not None:
            return leaf.effect(given)
        if isinstance(node.target, torch._ops.OpOverload):
            values = effects.argument_values(node.target, node.args, node.kwargs)
            return effects.analyse(node.target, values, given, results)
        placements = tuple(effects.Placement((), False, None) for _ in results)
        return Effect(OpKind.VIEW, False, False, placements)  # Python's arithmetic on traced numbers

    def _joining(self, node: Node, operands: list[tuple[int, Operand]]) -> Effect:
        """The effect of a wait for a collective, which takes a place in its stream; of any later one, none."""
        storages = [s for value, _ in operands for s in self.values[value].storages]
        kind = OpKind.KERNEL if self.communication.waits(node.target, storages) else OpKind.VIEW
        return Effect(kind, False, False, (effects.Placement((0,), False, None),))

    def _results(self, node: Node) -> list[tuple[str, Node | None, Any]]:
        """Name, node and tensor of each value that a node makes."""
        value = node.meta.get("val")
        if not isinstance(value, list | tuple):
            return [(node.name, node, value)] if is_traced(value) else []
        elements = self.flat.elements.get(node, {})
        is_leaf = self._recorder.leaves.of(node.target) is not None
        found: list[tuple[str, Node | None, Any]] = []
        for index, tensor in enumerate(value):
            if is_traced(tensor):
                first, *others = elements.get(index, [None])
                self.flat.same.update((other, first) for other in others if other is not None)
                name = first.name if first is not None and not is_leaf else f"{node.name}_result_{index}"
                found.append((name, first, tensor))
        return found

    def _place(
        self,
        name: str,
        node: Node | None,
        tensor: Any,
        placement: effects.Placement,
        operands: list[tuple[int, Operand]],
        writes: list[int],
        issue: Issue,
    ) -> int:
        """The value of one result; a fresh storage counts as written."""
        producer = len(self.ops)
        if not isinstance(tensor, torch.Tensor):
            host = self.values.memory.order("host", StorageKind.HOST)
            return self.values.add(name, node, tensor, (host,), producer, issue)
        shared = [s for i in placement.operands for s in self.values[operands[i][0]].storages]
        if placement.fresh:
            known = () if shared else self.values.memory.known(tensor)
            fresh = known or (self.values.memory.fresh(name, StorageKind.OP, tensor),)
            writes.extend(fresh)
            shared.extend(fresh)
        same = operands[placement.same][0] if placement.same is not None else NONE
        return self.values.add(name, node, tensor, tuple(dict.fromkeys(shared)), producer, issue, same)

    def _argument(self, given: Any) -> Argument:
        def tensor(value: object) -> Argument | None:
            if not isinstance(value, Node):
                return None
            number = self._number(value)
            if number is not None:
                return number
            index = self.values.of(value)
            return Opaque(value.name) if index is None else Ref(index)

        return describe(given, tensor)

    def _number(self, node: Node) -> Argument | None:
        """A number that the named dims decide, as an expression over them; None for other nodes."""
        node = self.flat.resolve(node)
        if not self._dims.is_number(node.meta.get("val")):
            return None
        text = self._dims.number(node)
        if text is None:
            self.unspelled.append(node)
        return Literal(text or "...")

    # Assignments to buffers

    def _assign(self, path: str, tag: int) -> None:
        """`self.buffer = tensor`: the buffer holds the tensor's data once forward() is over."""
        placeholders = self.values.placeholders.items()
        node = next((n for n, s in placeholders if s.kind is InputKind.BUFFER and s.target == path), None)
        source = self._value_of_tag(tag)
        buffer = self.values.of(node) if node is not None else None
        if node is None or source is None or buffer is None:
            return
        storages = self.values[buffer].storages
        if set(storages) & set(self.values[source].storages):
            return
        name = f"assign_{node.name}"
        issue = self._recorder.issues.get(issue_of(self._node_of_tag[tag]) or 0, NOWHERE)
        result = self.values.add(name, None, node.meta["val"], storages, len(self.ops), NOWHERE, buffer)
        self._moments.append(self._recorder.calls.records[0].left)
        self.ops.append(
            Op(
                name=name,
                target="aten.copy_.default",
                kind=OpKind.KERNEL,
                args=(Ref(buffer), Ref(source)),
                kwargs=(),
                result=Ref(result),
                reads=self.values[source].storages,
                writes=storages,
                call=0,
                stack=issue.stack,
                statement=issue.statement,
                visit=issue.visit,
            )
        )

    # Module calls

    def _find_tags(self) -> None:
        nodes = [*self.values.placeholders, *(flat.node for flat in self.flat.nodes)]
        nodes += [node for elements in self.flat.elements.values() for same in elements.values() for node in same]
        for node in nodes:
            if isinstance(node.target, torch._ops.OpOverload) and effects.is_assert(node.target):
                continue  # it carries the annotations of the node that it looks at
            tag = tag_of(node)
            if tag is not None:
                self._node_of_tag.setdefault(tag, node)

    def _value_of_tag(self, tag: int) -> int | None:
        node = self._node_of_tag.get(tag)
        return None if node is None else self.values.of(node)

    def call(self, record: CallRecord) -> model.ModuleCall:
        """A module call, its arguments and result as values."""
        begin = bisect.bisect_right(self._moments, record.entered)
        end = bisect.bisect_left(self._moments, record.left) if record.parent != NONE else len(self.ops)
        accessor = module_accessor(self._root, record.path)
        return model.ModuleCall(
            path=record.path,
            occurrence=record.occurrence,
            accessor=accessor,
            type=class_name(type(record.module)),
            parent=record.parent,
            begin=begin,
            end=end,
            args=tuple(self._traced(arg) for arg in record.args),
            kwargs=tuple((name, self._traced(arg, begin)) for name, arg in record.kwargs),
            result=self._traced(record.result),
            branches_on_compiling=record.asks_compiling,
            hooked=record.hooked,
            flags=flags(record.module, f"self{accessor}"),
        )

    def state(self) -> State:
        """What forward() leaves in its arguments."""
        calls = self._recorder.calls
        puts = [(put, self._traced(value)) for put, value in calls.puts]
        result = self._traced(calls.records[0].result)
        return state_of(puts, self._moments, self.ops, self.values.all(), result)

    def changed(self) -> State:
        """What forward() leaves in plain attributes of modules, where it may look at that when it runs again."""
        recorder = self._recorder
        return attribute_state(recorder.calls, recorder.positions.codes(), len(self.ops))

    def _traced(self, argument: Argument, before: int | None = None) -> Argument:
        """A tree whose `Ref`s hold tags, with values in their place.

        Keyword arguments are seen only when the call is over: `before` is its first op, and an object that the call
        updates in place is taken as it was before.
        """

        def change(tag: int) -> Argument:
            node = self._node_of_tag.get(tag)
            number = self._number(node) if node is not None else None
            if number is not None:
                return number
            value = self._value_of_tag(tag)
            while value is not None and before is not None and self.values[value].producer >= before:
                if self.values[value].same_object == NONE:
                    break
                value = self.values[value].same_object
            return Opaque("a tensor") if value is None else Ref(value)

        return map_refs(argument, change)


def _target(target: Any) -> str:
    if target is COND_OP:
        return COND
    if isinstance(target, torch._ops.OpOverload):
        return str(target)
    return f"{target.__module__.lstrip('_')}.{target.__name__}"


def parameters(root: torch.nn.Module) -> tuple[Parameter, ...]:
    """The parameters of forward(). A default that has no printed form is `...`."""
    found: list[Parameter] = []
    for parameter in inspect.signature(root.forward).parameters.values():
        default = "" if parameter.default is parameter.empty else spell(describe(parameter.default, lambda _: None))
        found.append(Parameter(parameter.name, ParameterKind[parameter.kind.name], default))
    return tuple(found)


def spell(argument: Argument) -> str:
    """A tree of constants as a Python expression."""
    if isinstance(argument, Literal):
        return argument.text
    if isinstance(argument, Sequence) and argument.kind != "slice":
        items = ", ".join(map(spell, argument.items))
        if argument.kind == "list":
            return f"[{items}]"
        return f"({items},)" if len(argument.items) == 1 else f"({items})"
    if isinstance(argument, model.Mapping):
        return "{" + ", ".join(f"{k}: {spell(v)}" for k, v in zip(argument.keys, argument.items, strict=True)) + "}"
    return "..."


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


def versions() -> tuple[str, str]:
    """torch's version without its build, and Python's without its patch level."""
    return torch.__version__.partition("+")[0], ".".join(platform.python_version_tuple()[:2])
