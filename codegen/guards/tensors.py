"""The checks of tensors: dtype and sizes, where a named size is open but the same wherever it is named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from streamsched.codegen.guards.check import Check
from streamsched.codegen.guards.lists import is_item
from streamsched.dsl.trace.model import NamedDim, Value

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass
class Tensors:
    """The tensors that are checked so far."""

    covered: set[str] = field(default_factory=set)  # their expressions
    sizes: dict[str, str] = field(default_factory=dict)  # by named dim, the expression of the first size of that name

    def checks(self, expression: str, value: Value) -> Iterator[Check]:
        """Check what `expression` holds against a value of the trace."""
        self.covered.add(expression)
        sizes = [self._size(expression, place, size) for place, size in enumerate(value.shape)]
        if any(expression in size for size in sizes):
            checked = f"isinstance({expression}, torch.Tensor)"
            yield Check(f"whether {expression} is a tensor", checked, "True", "")
        said = f"{expression}: {value.dtype}[{', '.join(map(str, value.shape))}]"
        yield Check(expression, expression, _layout(value.dtype, sizes), said)

    def _size(self, expression: str, place: int, size: int | str) -> str:
        """What a size is compared with: itself where the trace leaves it open, else a number or other sizes."""
        if _is_fixed(size):
            return str(size)
        if isinstance(size, str):
            if all(word in self.sizes for word in _WORD.findall(size)):
                return _WORD.sub(lambda word: self.sizes[word[0]], size)
            if size.isidentifier() and not is_item(expression):  # the items of a list stay alike
                self.sizes[size] = f"{expression}.shape[{place}]"
        return f"*{expression}.shape[{place}:{place + 1}]"


def fixed_layout(value: Value) -> str | None:
    """What a tensor of fixed sizes is compared with; None for one that has an open size."""
    return _layout(value.dtype, map(str, value.shape)) if all(map(_is_fixed, value.shape)) else None


def is_within(dim: NamedDim) -> Check:
    """That a dynamic dim is within its bounds."""
    if dim.maximum is None:
        found, words = f"{dim.expression} >= {dim.minimum}", f"{dim.minimum} or more"
    else:
        found, words = f"{dim.expression} in range({dim.minimum}, {dim.maximum + 1})", f"{dim.minimum} to {dim.maximum}"
    return Check(f"whether {dim.name} is {words}", found, "True", f"{dim.name}: {words}")


def _is_fixed(size: object) -> bool:
    """Whether a size is a number that every call has; a name or an expression is not, nor -1."""
    return isinstance(size, int) and size >= 0


def _layout(dtype: str, sizes: Iterable[str]) -> str:
    inside = ", ".join((f"torch.{dtype}", *sizes))
    return f"({inside})" if ", " in inside else f"({inside},)"
