"""ORD: are the collectives begun in one order on every rank, and waited for?"""

from __future__ import annotations

from collections.abc import Iterator

from streamsched.dsl.check.describe import name, placement, related, stream
from streamsched.dsl.check.edgefix import edge_fix
from streamsched.dsl.check.facts import Facts
from streamsched.dsl.check.typed import sync_between
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.rule import rule
from streamsched.dsl.trace.model import StorageKind


@rule("ORD107", "unordered-collectives", Severity.ERROR)
def unordered_collectives(facts: Facts) -> Iterator[Diagnostic]:
    """Two collectives, of two groups or issued on two streams, may run in either order.

    A collective ends only when every rank of its group has begun it. Where two of them are not ordered, each device
    chooses for itself which it begins first, and the order in which the host issues them decides nothing.

    A process group keeps a queue, in the order of issue, for what is not waited for at once: with `async_op=True`, and
    functional ones. In code that runs as it is written, that orders those of one group. It is no order for blocking
    ones, which run on the stream that they are issued on, nor where a compiler may issue them anew: in a schedule, and
    in code for npugraph_ex.

    Counted are the collectives of torch.distributed, communication that torch_npu fuses with other work, and the ops
    that the schedule declares by `collective`. The group of the last two is not known: on two streams they need an
    order, and so do they with any other collective.

    If one rank begins the first and another rank the second, and a device has room for only one, both wait for ever.
    It happens rarely, under load, and on some machines only; cores enough for both today may be too few tomorrow.

    Example:

        group tp = value "routed"     # routed = funcol.all_reduce(routed, "sum", self.tp_group)
        group ep = value "tokens"     # tokens = funcol.all_gather_tensor(x, 0, self.ep_group)
        ep on side                    # beside `tp`

    Use instead an edge (the fix writes it), or let it be inferred:

        tp -> ep

    References: NCCL, "Using multiple NCCL communicators concurrently".
    """
    program = facts.program
    for first, second in facts.unordered_collectives:
        parts = [_issued(program, index) for index in (first, second)]
        yield unordered_collectives.diagnostic(
            placement(program, second, first),
            f"nothing orders the collectives {parts[0]} and {parts[1]}",
            related=related(
                program,
                (first, f"{name(program, first)} must be complete on every rank"),
                (second, f"before {name(program, second)} begins on any"),
            ),
            notes=("ranks that begin them in different orders wait for each other for ever",),
            help=sync_between(program, first, second) if program.insert is None else "`sync auto` orders them",
            fix=edge_fix(facts, first, second),
        )


def _issued(program: Program, index: int) -> str:
    """A collective with its group, where that is known, and the stream that it is issued on."""
    step = program.steps[index]
    groups = [s for s in step.writes if program.storages[s].kind is StorageKind.PROCESS_GROUP]
    of = f" of {program.storages[groups[0]].name}" if groups else ""
    return f"{name(program, index)}{of} on {stream(program, step.issuer)}"


@rule("ORD108", "unawaited-collective", Severity.ERROR)
def unawaited_collective(facts: Facts) -> Iterator[Diagnostic]:
    """Nothing waits for a collective before forward() ends.

    A functional collective only begins where it is called. Its result is there, and what it works on may be freed, when
    `wait_tensor` has made a stream wait for it. `funcol.all_reduce` and its kin see to that; the operators under
    `torch.ops._c10d_functional` do not.

    The caller reads a result that may not be there, and the collective may still be running in the next call.

    Example:

        y = torch.ops._c10d_functional.all_reduce(x, "sum", self.tp_name)
        return y + 1

    Use instead:

        y = funcol.all_reduce(x, "sum", self.tp_group)
        return y + 1
    """
    program = facts.program
    leaves = facts.of(StepKind.EXIT)
    for index in facts.collectives:
        step = program.steps[index]
        if step.issuer != step.stream and leaves and not facts.clocks.before(index, leaves[-1]):
            yield unawaited_collective.diagnostic(
                placement(program, index),
                f"nothing waits for the collective {_issued(program, index)}",
                related=related(program, (index, "begun here")),
                help="call it by `torch.distributed._functional_collectives`, or wait for it with `wait_tensor`",
            )


RULES = (unordered_collectives, unawaited_collective)
