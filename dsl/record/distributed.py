"""`torch.distributed` on the virtual device: groups that communicate with nobody, and the handles of what they do."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch.distributed as dist

from streamsched.dsl.record.recorder import Recorder
from streamsched.dsl.record.replacing import replaced

_BACKENDS = {"cuda": "nccl", "npu": "hccl"}
_WORLD = 2
"""How many ranks there are where a script makes the default group and nothing says of how many."""


@contextlib.contextmanager
def distributed(recorder: Recorder) -> Iterator[None]:
    """Have handles note who waits for them while the context lasts, and groups be made without other processes."""
    if not dist.is_available():
        yield
        return
    with contextlib.ExitStack() as stack:
        functions = _functions(stack, recorder.device.kind)
        for module in (dist, dist.distributed_c10d):
            stack.enter_context(replaced(module, functions))
        for work in _work_classes():
            stack.enter_context(replaced(work, _handle(recorder)))
        yield


def _work_classes() -> tuple[Any, ...]:
    from torch._C._distributed_c10d import FakeWork, Work

    return Work, FakeWork


def _handle(recorder: Recorder) -> dict[str, Any]:
    """The methods of a handle."""

    def wait(work: Any, *_: Any, **__: Any) -> bool:
        recorder.groups.wait_for(work)
        return True

    return {
        "wait": wait,
        "synchronize": wait,
        "block_current_stream": wait,
        "is_completed": lambda work: True,
        "is_success": lambda work: True,
        "get_future": lambda work: _Future(recorder, work),
    }


class _Future:
    """What `work.get_future()` gives."""

    def __init__(self, recorder: Recorder, work: Any) -> None:
        self._recorder, self._work = recorder, work

    def wait(self) -> Any:
        """Let the current stream wait for the collective."""
        self._recorder.groups.wait_for(self._work)
        return self.value()

    def value(self) -> Any:
        """What the collective has filled."""
        return self._recorder.groups.filled(self._work)

    def done(self) -> bool:
        """Whether it is complete; the host goes on as if it were."""
        return True

    def then(self, callback: Any) -> Any:
        """Call `callback` behind the collective."""
        self._recorder.groups.wait_for(self._work)
        made = callback(self)
        return SimpleNamespace(wait=lambda: made, value=lambda: made, done=lambda: True)


def _destroy() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def _functions(stack: contextlib.ExitStack, kind: str) -> dict[str, Any]:
    """The functions of `torch.distributed` that ask for a backend, or tell its name."""
    from torch.testing._internal.distributed.fake_pg import FakeStore  # the import registers the backend

    true_init, true_group = dist.init_process_group, dist.new_group

    def init_process_group(backend: Any = None, *_: Any, world_size: int = -1, rank: int = -1, **__: Any) -> None:
        if not dist.is_initialized():
            size = world_size if world_size > 0 else int(os.environ.get("WORLD_SIZE", _WORLD))
            own = rank if rank >= 0 else int(os.environ.get("RANK", 0))
            true_init("fake", rank=own, world_size=size, store=FakeStore())
            stack.callback(_destroy)

    def new_group(ranks: Any = None, *_: Any, **options: Any) -> Any:
        kept = {name: value for name, value in options.items() if name in ("group_desc", "use_local_synchronization")}
        return true_group(ranks, **kept)

    return {
        "init_process_group": init_process_group,
        "new_group": new_group,
        "get_backend": lambda group=None: _BACKENDS[kind],
        "is_nccl_available": lambda: kind == "cuda",
    }
