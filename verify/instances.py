"""Which of many modules in scope are verified one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch

from streamsched.dsl.trace.model import Argument, Instance, Literal, Mapping, Sequence, Trace

MOST = 4
"""How many modules in scope run under the orders of the engine `cpu`."""


def sampled(trace: Trace, model: torch.nn.Module) -> list[str]:
    """At most `MOST` of the modules in scope: the first, the last, those that compute with other constants than these,
    and some between."""
    assert trace.scope is not None
    paths = trace.scope.instances
    if len(paths) <= MOST:
        return list(paths)
    kinds: dict[tuple[str, ...], str] = {}
    texts = tuple(dict.fromkeys(_own_constants(trace)))
    for path in paths:
        names = {"self": model.get_submodule(path)}
        kinds.setdefault(tuple(repr(eval(text, names)) for text in texts), path)  # the tracer's own
    between = (paths[round(step * (len(paths) - 1) / (MOST - 1))] for step in range(MOST))
    chosen = list(dict.fromkeys((paths[0], paths[-1], *kinds.values(), *between)))[:MOST]
    return sorted(chosen, key=paths.index)


def said(trace: Trace, model: torch.nn.Module) -> Iterator[str]:
    """In words, that not all modules in scope run under the orders."""
    if trace.scope is not None and len(trace.scope.instances) > MOST:
        chosen = ", ".join(sampled(trace, model))
        yield (
            f"{MOST} of the {len(trace.scope.instances)} modules in scope ran under the orders: {chosen}; "
            "the generated forward ran in all of them"
        )


def _own_constants(trace: Trace) -> Iterator[str]:
    """The constants in ops that are the module's own: what differs from module to module."""
    for op in trace.ops:
        yield from _texts((*op.args, *(argument for _, argument in op.kwargs)))


def _texts(trees: Iterable[Argument]) -> Iterator[str]:
    for tree in trees:
        match tree:
            case Literal(text=text) if text.startswith("self."):
                yield text
            case Sequence(items=items) | Mapping(items=items) | Instance(items=items):
                yield from _texts(items)
