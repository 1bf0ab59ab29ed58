"""How large integer inputs may be: below the size of what they index, as a run of the model with zeros shows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

Found = tuple[tuple[Any, int], ...]
"""Indices, and how many things they can tell apart."""


_MOVING = frozenset((
    "_to_copy", "_unsafe_view", "alias", "as_strided", "chunk", "clone", "copy", "detach", "expand", "flip", "narrow",
    "permute", "repeat", "reshape", "roll", "select", "slice", "split", "split_with_sizes", "squeeze", "t", "transpose",
    "unbind", "unsqueeze", "view",
))  # fmt: skip
"""Ops whose results hold elements of their first argument and nothing else."""

_ALONG = frozenset((
    "gather", "index_add", "index_add_", "index_copy", "index_copy_", "index_fill", "index_fill_", "index_select",
    "scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_",
))  # fmt: skip
"""Ops called as `op(tensor, dim, index, ...)`, whose index runs along that dimension."""


def index_bounds(call: Callable[[], Any], inputs: Sequence[torch.Tensor]) -> list[int | None]:
    """For each of `inputs`, how many things the smallest tensor has that it indexes during `call`; None for none.

    What `call` raises ends the search, and is for others to report.
    """
    watch = _Watch(inputs)
    with contextlib.suppress(Exception), torch.no_grad(), watch:
        call()
    return watch.bounds


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Follows inputs through ops that only move their elements, up to those that index with them."""

    def __init__(self, inputs: Sequence[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.bounds: list[int | None] = [None] * len(inputs)
        self.origins = WeakTensorKeyDictionary()
        for number, tensor in enumerate(inputs):
            self.origins[tensor] = number

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run the op, and look at what it did."""
        name = func.overloadpacket.__name__
        for index, size in _indexed(name, args):
            self._bound(index, size)
        result = func(*args, **(kwargs or {}))
        if name in _MOVING and args and isinstance(args[0], torch.Tensor) and args[0] in self.origins:
            for moved in result if isinstance(result, list | tuple) else (result,):
                self.origins[moved] = self.origins[args[0]]
        return result

    def _bound(self, index: Any, size: int) -> None:
        if isinstance(index, torch.Tensor) and index in self.origins:
            number = self.origins[index]
            known = self.bounds[number]
            self.bounds[number] = size if known is None else min(known, size)


def _indexed(name: str, args: tuple[Any, ...]) -> Found:
    """What an op indexes with, and how many things there are to index."""
    match name, args:
        case (("embedding" | "_embedding_bag" | "_embedding_bag_forward_only"), (weight, index, *_)):
            return ((index, weight.shape[0]),)
        case (("index" | "index_put" | "index_put_" | "_unsafe_index" | "_index_put_impl_"), (tensor, indices, *_)):
            return tuple(zip(indices, tensor.shape, strict=False))
        case (("take" | "put" | "put_"), (tensor, index, *_)):
            return ((index, tensor.numel()),)
        case _, (torch.Tensor() as tensor, int(dim), index, *_) if name in _ALONG and tensor.dim():
            return ((index, tensor.shape[dim]),)
    return ()
