"""PRF: does it gain anything that ops run on several streams?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from streamsched.dsl.check.describe import name, on_stream, placement, related, stream
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.windows import LEAST, SYNC, Bound, beside, bound, costs, duration, windows
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program.steps import DEFAULT, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.collectives import WAIT
from streamsched.dsl.trace.model import NONE


@rule("PRF101", "never-overlaps", Severity.WARNING)
def never_overlaps(facts: Facts) -> Iterator[Diagnostic]:
    """Nothing may run beside what is placed on a stream.

    Each kernel on it is before or after every kernel elsewhere, by the edges, the data, and the order in which the host
    issues. It is a queue with detours: all the syncs, and no overlap.

    Mostly the group depends on all that comes before, and all that comes after depends on it; or an edge is wider than
    it has to be.

    Example:

        norm, expert on side
        norm -> expert -> merge       # and nothing else runs between `norm` and `merge`

    Use instead a group that has something beside it:

        expert on side                # beside `routed`, which needs `norm` as well
        norm -> expert -> merge
    """
    program = facts.program
    if program.target == "cpu" or program.insert is None:
        return
    kernels = _kernels(facts)
    for number in range(DEFAULT + 1, len(program.streams)):
        if kernels[number] and not program.streams[number].of_group and not _overlaps(facts, kernels, number):
            first, last = kernels[number][0], kernels[number][-1]
            yield never_overlaps.diagnostic(
                program.streams[number].span or program.span,
                f"nothing runs beside what is placed on {stream(program, number)}",
                related=related(program, (first, f"the first on {stream(program, number)}"), (last, "the last")),
                notes=("its syncs cost time, and it gains none",),
                help=f"place on {stream(program, number)} what is independent of other work, or narrow its edges",
            )


def _kernels(facts: Facts) -> list[list[int]]:
    """By stream: the steps that do something on the device."""
    program = facts.program
    found: list[list[int]] = [[] for _ in program.streams]
    for index in facts.of(StepKind.LAUNCH):
        step = program.steps[index]
        if program.trace is None or step.op == NONE or program.trace.ops[step.op].target != WAIT:
            found[step.stream].append(index)
    return found


def _overlaps(facts: Facts, kernels: list[list[int]], number: int) -> bool:
    """Whether a kernel of a stream may run beside one of another."""
    order = facts.clocks
    for index in kernels[number]:
        for other, steps in enumerate(kernels):
            if other == number:
                continue
            start = bisect_left(steps, order.seen[index][other], key=order.positions.__getitem__)
            if start < len(steps) and not order.before(index, steps[start]):
                return True
    return False


@rule("PRF102", "window-too-short", Severity.INFO)
def window_too_short(facts: Facts) -> Iterator[Diagnostic]:
    """What runs on a side stream between two syncs takes less time than the syncs.

    Reported where the schedule names its `device`: the time is estimated from the FLOPs and the bytes of the ops, as if
    the device reached its rates, and two microseconds are counted for a record and its wait.

    What little overlaps cannot make up for the syncs: one queue would be faster.

    Example:

        value "mask" on side          # a few bytes, between a fork and a join

    Use instead more work between the syncs, or none of them:

        module "shared_expert" on side

    References: the estimates are those of dsl/trace/costs.py.
    """
    program = facts.program
    device = program.device
    if device is None or not device.rated or program.trace is None:
        return
    for window in windows(facts):
        syncs = window.syncs * SYNC
        few = window.returns and len(window.steps) * LEAST < syncs
        found = costs(facts, window.steps) if few else None
        if found is None:
            continue
        work = sum(duration(device, cost) for cost in found)
        if work < syncs:
            first, last = window.steps[0], window.steps[-1]
            what = name(program, first) if first == last else f"{name(program, first)} to {name(program, last)}"
            yield window_too_short.diagnostic(
                placement(program, first),
                f"{what} on {stream(program, window.stream)} takes about {work:.1f} us, and its {window.syncs} syncs "
                f"{syncs:.0f} us",
                related=related(program, (first, "the first between two syncs"), (last, "the last")),
                help="place more between the syncs, or leave it on `default`",
            )


@rule("PRF103", "same-unit", Severity.INFO)
def same_unit(facts: Facts) -> Iterator[Diagnostic]:
    """What overlaps is bound by the same unit of the device, so that it takes as long as one after the other.

    Reported where the schedule names its `device`: by FLOPs and bytes, both sides spend four fifths of their time on
    the cube cores, on the vector cores, or on the bandwidth of the memory. Ops that are too small to fill a unit are
    left out, and so are streams with a limit of cores.

    Overlap pays where one side leaves idle what the other one needs: products beside elementwise ops, computing beside
    communication.

    Example:

        module "up" on side           # a large product, beside another large product

    Use instead a partner that is bound by something else, or stagger the two sides by an edge:

        value "quantised" on side     # vector cores, beside the product

    References: S. Williams et al., "Roofline", CACM 2009; the estimates are those of dsl/trace/costs.py.
    """
    program = facts.program
    device = program.device
    if device is None or not device.rated or program.trace is None:
        return
    for window in windows(facts):
        limited = program.streams[window.stream]
        here = costs(facts, window.steps) if (limited.aic, limited.aiv) == (None, None) else None
        unit = bound(device, here) if here else Bound.LAUNCH
        if unit is Bound.LAUNCH:
            continue
        others = beside(facts, window)
        there = costs(facts, others)
        if there and bound(device, there) is unit:
            first = window.steps[0]
            yield same_unit.diagnostic(
                placement(program, first),
                f"{on_stream(program, first)} and what runs beside it are both bound by {unit.value}",
                related=related(program, (first, f"begins on {stream(program, window.stream)}"), (others[0], "beside")),
                notes=("together they take about as long as one after the other",),
                help="let it run beside something that is bound by another unit",
            )


RULES = (never_overlaps, window_too_short, same_unit)
