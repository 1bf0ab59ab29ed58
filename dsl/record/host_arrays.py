"""Host memory as numpy sees it: what the code writes and reads through `tensor.numpy()`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from streamsched.dsl.record.recorder import Recorder

_WRITES_FIRST = frozenset([numpy.copyto, numpy.put, numpy.place, numpy.putmask, numpy.fill_diagonal])
"""The functions that write their first argument; others write what `out=` names."""


@dataclass(frozen=True, slots=True)
class _Region:
    """The addresses from `start` to `end`, which are those of one storage. `touched` takes the name of what touches it,
    and whether it writes."""

    start: int
    end: int
    touched: Callable[[str, bool], None]


class HostArray(numpy.ndarray[Any, Any]):
    """An array in the memory of a tensor, and its views. A copy of it touches nothing of the tensor's."""

    _region: _Region | None

    def __array_finalize__(self, obj: Any) -> None:
        region = getattr(obj, "_region", None)
        inside = region is not None and region.start <= self.__array_interface__["data"][0] < region.end
        self._region = region if inside else None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: tuple[Any, ...] = (), **options: Any) -> Any:
        for each in inputs:
            _touch(each, ufunc.__name__, writes=False)
        for each in (*out, *(inputs[:1] if method == "at" else ())):
            _touch(each, ufunc.__name__, writes=True)
        if out:
            options["out"] = tuple(map(_plain, out))
        options = {name: _plain(value) for name, value in options.items()}
        result = getattr(ufunc, method)(*map(_plain, inputs), **options)
        return result if not out else out[0] if len(out) == 1 else out

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        written = [args[0] if args else kwargs.get("dst")] if func in _WRITES_FIRST else []
        out = kwargs.get("out")
        for each in (*written, *(out if isinstance(out, tuple) else (out,))):
            _touch(each, func.__name__, writes=True)
        return super().__array_function__(func, types, args, kwargs)

    def __setitem__(self, key: Any, value: Any) -> None:
        _touch(value, "assignment", writes=False)
        _touch(self, "assignment", writes=True)
        super().__setitem__(key, value)

    def __getitem__(self, key: Any) -> Any:
        result = super().__getitem__(key)
        if not isinstance(result, HostArray) or result._region is None:
            _touch(self, "indexing", writes=False)
        return result

    def fill(self, value: Any) -> None:
        """Write a value into all of it."""
        _touch(self, "fill", writes=True)
        super().fill(value)

    def sort(self, *args: Any, **kwargs: Any) -> None:
        """Sort it in place."""
        _touch(self, "sort", writes=True)
        super().sort(*args, **kwargs)

    def tolist(self) -> Any:
        """Its values."""
        _touch(self, "tolist", writes=False)
        return super().tolist()


def host_array(recorder: Recorder, tensor: torch.Tensor, array: Any) -> Any:
    """`array`, which is the numpy view of a tensor of the host's, as one that tells the recorder what is done to it."""
    number = recorder.memory.number(tensor)
    if number is None:
        return array

    def touched(name: str, writes: bool) -> None:
        if recorder.device.log.running:
            recorder.host(f"numpy {name}", () if writes else (number,), (number,) if writes else ())

    storage = tensor.untyped_storage()
    start = array.__array_interface__["data"][0] - tensor.storage_offset() * tensor.element_size()
    made = array.view(HostArray)
    made._region = _Region(start, start + storage.nbytes(), touched)
    return made


def _touch(value: Any, name: str, writes: bool) -> None:
    if isinstance(value, HostArray) and value._region is not None:
        value._region.touched(name, writes)


def _plain(value: Any) -> Any:
    return value.view(numpy.ndarray) if isinstance(value, HostArray) else value
