"""Dynamic dims while a model is traced: the sizes that stand for them, and torch's symbols as expressions over them."""

from __future__ import annotations

import contextlib
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sympy
import torch
import torch.utils._pytree as pytree
from torch.fx import Node

from streamsched.dsl.trace.model import Dim
from streamsched.dsl.trace.request import InputTensor
from streamsched.dsl.trace.tracing.dims.text import spell

_ARITHMETIC = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
}
UNKNOWN = -1
"""The size of what depends on data."""
_MARKS = frozenset(["_dynamo_weak_dynamic_indices", "_has_dynamo_dim_marking"])
"""The attributes that torch leaves at a tensor with dynamic dims."""


class Dims:
    """The named dims of a request, each with the size that it is traced with.

    No two have one size, and none has a size that the request gives as a number: torch takes equal sizes for one dim,
    and what the model compares by chance must differ.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        self._by_size = {size: name for name, size in self.sizes.items()}
        self._symbols: dict[sympy.Symbol, str] = {}
        assert len(self._by_size) == len(self.sizes), sizes

    @classmethod
    def of(cls, inputs: Iterable[InputTensor], first: int = 11) -> Dims:
        """The dims that inputs name, each with a prime number from `first` on."""
        shapes = [tensor.shape for tensor in inputs]
        fixed = {size for shape in shapes for size in shape if isinstance(size, int)}
        named = dict.fromkeys(name for shape in shapes for name in shape if isinstance(name, str))
        return cls(dict(zip(named, (size for size in _primes(first) if size not in fixed), strict=False)))

    def shape(self, dims: Iterable[Dim]) -> tuple[int, ...]:
        """The shape to trace an input of these dims with."""
        return tuple(dim if isinstance(dim, int) else self.sizes[dim] for dim in dims)

    def named(self, shape: Iterable[int]) -> tuple[Dim, ...]:
        """A shape that an input was traced with, as dims."""
        return tuple(self._by_size.get(size, size) for size in shape)

    @contextlib.contextmanager
    def marked(self, inputs: object) -> Iterator[None]:
        """Have torch.export take the named sizes of the tensors in `inputs` as symbols while the context lasts.

        The marks let it note in silence what the model asks of a size, which is told later with the place that asks.
        Its `dynamic_shapes` say the same, except of a forward() that takes `**kwargs`, whose shapes it cannot place.
        """
        leaves = [leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor)]
        for leaf in leaves:
            named = [axis for axis, size in enumerate(leaf.shape) if size in self._by_size]
            if named:
                torch._dynamo.maybe_mark_dynamic(leaf, named)
        try:
            yield
        finally:
            for leaf in leaves:
                for mark in _MARKS & vars(leaf).keys():
                    delattr(leaf, mark)

    def symbols(self, environment: Any) -> dict[sympy.Symbol, str]:
        """torch's symbols for sizes, each with the name of its dim."""
        values = environment.backed_var_to_val
        if len(values) != len(self._symbols):
            named = ((symbol, self._by_size.get(int(value))) for symbol, value in values.items())
            self._symbols = {symbol: name for symbol, name in named if name is not None}
        return self._symbols

    def is_number(self, value: object) -> bool:
        """Whether a value is a traced number that the named dims alone decide."""
        if not isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return False
        known = self.symbols(value.node.shape_env)
        return bool(known) and value.node.expr.free_symbols <= known.keys()

    def size(self, value: Any) -> Dim:
        """A size as a number or an expression; UNKNOWN where it depends on data."""
        if type(value) is int:
            return value
        text = self.text(value)
        return UNKNOWN if text is None else int(text) if text.lstrip("-").isdigit() else text

    def text(self, value: object) -> str | None:
        """A traced whole number as an expression; None where it has none."""
        if not isinstance(value, torch.SymInt) or not self.is_number(value):
            return None
        return spell(value.node.expr.xreplace(_renamed(self.symbols(value.node.shape_env))))

    def number(self, node: Node) -> str | None:
        """The traced number that a node makes as an expression; None where it has none.

        Other numbers than whole ones are computed as the model's Python does it: the last bit may depend on the order.
        """
        value = node.meta.get("val")
        if not self.is_number(value):
            return None
        return self.text(value) or (self._computed(node) if isinstance(value, torch.SymFloat) else None)

    def _computed(self, node: Node) -> str | None:
        parts = [self._operand(part) for part in node.args]
        if None in parts:
            return None
        if node.target in _ARITHMETIC and len(parts) == 2:
            return f"{parts[0]} {_ARITHMETIC[node.target]} {parts[1]}"
        if node.target is operator.neg:
            return f"-{parts[0]}"
        return parts[0] if node.target is torch.sym_float and len(parts) == 1 else None

    def _operand(self, part: object) -> str | None:
        """An operand of Python's arithmetic, in parentheses where it needs them."""
        if isinstance(part, Node):
            text = self.number(part)
            return text if text is None or text.isidentifier() else f"({text})"
        plain = isinstance(part, int | float) and not isinstance(part, bool)
        return None if not plain else f"({part!r})" if part < 0 else repr(part)  # type: ignore[operator]


def _renamed(symbols: dict[sympy.Symbol, str]) -> dict[sympy.Symbol, sympy.Symbol]:
    return {symbol: named_symbol(name) for symbol, name in symbols.items()}


def named_symbol(name: str) -> sympy.Symbol:
    """The symbol of a named dim, whatever torch calls it."""
    return sympy.Symbol(name, integer=True, positive=True)


def _primes(first: int) -> Iterator[int]:
    return (n for n in itertools.count(first) if all(n % divisor for divisor in range(2, int(n**0.5) + 1)))
