"""The shortest selector for exactly these kernels: by modules and values where they fit, else by nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.plan.index import TraceIndex
from streamsched.dsl.syntax.formatter import format_selector
from streamsched.dsl.syntax.tree import Name, ValueSelector
from streamsched.dsl.trace.model import NONE

Kernels = frozenset[int]
"""Ops that have a place in a stream, as indices into `trace.ops`."""

_NOWHERE = Span("", 1, 1, 1, 1)


@dataclass(frozen=True)
class Speller:
    """Spells sets of kernels of one trace as selectors."""

    index: TraceIndex

    def spell(self, wanted: Kernels) -> str:
        """The text of a selector that selects these kernels and no others; `wanted` is not empty."""
        parts: list[tuple[int, str]] = []
        left = set(wanted)
        for text, kernels in self._inside(wanted):
            if not left.isdisjoint(kernels):
                parts.append((min(kernels), text))
                left -= kernels
        while left:
            text, kernels = self._rest(min(left), wanted)
            parts.append((min(kernels), text))
            left -= kernels
        return " | ".join(text if " - " not in text or len(parts) == 1 else f"({text})" for _, text in sorted(parts))

    def _inside(self, wanted: Kernels) -> Iterator[tuple[str, Kernels]]:
        """The modules and values that hold nothing else, the largest first; modules before values."""
        fits = [
            (-len(kernels), rank, text, kernels)
            for rank, named in enumerate((self._modules, self._values))
            for text, kernels in named.items()
            if kernels <= wanted
        ]
        return ((text, kernels) for _, _, text, kernels in sorted(fits, key=lambda fit: fit[:3]))

    def _rest(self, op: int, wanted: Kernels) -> tuple[str, Kernels]:
        """One op that no module and no value holds without others: the value without these others, or the op alone."""
        for text, kernels in self._values.items():
            if op in kernels and (without := self._covering(kernels - wanted, wanted)):
                return " - ".join((text, *without)), kernels & wanted
        return f'node "{self.index.trace.ops[op].name}"', frozenset((op,))

    def _covering(self, unwanted: Kernels, wanted: Kernels) -> list[str]:
        """The modules that hold all of `unwanted` and nothing of `wanted`; none where no few of them do."""
        found: list[str] = []
        for text, kernels in sorted(self._modules.items(), key=lambda item: -len(item[1])):
            if unwanted and not unwanted.isdisjoint(kernels) and wanted.isdisjoint(kernels):
                found.append(text)
                unwanted -= kernels
        return [] if unwanted or len(found) > _MOST_SUBTRACTED else found

    @cached_property
    def _modules(self) -> dict[str, Kernels]:
        calls = self.index.trace.calls[1:]
        found = {f'module "{call.label}"': self._kernels(range(call.begin, call.end)) for call in calls}
        return {text: kernels for text, kernels in found.items() if kernels}

    @cached_property
    def _values(self) -> dict[str, Kernels]:
        found: dict[str, Kernels] = {}
        for name, executions in self.index.executions.items():
            text = format_selector(ValueSelector((Name(name, span=_NOWHERE),), False, span=_NOWHERE))
            if len(executions) > 1:
                every = self._kernels(op for execution in executions for op in execution)
                found.setdefault(text, every)
            for number, execution in enumerate(executions):
                found.setdefault(text if len(executions) == 1 else f"{text}[{number}]", self._kernels(execution))
        return {text: kernels for text, kernels in found.items() if kernels}

    def _kernels(self, ops: Iterable[int]) -> Kernels:
        return frozenset(self.index.kernels(ops))

    def module(self, wanted: Kernels) -> str:
        """The path of the largest module among these kernels; empty where there is none."""
        fits = [(len(kernels), text) for text, kernels in self._modules.items() if kernels <= wanted]
        return max(fits)[1].split('"')[1].partition("@")[0] if fits else ""

    def ending(self, allowed: Kernels, op: int) -> Kernels:
        """The largest module or value, all of it allowed, whose last kernel is `op`; else that kernel alone."""
        return self._largest(kernels for kernels in self._named(allowed) if max(kernels) == op) or frozenset((op,))

    def beginning(self, allowed: Kernels, op: int) -> Kernels:
        """The largest module or value, all of it allowed, whose first kernel is `op`; else that kernel alone."""
        return self._largest(kernels for kernels in self._named(allowed) if min(kernels) == op) or frozenset((op,))

    def _named(self, allowed: Kernels) -> Iterator[Kernels]:
        return (k for k in (*self._modules.values(), *self._values.values()) if k <= allowed)

    def _largest(self, found: Iterable[Kernels]) -> Kernels:
        return max(found, key=len, default=frozenset())

    def local(self, wanted: Kernels) -> str:
        """What the user's code calls the last thing that these kernels make; empty where it has no name."""
        trace = self.index.trace
        for op in sorted(wanted, reverse=True):
            made = [v for v in trace.values if v.producer == op]
            name = next((v.local or v.inner for v in made if v.local or v.inner), "")
            if name:
                return name
            statement = trace.ops[op].statement
            if statement != NONE and trace.statements[statement].binds:
                return trace.statements[statement].binds[0]
        return ""


_MOST_SUBTRACTED = 3
"""How many modules are subtracted from a value before its ops are named one by one."""
