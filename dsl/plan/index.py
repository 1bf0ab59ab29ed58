"""A trace with the tables that planning needs, which can be kept from one plan to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from streamsched.dsl.globs import compile_glob
from streamsched.dsl.plan.dependence import Dependency, dependencies, held_storages, name_dependencies
from streamsched.dsl.trace.model import NONE, OpKind, Trace

Selection = frozenset[int]
"""The ops that a selector selects, as indices into `trace.ops`."""

NOTHING: Selection = frozenset()


@dataclass(frozen=True)
class TraceIndex:
    """A trace with the tables that planning needs, each built when first asked for."""

    trace: Trace
    _modules: dict[str, Selection] = field(default_factory=dict, repr=False, compare=False)

    def modules(self, glob: str) -> Selection:
        """The ops inside the module calls whose path, with `@N` for later calls, matches."""
        if glob not in self._modules:
            matches = compile_glob(glob).fullmatch
            ops: set[int] = set()
            for label, begin, end in self._calls:
                if matches(label):
                    ops.update(range(begin, end))
            self._modules[glob] = frozenset(ops)
        return self._modules[glob]

    @cached_property
    def _calls(self) -> list[tuple[str, int, int]]:
        """The module calls that issue ops: label, first op, and the op behind the last."""
        return [(call.label, call.begin, call.end) for call in self.trace.calls if call.begin < call.end]

    @cached_property
    def executions(self) -> dict[str, list[Selection]]:
        """By bound name: the ops of each execution of each statement that binds it, in program order."""
        ops: dict[tuple[int, int], list[int]] = {}
        for index, op in enumerate(self.trace.ops):
            if op.statement != NONE:
                ops.setdefault((op.statement, op.visit), []).append(index)
        named: dict[str, list[Selection]] = defaultdict(list)
        for (statement, _), members in sorted(ops.items(), key=lambda item: item[1][0]):
            selection = frozenset(members)
            for name in self.trace.statements[statement].binds:
                named[name].append(selection)
        return dict(named)

    @cached_property
    def by_value(self) -> dict[int, str]:
        """By op: the text of a `value` selector that selects that kernel and no other, where there is one."""
        found: dict[int, str] = {}
        for name, executions in self.executions.items():
            for number, execution in enumerate(executions):
                kernels = self.kernels(execution)
                if len(kernels) == 1:
                    index = f"[{number}]" if len(executions) > 1 else ""
                    found.setdefault(kernels[0], f'value "{name}"{index}')
        return found

    @cached_property
    def nodes(self) -> dict[str, int]:
        """Ops by their name in the trace."""
        return {op.name: index for index, op in enumerate(self.trace.ops)}

    @cached_property
    def dependencies(self) -> list[Dependency]:
        """What the data demands of kernels and allocations, ordered by the later op."""
        return dependencies(self.trace)

    @cached_property
    def held(self) -> list[tuple[int, ...]]:
        """By op: the storages that its arguments name."""
        return held_storages(self.trace)

    @cached_property
    def named(self) -> list[tuple[int, int]]:
        """Pairs of ops: the second names a result of the first without reading it."""
        return name_dependencies(self.trace, self.held)

    def kernels(self, selection: Iterable[int]) -> list[int]:
        """The ops of a selection that have a place in a stream (kernels and allocations), in program order."""
        ops = self.trace.ops
        return sorted(index for index in selection if ops[index].kind is not OpKind.VIEW)

    def unique_selector(self, op: int) -> str:
        """The text of a selector for exactly this op."""
        return self.by_value.get(op) or f'node "{self.trace.ops[op].name}"'
