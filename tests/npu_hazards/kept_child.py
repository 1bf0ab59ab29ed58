"""Calls a graph twice with tensors of their own; prints what the second call changes of the first one's."""

from __future__ import annotations

import torch
from running import Forward, compiled, inputs, report


def view(x, y):
    return x + y, x.view(-1)


def row(x, y):
    return x + y, x[1:]


def contiguous(x, y):
    return x + y, x.contiguous()


def whole(x, y):
    return x + y, x


def view_of_written(x, y):
    x.add_(1.0)
    return x + y, x.view(-1)


def view_of_result(x, y):
    result = x + y
    return result, result.view(-1)


def copied_view(x, y):
    return x + y, x.view(-1).clone()


def changed(forward: Forward) -> list[str]:
    """Which of the first call's tensors the second call changes: `input` x, `result`, or what is returned beside it."""
    given = inputs(0)
    kept = [*forward(*given), given[0]]
    torch.npu.synchronize()
    before = [tensor.cpu() for tensor in kept]
    forward(*inputs(1))
    torch.npu.synchronize()
    names = ("result", "other", "input")
    return [name for name, old, new in zip(names, before, kept, strict=True) if not torch.equal(old, new.cpu())]


FORWARDS = (view, row, contiguous, whole, view_of_written, view_of_result, copied_view)
OPTIONS = {"default": None, "clone_input=False": {"clone_input": False}, "clone_output=True": {"clone_output": True}}

report(
    {
        forward.__name__: {
            "eager": changed(forward),
            **{name: changed(compiled(forward, options=options)) for name, options in OPTIONS.items()},
        }
        for forward in FORWARDS
    }
)
