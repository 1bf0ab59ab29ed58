"""What the locals of each forward() hold, seen at each call into torch: the names of tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch

from streamsched.dsl.trace.tracing.provenance.calls import CallRecord


class Locals:
    """The locals that hold tensors, by the tag that `tag` gives a tensor; None for one that the graph does not know.

    The scope's own call is number 0.
    """

    def __init__(self, tag: Callable[[object], int | None]) -> None:
        self._tag = tag
        self._first: dict[int, list[str]] = {}  # what holds it at the first traced call after it was made
        self._holding: dict[int, dict[str, None]] = {}  # all that hold it at any traced call, in order
        self._items: dict[int, str] = {}  # the list that holds it, with its index
        self._inner: dict[int, dict[int, str]] = {}  # by call

    def name(self, tag: int, bound: Collection[str]) -> str:
        """The local of the scope's forward() that holds a tensor; of several, one that is among `bound`.

        What only a list holds is called after the list: `parts_0`.
        """
        names = self._first.get(tag) or [self._items.get(tag, "")]
        return next((name for name in names if name in bound), names[0])

    def aliases(self, tag: int, local: str) -> tuple[str, ...]:
        """The locals of the scope's forward() beside `local` that hold a tensor at some time, in order."""
        return tuple(name for name in self._holding.get(tag, ()) if name != local)

    def inner(self, tag: int, call: int, parent: Callable[[int], int]) -> str:
        """The local that holds a tensor in the forward() of `call`, or else of the nearest call around it; the
        scope's own left out."""
        names = self._inner.get(tag, {})
        while call > 0:
            if call in names:
                return names[call]
            call = parent(call)
        return ""

    def observe(self, record: CallRecord, index: int) -> None:
        """Note the tensors that the locals of a running call hold now; `index` is its number."""
        if record.frame is None:
            return
        before = record.locals
        now = dict(record.frame.f_locals)
        new: dict[int, list[str]] = {}
        changed = {name: value for name, value in now.items() if before.get(name) is not value}
        for name, value in changed.items():
            tag = self._tag(value) if isinstance(value, torch.Tensor) else None
            if tag is not None:
                new.setdefault(tag, []).append(name)
        if index == 0:
            self._observe_items(changed)
        for tag, names in new.items():
            if index == 0:
                self._first.setdefault(tag, names)
                self._holding.setdefault(tag, {}).update(dict.fromkeys(names))
            else:
                self._inner.setdefault(tag, {}).setdefault(index, names[0])
        record.locals = now

    def _observe_items(self, changed: dict[str, Any]) -> None:
        """Note the tensors in the lists and tuples among the scope's locals."""
        for name, value in changed.items():
            for index, item in enumerate(value if type(value) in (list, tuple) else ()):
                tag = self._tag(item) if isinstance(item, torch.Tensor) else None
                if tag is not None:
                    self._items.setdefault(tag, f"{name}_{index}")
