"""RES: does the device have what may be asked of it at once?"""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.chains import Chains, Weight
from streamsched.dsl.check.describe import listed, name, placement, related, stream
from streamsched.dsl.check.edgefix import edge_fix
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.holders import ALL, Holder
from streamsched.dsl.check.overloads import Overload, capacity
from streamsched.dsl.check.target_steps import NPU, NPUGRAPH_EX, is_npugraph_ex
from streamsched.dsl.devices.cores import Unit
from streamsched.dsl.devices.device import GRAPH_STREAMS
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program.steps import DEFAULT, Program, StepKind, Stream
from streamsched.dsl.rule import rule

_POOL = 32
"""How many streams the pool of torch and of torch_npu holds for one device."""


@rule("RES101", "cores-exceeded", Severity.ERROR)
def cores_exceeded(facts: Facts) -> Iterator[Diagnostic]:
    """NPU: collectives that may run at once, with what else holds cores, want more cores than the device has.

    Weighed is what holds cores while it waits for others: collectives, communication that is fused with other work, and
    ops in batch mode, which start only when all their cores are free (`nonzero`, for one). How many cores they hold is
    what the schedule says of them (`collective a cores aiv 16`), else the limit of their stream, else the whole device.
    Ordinary kernels weigh nothing. Cube and vector cores are counted apart, and any number of ops, not only pairs.

    One rank gives its cores to the one collective, another rank to the other. Each then waits for cores that only the
    other ranks could free: all of them hang, mostly only under load.

    Example, on a device with 48 vector cores:

        stream a { cores aiv 16 }
        stream b, c { cores aiv 24 }
        reduce on a                   # three collectives: each two of them fit, all three do not
        gather on b
        scatter on c

    Use instead an order, or limits that fit together:

        reduce -> scatter

    References: torchair, "core_limit": NonZero between two collectives; deadlock_check of npugraph_ex, which looks at
    pairs.
    """
    program = facts.program
    if program.device is None and program.target not in (NPU, NPUGRAPH_EX):
        return
    for overload in facts.overloads:
        first, second = overload.ends
        parts = [f"{name(program, h.step)} on {_issuer(program, h)}" for h in overload.holders]
        yield cores_exceeded.diagnostic(
            placement(program, second, first),
            f"{listed(parts, 8)} may run at once, and want {_wanted(program, overload)}",
            related=related(program, *((h.step, _held(program, h, overload.unit)) for h in overload.holders)),
            notes=(
                *(
                    f"{name(program, h.step)} {_held(program, h, overload.unit)}"
                    for h in overload.holders
                    if program.steps[h.step].source is None
                ),
                "ranks that give their cores to different ones of them wait for each other for ever",
            ),
            help=_limits(program, overload.unit),
            fix=edge_fix(facts, first, second),
        )


def _issuer(program: Program, holder: Holder) -> str:
    return stream(program, program.steps[holder.step].issuer)


def _wanted(program: Program, overload: Overload) -> str:
    """The cores that an overload wants, and those there are."""
    cores = f"{overload.unit.value} cores"
    wanted = sum(holder.cores(overload.unit) for holder in overload.holders)
    if program.device is None:
        return f"more {cores} than any device has"
    return f"{wanted} {cores}: {program.device.name} has {capacity(program, overload.unit)}"


def _held(program: Program, holder: Holder, unit: Unit) -> str:
    number = holder.cores(unit)
    many = "all" if number in (ALL, capacity(program, unit)) else str(number)
    waits = "while it waits for other ranks" if holder.collective else "from the moment when they are all free"
    return f"holds {many} {unit.value} cores {waits}"


def _limits(program: Program, unit: Unit) -> str:
    if program.insert is None:
        return "order them by events, or limit the cores of a stream with `limit_core_num(..., stream=s)`"
    word = "aic" if unit is Unit.CUBE else "aiv"
    return (
        f"order them, limit their streams with `cores {word} N`, or say what they hold: `collective a cores {word} N`"
    )


@rule("RES102", "limit-above-device", Severity.WARNING)
def limit_above_device(facts: Facts) -> Iterator[Diagnostic]:
    """A stream, a collective or an op in batch mode is said to use more cores than the device has.

    The limit of a stream does nothing: at best it gets all cores, at worst the call that sets it fails. What an op is
    said to hold makes it collide with whatever holds cores beside it. Mostly the schedule was written for another
    device.

    Example:

        device ascend910b3                      # 20 cube cores, 40 vector cores
        stream side { cores aic 24, aiv 48 }

    Use instead a limit that leaves something to the others:

        stream side { cores aic 8, aiv 16 }
    """
    program = facts.program
    if program.device is None:
        return
    for limited in program.streams:
        for unit in Unit:
            limit, most = _limit(limited, unit), capacity(program, unit)
            if limit is not None and limit > most:
                yield limit_above_device.diagnostic(
                    limited.span or program.span,
                    f"`{limited.name}` may use {limit} {unit.value} cores, and {program.device.name} has {most}",
                    help=f"a limit is {most} or less",
                )
    for held in program.holdings:
        for unit in Unit:
            said, most = held.aic if unit is Unit.CUBE else held.aiv, capacity(program, unit)
            if said is not None and said > most:
                yield limit_above_device.diagnostic(
                    held.span,
                    f"an op is said to hold {said} {unit.value} cores, and {program.device.name} has {most}",
                    help=f"say {most} or less",
                )


def _limit(limited: Stream, unit: Unit) -> int | None:
    return limited.aic if unit is Unit.CUBE else limited.aiv


@rule("RES103", "cores-promised-twice", Severity.WARNING)
def cores_promised_twice(facts: Facts) -> Iterator[Diagnostic]:
    """Streams that run at once are promised more cores than the device has, together.

    A limit is meant to leave room for the others. Where the limits of streams that run at once add up to more than
    there is, each of them takes cores that another one counts on: the overlap becomes a queue, and what has to start on
    a number of cores at once waits.

    Example:

        device ascend910b3            # 20 cube cores
        stream a, b { cores aic 16 }

    Use instead limits that fit together:

        stream a { cores aic 12 }
        stream b { cores aic 8 }
    """
    program = facts.program
    for unit in Unit if program.device is not None else ():
        limits = [_limit(limited, unit) or 0 for limited in program.streams]
        most = capacity(program, unit)
        if sum(limits) <= most or max(limits) > most:
            continue  # of a limit above the device RES102 tells
        weights = [Weight(i, limits[program.steps[i].issuer]) for i in facts.of(StepKind.LAUNCH)]
        found = Chains(weights, facts.clocks).over(most)
        if not found:
            continue
        streams = sorted({program.steps[index].issuer for index in found})
        promised = " and ".join(f"{limits[number]} to {stream(program, number)}" for number in streams)
        assert program.device is not None
        yield cores_promised_twice.diagnostic(
            program.streams[streams[-1]].span or program.span,
            f"{promised} are more {unit.value} cores than the {most} of {program.device.name}",
            related=related(program, *((i, f"{name(program, i)} may run beside the others") for i in found)),
            notes=("these streams run at once",),
            help=f"let the limits add up to {most} or less",
        )


@rule("RES104", "too-many-streams", Severity.WARNING)
def too_many_streams(facts: Facts) -> Iterator[Diagnostic]:
    """More streams than there are different ones.

    `torch.npu.Stream()` and `torch.cuda.Stream()` take streams from a pool of 32, in turn: the 33rd is the first again.
    What was meant to overlap then waits in one queue, and which pairs do depends on who has made streams before.

    Example:

        stream s0, s1, s2             # ... and so on to s39

    Use instead fewer streams; groups that never overlap can share one:

        first, second on s0
    """
    program = facts.program
    sides = [made for made in program.streams[DEFAULT + 1 :] if not made.of_group]
    if len(sides) > _POOL:
        yield too_many_streams.diagnostic(
            sides[_POOL].span or program.span,
            f"{len(sides)} streams are {len(sides) - _POOL} more than the pool holds: `{sides[_POOL].name}` is "
            f"`{sides[0].name}` again",
            help="place groups that never overlap on one stream",
        )


@rule("RES105", "stream-budget", Severity.ERROR)
def stream_budget(facts: Facts) -> Iterator[Diagnostic]:
    """npugraph_ex: the captured graphs need more streams than the device has.

    Each graph that is captured keeps streams of its own: one for each stream that its code uses. A device has 2,048 for
    all graphs of a process. A graph is captured for each size of a dynamic dim that forward() is called with, so that
    they add up; `graphs N` says how many there will be.

    When the streams are used up, capturing the next graph fails, in the middle of a run.

    Example:

        graphs 600                    # one for each length
        stream a, b, c                # with `default`, 4 streams a graph: 2,400

    Use instead fewer graphs (pad lengths to a few sizes), or fewer streams:

        graphs 64
        stream a, b, c
    """
    program = facts.program
    if not is_npugraph_ex(facts) or program.graphs == 1:
        return
    used = {program.steps[index].stream for index in facts.of(StepKind.LAUNCH, StepKind.ENTRY)}
    most = GRAPH_STREAMS if program.device is None else program.device.streams
    needed = len(used) * program.graphs
    if needed > most:
        yield stream_budget.diagnostic(
            program.span,
            f"{program.graphs:,} graphs with {len(used)} streams each need {needed:,} streams, and there are {most:,}",
            notes=("capturing the graph that is one too many fails",),
            help=f"capture {most // len(used):,} graphs or fewer: pad lengths to a few sizes, or use fewer streams",
        )


RULES = (cores_exceeded, limit_above_device, cores_promised_twice, too_many_streams, stream_budget)
