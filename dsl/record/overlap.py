"""Whether two views of a storage have a byte in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

LIMIT = 10_000
"""How many ways are tried to reach a common byte, before the views count as overlapping."""


class View(NamedTuple):
    """A strided layout in a storage. Offset and strides count items of `itemsize` bytes; no stride is negative."""

    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int

    @property
    def is_empty(self) -> bool:
        """Whether it covers nothing."""
        return 0 in self.sizes

    @property
    def first(self) -> int:
        """Its first byte."""
        return self.offset * self.itemsize

    @property
    def last(self) -> int:
        """Its last byte, if it is not empty."""
        return self.first + sum(stride * steps for stride, steps in self.ways())

    def ways(self) -> list[tuple[int, int]]:
        """The ways to go on from its first byte: strides in bytes, and how often each may be gone."""
        sides = zip(self.strides, self.sizes, strict=True)
        return [(1, self.itemsize - 1), *((stride * self.itemsize, size - 1) for stride, size in sides)]


def overlap(one: View, other: View) -> bool:
    """Whether two views have a byte in common; true as well where it takes too long to find out.

    They do where `one`, going forward from its first byte, meets `other`, going back from its last: where the
    distance between the two is a sum of both views' strides, each taken no more often than its size allows.
    """
    if one.is_empty or other.is_empty:
        return False
    return _is_sum(other.last - one.first, _merged([*one.ways(), *other.ways()]))


def _merged(ways: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same sums in fewer ways, small strides first: rows that lie behind each other without a gap are one."""
    found: list[tuple[int, int]] = []
    for stride, steps in sorted(ways):
        if not stride or not steps:
            continue
        small, count = found[-1] if found else (stride, 0)
        if stride % small == 0 and stride // small <= count + 1:
            found[-1:] = [(small, count + steps * (stride // small))]
        else:
            found.append((stride, steps))
    return found


def _is_sum(distance: int, ways: list[tuple[int, int]]) -> bool:
    """Whether a distance is a sum of the strides, each taken no more often than is said."""
    reach = [0]  # how far the smaller strides lead
    for stride, steps in ways:
        reach.append(reach[-1] + stride * steps)
    open_ends, seen = [(len(ways), distance)], set[tuple[int, int]]()
    while open_ends:
        level, left = open_ends.pop()
        if level == 0:
            if left == 0:
                return True
            continue
        stride, steps = ways[level - 1]
        fewest, most = max(0, -((reach[level - 1] - left) // stride)), min(steps, left // stride)
        if most - fewest + len(seen) > LIMIT:
            return True
        rest = {(level - 1, left - stride * times) for times in range(fewest, most + 1)} - seen
        seen |= rest
        open_ends += rest
    return False
