"""The objects that the modules in scope are given, all together."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from streamsched.dsl.trace.model import Trace


def with_objects(base: Trace, others: Iterable[Trace]) -> Trace:
    """`base` with the classes of the objects that the other traces reach, too.

    The first layer to use an empty cache reaches nothing in it; what it leaves there, the next layer reaches.
    """
    objects = dict(base.objects)
    for other in others:
        for path, name in other.objects:
            objects.setdefault(path, name)
    return dataclasses.replace(base, objects=tuple(objects.items()))
