"""The rules about models that communicate: what of torch.distributed a trace can hold, and what it needs for that."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


@rule("TRC115", "async-collective", Severity.ERROR)
def async_collective(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """forward() calls a collective with `async_op=True`.

    Reports the collectives of torch.distributed that return a handle to wait for.

    Why is this bad: the handle is no tensor. Where it is waited for is in no trace, so that nothing could tell which
    ops run beside the collective and which need its result. A functional collective returns its result instead, and
    is waited for where that is used: it overlaps just as much, and torch.compile understands it.

    Example:
        handle = dist.all_reduce(y, async_op=True)
        z = self.shared(x)
        handle.wait()
        return y + z

    Use instead:
        import torch.distributed._functional_collectives as funcol

        y = funcol.all_reduce(y, "sum", self.tp_group)      # begins
        z = self.shared(x)
        return y + z                                        # waits

    References: torch.distributed._functional_collectives.
    """
    return async_collective.diagnostic(
        span,
        message,
        related=related,
        notes=notes,
        help='write `y = funcol.all_reduce(y, "sum", group)`, and no wait, with '
        "`import torch.distributed._functional_collectives as funcol`",
    )


@rule("TRC116", "collective-not-traced", Severity.ERROR)
def collective_not_traced(
    span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...] = ()
) -> Diagnostic:
    """forward() communicates in a way that leaves no result to order by.

    Reports `dist.send`, `recv`, `barrier`, `reduce`, `scatter`, `gather`, the in-place `dist.broadcast`, and the
    differentiable collectives of `torch.distributed.nn`. The functional collectives are traced, and so are
    `dist.all_reduce`, `all_gather`, `all_gather_into_tensor`, `reduce_scatter_tensor` and `all_to_all_single`, which
    torch.export turns into functional ones and a copy.

    Why is this bad: such a call changes its argument behind the back of the trace, or waits for other ranks with
    nothing to show for it. No check could tell what has to be ordered with it.

    Example:
        dist.broadcast(x, 0)

    Use instead:
        import torch.distributed._functional_collectives as funcol

        x = funcol.broadcast(x, 0, dist.group.WORLD)
    """
    return collective_not_traced.diagnostic(
        span,
        message,
        related=related,
        notes=notes,
        help="use a functional collective: `import torch.distributed._functional_collectives as funcol`",
    )


@rule("TRC117", "group-not-reachable", Severity.ERROR)
def group_not_reachable(span: Span, message: str, related: tuple[Related, ...]) -> Diagnostic:
    """A collective runs in a process group that no attribute of the model holds.

    Reports a collective whose group is neither the default one nor found in an attribute of a module, or in a list, a
    tuple or a dict there: a `ProcessGroup`, a `DeviceMesh`, or a string with the group's name whose attribute has
    `group` in its own name. Of modules in scope, their own attributes count and those of the modules in them: their
    forward() sees no other, nor may it be given a group.

    Why is this bad: the name of a group is a number that each process counts up for itself. Generated code has to ask
    the live model for its group, and finds it nowhere.

    Example:
        TP = dist.new_group([0, 1])                     # a global of model.py

        def forward(self, x):
            return funcol.all_reduce(x, "sum", TP)

    Use instead:
        def __init__(self):
            self.tp_group = dist.new_group([0, 1])

        def forward(self, x):
            return funcol.all_reduce(x, "sum", self.tp_group)
    """
    return group_not_reachable.diagnostic(
        span,
        message,
        related=related,
        help="keep the group in an attribute of the module that uses it, as `self.tp_group` in its __init__()",
    )


@rule("TRC118", "world-missing", Severity.ERROR)
def world_missing(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...] = ()) -> Diagnostic:
    """The model communicates, and the schedule does not say how many ranks there are.

    Reports a model that needs a process group while it is built or traced, or whose trace has collectives, under a
    schedule without a `world` statement.

    Why is this bad: what each rank computes depends on how many there are. With `world N` the model is traced as rank
    0 of N, in a fake process group: no other process, port or environment variable is needed.

    Example:
        model "model.py:build"      # calls dist.new_group() and funcol.all_reduce()

    Use instead:
        model "model.py:build"
        world 8
    """
    return world_missing.diagnostic(
        span, message, related=related, notes=notes, help="add `world N`, N being the number of ranks, to the schedule"
    )


@rule("TRC207", "rank-decides", Severity.WARNING)
def rank_decides(span: Span, message: str, related: tuple[Related, ...]) -> Diagnostic:
    """What the trace holds is decided by the rank, and it is that of rank 0.

    Reports Python in forward() that asks for its rank (`dist.get_rank()`, `group.rank()`, `mesh.get_local_rank()`);
    and, where the model asks while it is built, attributes that forward() may read and that hold another constant when
    the model is built as the last rank.

    Why is this bad: a model is traced as rank 0. Which ops run, and the numbers in them, are those of rank 0 in the
    generated forward of every rank. Tensors may differ from rank to rank; nothing else may.

    Example:
        rank = dist.get_rank(self.tp_group)
        y = x[:, rank * 64 : (rank + 1) * 64]

    Use instead:
        # in __init__(): self.register_buffer("columns", torch.arange(rank * 64, (rank + 1) * 64))
        y = x.index_select(1, self.columns)
    """
    return rank_decides.diagnostic(
        span,
        message,
        related=related,
        help="keep what depends on the rank in a tensor, or make a `leaf` of the module that uses it",
    )


RULES: tuple[Rule[Any, Any], ...] = (
    async_collective,
    collective_not_traced,
    group_not_reachable,
    world_missing,
    rank_decides,
)
