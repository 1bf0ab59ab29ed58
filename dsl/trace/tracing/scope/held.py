"""What the objects that modules in scope are given hold for one of them and not for another: a cache that is filled in
one layer and empty in the next."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamsched.dsl.trace.model import Trace, refs
from streamsched.dsl.trace.tracing.scope.match import INDEX


def held_apart(paths: tuple[str, str], traces: tuple[Trace, Trace]) -> str | None:
    """In words, the first place that is a tensor where one of two modules uses it, and None for the other; None where
    there is no such place."""
    used = [dict(_used(trace)) for trace in traces]
    for one, another in ((0, 1), (1, 0)):
        for place in used[one]:
            if place not in used[another]:
                empty = _empty(place, traces[another], paths[another])
                if empty is not None:
                    filled = used[one][place]
                    return f"`{filled}` is a tensor for `{paths[one]}`, and `{empty}` is None for `{paths[another]}`"
    return None


def _used(trace: Trace) -> Iterator[tuple[str, str]]:
    """The tensors in items of the arguments that ops use: each place without indices, and the expression."""
    given = set(trace.inputs)
    for op in trace.ops:
        for argument in (*op.args, *(argument for _, argument in op.kwargs)):
            for value in refs(argument):
                expression = trace.values[value].expression
                if value in given and INDEX.search(expression):
                    yield INDEX.sub("[]", expression), expression


def _empty(place: str, trace: Trace, path: str) -> str | None:
    """The item at a place that is None; of several, that with the number of the module at `path`."""
    found = [each for each, text in trace.constants if text == "None" and INDEX.sub("[]", each) == place]
    numbers = set(re.findall(r"(?<![^.])\d+(?![^.])", path))
    own = (each for each in found if numbers & set(INDEX.findall(each)))
    return next(own, next(iter(found), None))
