"""Random forwards, audited as Python, against the sanitizers of torch and torch_npu, which see the same actions.

STREAMSCHED_PROGRAMS says how many forwards; 1,000 were run.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("torch")

from sanitizers import ENTER, LEAVE, Escape, Pair, Place, npu_escapes, npu_handler, torch_pairs
from stream_programs import BUFFER, Forward, forward

from streamsched.dsl.audit import Audited, audit
from streamsched.dsl.check.accesses import races
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.mending import mended
from streamsched.dsl.program.steps import Program

COUNT = int(os.environ.get("STREAMSCHED_PROGRAMS", "100"))
CALLS = 2
REASONS = {"allocation", "overlapping view", "older write", "write behind a racing read"}
"""Why torch's sanitizer misses a finding: it looks at the last write only or, where there are any, at the reads since;
it tells tensors apart by where they begin; and it knows of no allocation."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Forward, Audited]]:
    """The random forwards, each with its audit."""
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("forwards"))
    try:
        return [(made, audited(made)) for made in map(forward, range(COUNT))]
    finally:
        os.chdir(before)


def audited(made: Forward) -> Audited:
    Path("m.py").write_text(made.source)
    found = audit("m.py:M", ("x0: f32[4]", "x1: f32[4]"), calls=CALLS)
    assert found.program is not None, (made.source, found.diagnostics)
    return found


def places(program: Program) -> dict[int, Place]:
    """The running steps by call and line."""
    found: dict[int, Place] = {}
    call, inside = -1, False
    for index, step in enumerate(program.steps):
        if step.runs:
            if step.source is None:
                inside = not inside
                call += inside
            line = (ENTER if inside else LEAVE) if step.source is None else step.source.line
            found[index] = Place(call, line)
    return found


def our_pairs(program: Program) -> set[Pair]:
    at = places(program)
    return {Pair(at[r.before], at[r.after], program.storages[r.storage].name) for r in races(program)}


def touched(made: Forward, place: Place, block: str) -> tuple[set[int], set[int]]:
    """The offsets in a block that an action reads, and those that it writes, as its sanitizer sees them."""
    if place.line in (ENTER, LEAVE):
        return ({0}, set()) if place.line == LEAVE else (set(), {0})
    action = made.action(place.line)
    written = {access.offset for access in action.writes if access.block == block and action.what != "alloc"}
    return {access.offset for access in action.reads if access.block == block} - written, written


def issued(made: Forward) -> list[Place]:
    """All kernels of all calls, in the order of issue."""
    lines = [made.first + n for n, action in enumerate(made.actions) if action.what == "kernel"]
    return [Place(call, line) for call in range(CALLS) for line in (ENTER, *lines, LEAVE)]


def reason(made: Forward, pair: Pair, theirs: set[Pair]) -> str:
    """Why torch's sanitizer does not report a pair; empty where there is no reason."""
    if pair.before.line > 0 and made.action(pair.before.line).what == "alloc":
        return "allocation"
    if pair.after.line > 0 and made.action(pair.after.line).what == "alloc":
        return "allocation"
    (read, written), (reads, writes) = (touched(made, place, pair.block) for place in pair[:2])
    shared = {o for o in read | written if o in reads | writes and (o in written or o in writes)}
    if not shared:
        return "overlapping view"
    order = issued(made)
    between = order[order.index(pair.before) + 1 : order.index(pair.after)]
    if pair.block != BUFFER:
        between = [place for place in between if place.call == pair.before.call]
    later = [(place, *touched(made, place, pair.block)) for place in between]
    if all(any(o in w for _, _, w in later) for o in shared):
        return "older write" if written & shared else "read before an older write"
    readers = [place for place, r, _ in later if r & shared]
    hides = [p for p in readers if {Pair(pair.before, p, pair.block), Pair(p, pair.after, pair.block)} & theirs]
    if pair.after.line > 0 and writes and hides:
        return "write behind a racing read"
    return ""


def test_races_are_those_of_the_sanitizer_of_torch_and_more(recorded: list[tuple[Forward, Audited]]) -> None:
    reasons: Counter[str] = Counter()
    common = 0
    for made, found in recorded:
        assert found.program is not None
        ours, theirs = our_pairs(found.program), torch_pairs(made, CALLS)
        assert theirs <= ours, (made.source, theirs - ours)
        common += len(theirs)
        for pair in ours - theirs:
            why = reason(made, pair, theirs)
            assert why, (made.source, pair)
            reasons[why] += 1
    assert common > COUNT
    assert reasons.keys() == {*REASONS, "read before an older write"}, reasons


def test_what_is_told_is_enough(recorded: list[tuple[Forward, Audited]]) -> None:
    """The missing waits that are told are races, are told where there is one, and mend all."""
    for made, found in recorded:
        assert found.program is not None
        facts, racing = Facts(found.program), set(races(found.program))
        told = {race[:3] for group in facts.missing for race in group}
        assert told <= {race[:3] for race in racing}
        assert not races(mended(facts))
        at, theirs = places(found.program), torch_pairs(made, CALLS)
        for before, after, storage in told:
            pair = Pair(at[before], at[after], found.program.storages[storage].name)
            assert pair in theirs or reason(made, pair, theirs) in REASONS, (made.source, pair)
        codes = [each.code for each in found.diagnostics]
        assert ("ORD101" in codes) == bool(racing), made.source


def our_escapes(program: Program) -> set[Escape]:
    at = places(program)
    made: dict[int, int] = {}  # by storage: the call that allocates it
    for index, step in enumerate(program.steps):
        for storage in step.writes:
            made.setdefault(storage, at[index].call)
    return {
        Escape(made[reuse.storage], program.storages[reuse.storage].name, user)
        for reuse in Facts(program).reuses
        for user in reuse.unfinished
        if user not in reuse.recorded
    }


def test_lifetimes_are_those_of_the_sanitizer_of_torch_npu(recorded: list[tuple[Forward, Audited]]) -> None:
    """It looks at a block when it is freed, and we at the next use of its memory."""
    handler = npu_handler()
    if handler is None:
        pytest.skip("no torch_npu")
    excuses: Counter[str] = Counter()
    common = 0
    for made, found in recorded:
        assert found.program is not None
        told = npu_escapes(made, CALLS, handler)
        ours, theirs = ({e for e in all_ if e.call < CALLS - 1} for all_ in (our_escapes(found.program), told.escapes))
        assert ours <= theirs, (made.source, ours - theirs)
        assert theirs - ours <= told.excused.keys(), (made.source, theirs - ours - told.excused.keys())
        excuses.update(told.excused[escape] for escape in theirs - ours)
        common += len(ours)
    assert common > COUNT / 10
    assert excuses.keys() <= {
        "the wait lies between the free and the next allocation",
        "the stream that was told of had waited for the use",
    }
    assert len(excuses) == 2, excuses


def test_the_forwards_hold_everything() -> None:
    """The comparison would be worth little without views, reuse, records that are missing, and syncs."""
    kinds = Counter(action.what for seed in range(100) for action in forward(seed).actions)
    assert {"kernel", "alloc", "view", "drop", "record_stream", "record", "wait", "wait_stream"} <= kinds.keys()
    assert {"sync stream", "sync event", "sync device"} <= kinds.keys()
