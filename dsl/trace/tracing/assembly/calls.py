"""The module calls of a trace, from what the recorder noted of them."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import torch

from streamsched.dsl.trace import model
from streamsched.dsl.trace.model import NONE, Argument, Op, Opaque, Ref
from streamsched.dsl.trace.tracing.accessors import module_accessor
from streamsched.dsl.trace.tracing.arguments import class_name, map_refs
from streamsched.dsl.trace.tracing.assembly.operands import Operands
from streamsched.dsl.trace.tracing.assembly.tags import Tags
from streamsched.dsl.trace.tracing.assembly.values import Values
from streamsched.dsl.trace.tracing.flags import flags
from streamsched.dsl.trace.tracing.provenance.calls import CallRecord
from streamsched.dsl.trace.tracing.provenance.recorder import Recorder
from streamsched.dsl.trace.tracing.state.kept import State, attribute_state, state_of


class ModuleCalls:
    """The calls that `recorder` noted, in terms of values and ops; `moments` are those of the ops, in order."""

    def __init__(
        self,
        root: torch.nn.Module,
        recorder: Recorder,
        values: Values,
        operands: Operands,
        tags: Tags,
        moments: Sequence[int],
    ) -> None:
        self._root = root
        self._recorder = recorder
        self._values = values
        self._operands = operands
        self._tags = tags
        self._moments = moments

    def all(self) -> tuple[model.ModuleCall, ...]:
        """The calls, the scope's own first."""
        return tuple(self._call(record) for record in self._recorder.calls.records)

    def state(self, ops: Sequence[Op]) -> State:
        """What forward() leaves in its arguments."""
        calls = self._recorder.calls
        puts = [(put, self._traced(value)) for put, value in calls.puts]
        result = self._traced(calls.records[0].result)
        return state_of(puts, self._moments, ops, self._values.all(), result)

    def changed(self) -> State:
        """What forward() leaves in plain attributes of modules, where it may look at that when it runs again."""
        recorder = self._recorder
        return attribute_state(recorder.calls, recorder.positions.codes(), len(self._moments))

    def _call(self, record: CallRecord) -> model.ModuleCall:
        begin = bisect.bisect_right(self._moments, record.entered)
        end = bisect.bisect_left(self._moments, record.left) if record.parent != NONE else len(self._moments)
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
            flags=tuple((dict(record.reads) | dict(flags(record.module, f"self{accessor}"))).items()),
        )

    def _traced(self, argument: Argument, before: int | None = None) -> Argument:
        """A tree whose `Ref`s hold tags, with values in their place.

        Keyword arguments are seen only when the call is over: `before` is its first op, and an object that the call
        updates in place is taken as it was before.
        """

        def change(tag: int) -> Argument:
            node = self._tags.node(tag)
            number = self._operands.number(node) if node is not None else None
            if number is not None:
                return number
            value = self._tags.value(tag)
            while value is not None and before is not None and self._values[value].producer >= before:
                if self._values[value].same_object == NONE:
                    break
                value = self._values[value].same_object
            return Opaque("a tensor") if value is None else Ref(value)

        return map_refs(argument, change)
