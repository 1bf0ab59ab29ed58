"""Disjoint parts of one tensor need no order, and every common byte does: held against sets of bytes."""

from __future__ import annotations

import itertools
import random

import pytest

pytest.importorskip("torch")

from audits import Auditor

from streamsched.dsl.record.overlap import View, overlap
from streamsched.dsl.record.parts import LIMIT, divide

HEAD = """
    import torch
    from streamsched.dsl.audit import kernel

    @kernel(reads=("x",), writes=("out",))
    def launched(out, x):
        raise AssertionError

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.s = torch.cuda.Stream()
            self.register_buffer("kept", torch.zeros(8, 32))

        def forward(self, x):
            main, kept = torch.cuda.current_stream(), self.kept
            made = torch.empty(2, 8, 32, device=x.device)
            one, two = made.unbind(0)
            self.s.wait_stream(main)
            with torch.cuda.stream(self.s):
                {side}
            {beside}
            main.wait_stream(self.s)
            return made.sum() + kept.sum()
"""

DISJOINT = [
    ("made[1].copy_(x)", "made[0].copy_(x)"),
    ("two.copy_(x)", "one.copy_(x)"),
    ("kept[4:].mul_(2)", "kept[:4].add_(1)"),
    ("y = kept[4:] * 2; y.record_stream(main)", "kept[:4].add_(1)"),
    ("torch.add(kept[4], 1, out=kept[5])", "torch.add(kept[2], 1, out=kept[3])"),
    ("kept[:, 20:24].mul_(2)", "kept[:, :16].add_(1)"),
    ("kept.t()[20:24].mul_(2)", "kept.view(-1)[::32].add_(1)"),
    ("kept[::2].mul_(2)", "kept[1::2].add_(1)"),
    ("torch._foreach_mul_([kept[0], kept[2]], 2)", "torch._foreach_add_([kept[1], kept[3]], 1)"),
    ("launched(kept[4:], x)", "launched(kept[:4], x)"),
    ("kept[:0].mul_(2)", "kept[:4].add_(1); kept[4:].add_(1)"),
]
MEETING = [
    ("made[1].copy_(x)", "made.mul_(2)"),
    ("two.copy_(x)", "made[1, 7:].zero_()"),
    ("kept[3:].mul_(2)", "kept[:4].add_(1)"),
    ("y = kept[3:] * 2; y.record_stream(main)", "kept[:4].add_(1)"),
    ("torch.add(kept[4], 1, out=kept[5])", "torch.add(kept[5], 1, out=kept[3])"),
    ("kept[:, 15:24].mul_(2)", "kept[:, :16].add_(1)"),
    ("kept.t()[20:24].mul_(2)", "kept.view(-1)[20::32].add_(1)"),
    ("kept[::2].mul_(2)", "kept[::3].add_(1)"),
    ("torch._foreach_mul_([kept[0], kept[2]], 2)", "torch._foreach_add_([kept[1], kept[2]], 1)"),
    ("launched(kept[:, :16], x)", "launched(kept[:, 16:], x)"),  # what it does in between nobody has said
    ("kept[4:].mul_(2)", "torch.as_strided_copy(kept[:4], (4,), (1,), 128)"),
]


@pytest.mark.parametrize(("side", "beside"), DISJOINT)
@pytest.mark.parametrize("fake", [False, True])
def test_disjoint_parts_do_not_race(found: Auditor, side: str, beside: str, fake: bool) -> None:
    source = HEAD.format(side=side, beside=beside)
    assert found(source, "x: f32[8, 32]", fake=fake) == []


@pytest.mark.parametrize(("side", "beside"), MEETING)
def test_parts_that_meet_do(found: Auditor, side: str, beside: str) -> None:
    source = HEAD.format(side=side, beside=beside)
    told = found(source, "x: f32[8, 32]")
    assert {finding.code for finding in told} == {"ORD101"}
    assert told[0].at == beside


PINNED = """
    import torch

    class M(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.s, self.calls = torch.cuda.Stream(), 0
            self.done = [torch.cuda.Event(), torch.cuda.Event()]
            self.slots = torch.zeros(2, 8, pin_memory=True)

        def forward(self, x):
            main, slot, last = torch.cuda.current_stream(), self.calls % 2, (self.calls + 1) % 2
            self.calls += 1
            self.s.wait_stream(main)
            with torch.cuda.stream(self.s):
                self.slots[slot].copy_(x, non_blocking=True)
                self.done[slot].record()
            x.record_stream(self.s)
            self.done[last].synchronize()
            return self.slots[last].tolist()
"""


def test_the_host_reads_one_slot_while_the_other_is_filled(found: Auditor) -> None:
    assert found(PINNED, "x: f32[8]", calls=3) == []
    early = PINNED.replace("            self.done[last].synchronize()\n", "")
    assert [finding.at for finding in found(early, "x: f32[8]", calls=3)] == ["return self.slots[last].tolist()"]


def test_a_graph_touches_what_its_capture_did(found: Auditor) -> None:
    source = """
        import torch

        s, graph, kept = torch.cuda.Stream(), torch.cuda.CUDAGraph(), torch.zeros(8, 32, device="cuda")

        def forward(x):
            with torch.cuda.graph(graph):
                kept[:4].add_(1)
            main = torch.cuda.current_stream()
            s.wait_stream(main)
            with torch.cuda.stream(s):
                graph.replay()
            kept[4:].mul_(2)
            main.wait_stream(s)
    """
    assert found(source, "x: f32[8]", attribute="forward") == []
    (race,) = found(source.replace("kept[4:].mul_", "kept[3:].mul_"), "x: f32[8]", attribute="forward")
    assert (race.code, race.at) == ("ORD101", "kept[3:].mul_(2)")


def covered(view: View) -> set[int]:
    """The bytes of a view, one by one."""
    places = itertools.product(*(range(size) for size in view.sizes))
    items = (view.offset + sum(i * s for i, s in zip(place, view.strides, strict=True)) for place in places)
    return {item * view.itemsize + byte for item in items for byte in range(view.itemsize)}


def some_view(rng: random.Random) -> View:
    """A slice of a contiguous tensor, with steps and permuted, or any layout at all."""
    if rng.random() < 0.3:
        sides = rng.randint(0, 3)
        sizes, strides = ([rng.randint(low, 5) for _ in range(sides)] for low in (0, 0))
        return View(rng.randint(0, 12), tuple(sizes), tuple(stride * 2 for stride in strides), rng.choice((1, 2)))
    shape = rng.choice(((24,), (4, 6), (2, 3, 4)))
    stride, offset, sides = 24, 0, []
    for size in shape:
        stride //= size
        start, step = rng.randrange(size), rng.choice((1, 1, 2, 3))
        offset += start * stride
        sides.append((len(range(start, rng.randint(start + 1, size), step)), step * stride))
    rng.shuffle(sides)
    return View(offset, tuple(size for size, _ in sides), tuple(each for _, each in sides), rng.choice((1, 2)))


def test_two_views_overlap_where_they_have_a_byte_in_common() -> None:
    rng, seen = random.Random(0), set()
    for _ in range(4000):
        one, other = some_view(rng), some_view(rng)
        common = bool(covered(one) & covered(other))
        assert overlap(one, other) == overlap(other, one) == common, (one, other)
        seen.add(common)
    assert seen == {True, False}


def test_views_share_a_part_where_they_have_a_byte_in_common() -> None:
    rng, divided = random.Random(1), 0
    for _ in range(300):
        views = list(dict.fromkeys(some_view(rng) for _ in range(rng.randint(2, 9))))
        parts = divide(views)
        filled = [covered(view) for view in views]
        disjoint = any(a and b and not a & b for a, b in itertools.combinations(filled, 2))
        assert bool(parts) == disjoint
        divided += disjoint
        for (a, b), (p, q) in zip(itertools.combinations(filled, 2), itertools.combinations(parts, 2), strict=False):
            assert bool(a & b) == bool(set(p) & set(q)), views
        assert all(bool(bytes_) == bool(part) for bytes_, part in zip(filled, parts, strict=False))
    assert divided > 100


def test_large_layouts_are_told_apart_without_counting_their_bytes() -> None:
    rows, columns = (View(0, (1 << 20, 4096), (8192, 1), 2), View(4096, (1 << 20, 4096), (8192, 1), 2))
    assert not overlap(rows, columns)
    assert overlap(rows, columns._replace(offset=4095))


def test_too_many_views_are_not_told_apart() -> None:
    rows = [View(row * 4, (4,), (1,), 4) for row in range(LIMIT)]
    assert divide(rows) == [(part,) for part in range(LIMIT)]
    assert divide([*rows, View(LIMIT * 4, (4,), (1,), 4)]) == []
