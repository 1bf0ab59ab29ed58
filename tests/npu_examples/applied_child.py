"""Applies generated files on the simulated NPU: a copy of the model, and calls unlike the traced one."""

from __future__ import annotations

import copy
import json

import torch
import torch_npu  # noqa: F401  (it adds torch.npu)
from tiny import TINY, loaded, schedule

from streamsched.codegen.emitter import generate
from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import trace_request
from streamsched.verify.generated import load_generated
from streamsched.verify.live import live
from streamsched.verify.request import Request

NAME = "two_tower"
USERS, ITEMS = 50, 70


def inputs(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(size)
    users, items = (torch.randint(0, top, (size, 16), generator=generator) for top in (USERS, ITEMS))
    return users.npu(), items.npu()


def agrees(model: object, original: object, size: int) -> bool:
    got, expected = model(*inputs(size)), original(*inputs(size))  # type: ignore[operator]
    return all(torch.equal(one.cpu(), other.cpu()) for one, other in zip(got, expected, strict=True))


def main() -> None:
    request = Request(schedule(NAME), "npu", 1, instead=TINY[NAME], options=())
    found = loaded(NAME, "npu")
    results: list[list[object]] = []
    assert found.program is not None and found.trace is not None
    with live(trace_request(found.schedule, found.file.base), request) as alive, torch.no_grad():
        assert not isinstance(alive, Diagnostic), alive
        original = copy.deepcopy(alive.model).npu()
        space = load_generated(generate(found.program, "npu"))
        scheduled = space["apply"](copy.deepcopy(original))
        copied = copy.deepcopy(scheduled)
        results.append(["eager", [agrees(scheduled, original, size) for size in (64, 3)]])
        results.append(["copy", [agrees(copied, original, size) for size in (64, 3)]])
        space["unapply"](copied)
        space["apply"](scheduled)
        results.append(["after the copy was taken back", [agrees(scheduled, original, 64)]])
        compiled = load_generated(generate(found.program, "npugraph_ex"))["compile"](copy.deepcopy(original))
        results.append(["compiled", [agrees(compiled, original, size) for size in (64, 3, 64)]])
    for result in results:
        print("RESULT" + json.dumps(result))


if __name__ == "__main__":
    main()
