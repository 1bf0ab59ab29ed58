"""The ops of a trace, in program order."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Node

from streamsched.dsl.trace.model import COND, LEAF, NONE, Argument, Op, OpKind, Ref, StorageKind
from streamsched.dsl.trace.tracing import collectives
from streamsched.dsl.trace.tracing.arguments import is_traced, result_tree
from streamsched.dsl.trace.tracing.assembly import effects
from streamsched.dsl.trace.tracing.assembly.effects import Effect, Operand, Placement
from streamsched.dsl.trace.tracing.assembly.graph import COND as COND_OP
from streamsched.dsl.trace.tracing.assembly.graph import FlatNode, flatten
from streamsched.dsl.trace.tracing.assembly.operands import Operands
from streamsched.dsl.trace.tracing.assembly.skipped import is_skipped
from streamsched.dsl.trace.tracing.assembly.tags import Tags
from streamsched.dsl.trace.tracing.assembly.values import Values, issue_of
from streamsched.dsl.trace.tracing.cond.branches import Conditional, conditional
from streamsched.dsl.trace.tracing.cond.names import UNKNOWN
from streamsched.dsl.trace.tracing.provenance.issues import NOWHERE, Issue
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder


class Ops:
    """The ops of an exported program, with the values that they make; `moments` are the recorder's, by op."""

    def __init__(self, root: torch.nn.Module, program: ExportedProgram, recorder: Recorder) -> None:
        self.flat = flatten(program.graph_module)
        self.values = Values(root, program, self.flat, recorder)
        self.operands = Operands(self.flat, self.values, recorder.dims)
        self.communication = collectives.Communication(root, self.values.memory)
        self.ops: list[Op] = []
        self.moments: list[int] = []
        self._recorder = recorder

    def add_all(self) -> Tags:
        """The operator calls in order, then the assignments to buffers, which take effect as forward() ends."""
        assigned = self._recorder.assignments
        moment = 0
        for flat in self.flat.nodes:
            moment = max(moment, issue_of(flat.node) or 0)
            is_number = self._recorder.dims.is_number(flat.node.meta.get("val"))
            if not is_number and not is_skipped(flat.node, self.flat, self.values, assigned):
                self.moments.append(moment)
                self._add(flat, self._recorder.issues.get(moment, NOWHERE))
        tags = Tags(self.flat, self.values)
        for path, tag in assigned.items():
            self._assign(path, tag, tags)
        return tags

    # One op

    def _add(self, flat: FlatNode, issue: Issue) -> None:
        node = flat.node
        chosen = self._conditional(node, issue) if node in self.flat.branches else None
        if isinstance(chosen, Node):
            if chosen not in self.flat.unsupported:
                self.flat.unsupported.append(chosen)
            return
        operands = self.operands.of(node) if chosen is None else chosen.given(self.values.tensor)
        results = self._results(node)
        effect = (
            self._effect(node, operands, [tensor for _, _, tensor in results]) if chosen is None else chosen.effect()
        )
        reads, writes = self._touched(node, operands, effect)
        args = [self.operands.argument(arg) for arg in node.args] if chosen is None else chosen.arguments()
        group = self._reach_group(node, issue, args)
        made = [
            self._place(name, result, tensor, placement, operands, writes, issue)
            for (name, result, tensor), placement in zip(results, effect.placements, strict=True)
        ]
        self.communication.note(node.target, group, reads, writes)
        result = result_tree(node.meta.get("val"), iter(made))
        self.ops.append(
            Op(
                name=node.name,
                target=self._target(node.target),
                kind=effect.kind,
                args=tuple(args),
                kwargs=tuple((name, self.operands.argument(arg)) for name, arg in node.kwargs.items()),
                result=Ref(made[0]) if chosen is not None and len(made) == 1 else result,
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

    def _target(self, target: Any) -> str:
        if target is COND_OP:
            return COND
        if self._recorder.leaves.of(target):
            return LEAF
        if isinstance(target, torch._ops.OpOverload):
            return str(target)
        return f"{target.__module__.lstrip('_')}.{target.__name__}"

    def _conditional(self, node: Node, issue: Issue) -> Conditional | Node:
        """The call of `torch.cond` that a node is, or the node in a branch that no branch of a trace can have."""
        called = self._recorder.branches.get(issue_of(node) or 0, UNKNOWN)
        graphs = self.flat.branches[node]

        def name(value: int) -> str:
            return self.values[value].local or self.values[value].name

        return conditional(node, graphs, called, self.values.of, name, self._recorder.dims)

    def _reach_group(self, node: Node, issue: Issue, args: list[Argument]) -> str:
        """What the process group of a collective is called, with its expression put among `args`; else nothing."""
        if not collectives.is_collective(node.target):
            return ""
        path = self._recorder.calls.records[issue.call].path
        group, args[collectives.group_place(node.target)] = self.communication.group(node, path)
        return group

    # What it does

    def _effect(self, node: Node, operands: list[tuple[int, Operand]], results: list[Any]) -> Effect:
        if collectives.is_wait(node.target):
            return self._joining(node, operands)
        given = [operand for _, operand in operands]
        leaf = self._recorder.leaves.of(node.target)
        if leaf is not None:
            return leaf.effect(given)
        if isinstance(node.target, torch._ops.OpOverload):
            values = effects.argument_values(node.target, node.args, node.kwargs)
            return effects.analyse(node.target, values, given, results, self._recorder.casts.possible)
        placements = tuple(Placement((), False, None) for _ in results)
        return Effect(OpKind.VIEW, False, False, placements)  # Python's arithmetic on traced numbers

    def _joining(self, node: Node, operands: list[tuple[int, Operand]]) -> Effect:
        """The effect of a wait for a collective, which takes a place in its stream; of any later one, none."""
        storages = [s for value, _ in operands for s in self.values[value].storages]
        kind = OpKind.KERNEL if self.communication.waits(node.target, storages) else OpKind.VIEW
        return Effect(kind, False, False, (Placement((0,), False, None),))

    def _touched(self, node: Node, operands: list[tuple[int, Operand]], effect: Effect) -> tuple[list[int], list[int]]:
        """The storages that a call reads and writes, those of its fresh results left out."""
        looks = not effects.looks_at_metadata(node.target)
        reads = [s for value, operand in operands if looks and not operand.out for s in self.values[value].storages]
        writes = [
            s
            for value, operand in operands
            if operand.written and effect.kind is not OpKind.VIEW
            for s in self.values[value].storages
        ]
        if effect.random:
            generator = self.values.memory.order("generator", StorageKind.GENERATOR)
            reads.append(generator)
            writes.append(generator)
        if effect.host_sync:
            writes.append(self.values.memory.order("host", StorageKind.HOST))
        return reads, writes

    # What it makes

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
        placement: Placement,
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

    # Assignments to buffers

    def _assign(self, path: str, tag: int, tags: Tags) -> None:
        """`self.buffer = tensor`: the buffer holds the tensor's data once forward() is over."""
        placeholders = self.values.placeholders.items()
        node = next((n for n, s in placeholders if s.kind is InputKind.BUFFER and s.target == path), None)
        source, source_node = tags.value(tag), tags.node(tag)
        buffer = self.values.of(node) if node is not None else None
        if node is None or source is None or source_node is None or buffer is None:
            return
        storages = self.values[buffer].storages
        if set(storages) & set(self.values[source].storages):
            return
        name = f"assign_{node.name}"
        issue = self._recorder.issues.get(issue_of(source_node) or 0, NOWHERE)
        result = self.values.add(name, None, node.meta["val"], storages, len(self.ops), NOWHERE, buffer)
        self.moments.append(self._recorder.calls.records[0].left)
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
