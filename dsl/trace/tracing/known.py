"""Numbers that are known although the model runs without data: those that no input and no weight has a part in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

_LARGEST = 1 << 20
"""Elements of the largest tensor that is followed: positions and small masks, nothing that costs time."""

_ASKED = torch.ops.aten._local_scalar_dense.default


class KnownNumbers(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Answers what Python asks of tensors on the meta device that were made of sizes and constants alone.

    `torch.arange(n, device=x.device)` has no data there, and needs none: it is the same in every call of that size.
    Such tensors are computed on the CPU beside.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._known: Any = WeakTensorKeyDictionary()  # by tensor on the meta device: the same on the CPU

    @contextlib.contextmanager
    def making_inputs(self) -> Iterator[None]:
        """Learn the numbers of what is made while the context lasts, `torch.tensor(0)` included."""
        with self, _Literals():
            yield

    def keep_state(self, arguments: Any) -> None:
        """Forget what a call is not determined by: the numbers of tensors that are arguments of their own or in a
        container, which differ from call to call, and all that are not integers. The lengths in a cache stay."""
        data = pytree.tree_leaves(arguments, is_leaf=lambda part: not isinstance(part, tuple | list | dict))
        self._drop([tensor for tensor in data if isinstance(tensor, torch.Tensor)])
        self._drop([tensor for tensor in self._known if tensor.is_floating_point() or tensor.is_complex()])

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is _ASKED and args[0] in self._known:
            return self._known[args[0]].item()
        result = func(*args, **kwargs)
        self._follow(func, args, kwargs, result)
        return result

    def _follow(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        given = _tensors((args, kwargs))
        made = _tensors(result)
        computed = self._on_cpu(func, args, kwargs) if made and self._is_known(func, given, made) else None
        if computed is None:
            self._forget(func, args, kwargs)
        else:
            self._known.update(zip(made, _tensors(computed), strict=True))

    def _is_known(self, func: Any, given: list[torch.Tensor], made: list[torch.Tensor]) -> bool:
        """Whether what an op makes follows from what is known."""
        return (
            func.namespace == "aten"
            and "empty" not in func._schema.name
            and torch.Tag.nondeterministic_seeded not in func.tags
            and all(tensor in self._known if _is_meta(tensor) else type(tensor) is torch.Tensor for tensor in given)
            and all(_is_meta(tensor) and tensor.numel() <= _LARGEST for tensor in made)
        )

    def _on_cpu(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What the op makes on the CPU; None where it has no kernel there."""

        def known(leaf: Any) -> Any:
            if isinstance(leaf, torch.device):
                return torch.device("cpu")
            return self._known.get(leaf, leaf) if isinstance(leaf, torch.Tensor) else leaf

        args, kwargs = pytree.tree_map(known, (args, kwargs))
        try:
            return func(*args, **kwargs)
        except Exception:
            return None

    def _forget(self, func: Any, args: Any, kwargs: Any) -> None:
        """What an op overwrites with unknown numbers is not known any more, nor what shares its memory."""
        named = {**dict(zip((a.name for a in func._schema.arguments), args, strict=False)), **kwargs}
        written = [named.get(a.name) for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
        self._drop(_tensors(written))

    def _drop(self, tensors: list[torch.Tensor]) -> None:
        lost = {_memory(self._known[tensor]) for tensor in tensors if tensor in self._known}
        if lost:
            for other in [tensor for tensor, values in self._known.items() if _memory(values) in lost]:
                del self._known[other]


class _Literals(TorchFunctionMode):
    """Makes `torch.tensor(0)` on the CPU and copies it to the meta device: made there, its number reaches no op."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is not torch.tensor or kwargs.get("requires_grad") or _tensors((args, kwargs)):
            return func(*args, **kwargs)
        device = kwargs.get("device")
        if str(torch.get_default_device() if device is None else device) != "meta":
            return func(*args, **kwargs)
        return func(*args, **{**kwargs, "device": "cpu"}).to("meta")


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _memory(tensor: torch.Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def _is_meta(tensor: torch.Tensor) -> bool:
    return type(tensor) is torch.Tensor and tensor.device.type == "meta"
