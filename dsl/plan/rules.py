"""The pages and messages of what can go wrong while a schedule meets its trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Related, Severity, Span
from streamsched.dsl.nearest import nearest_paths
from streamsched.dsl.rule import rule

SHOWN = 12
"""How many names a help line lists."""


@rule("SEL101", "matches-nothing", Severity.ERROR)
def matches_nothing(
    span: Span, selector: str, candidates: Iterable[str] = (), wanted: str = "", idle: str = ""
) -> Diagnostic:
    """A selector matches no op of the traced model.

    A selector that matches nothing is nearly always a misspelled path or name, or a model that has changed. What it
    was meant to place or to order is silently not scheduled. A module that is called may issue no op, too, as
    `nn.Identity` does and `nn.Dropout` in evaluation mode: there is nothing to schedule in it.

    Example:

        group expert = module "shared_expert"     # the module is called shared_experts

    Use instead a name that the trace has; the message lists the nearest ones:

        group expert = module "shared_experts"
    """
    if idle:
        return matches_nothing.diagnostic(
            span,
            f"`{selector}` matches no op: the module `{idle}` is called, but issues no op",
            help="name the module or the value that does the work, or leave it out",
        )
    known = sorted(set(candidates))
    near = nearest_paths(wanted, known)
    fix = None
    if near and selector.count(f'"{wanted}"') == 1:
        fix = Fix(f"write `{near[0]}`", (Edit(span, selector.replace(f'"{wanted}"', f'"{near[0]}"')),))
    some = ", ".join(known[:SHOWN]) + (", ..." if len(known) > SHOWN else "")
    return matches_nothing.diagnostic(
        span,
        f"`{selector}` matches no op of the model",
        notes=(f"nearest: {', '.join(near)}",) if near else (),
        help=f"there are {some}" if known and not near else None,
        fix=fix,
    )


@rule("SEL102", "op-on-two-streams", Severity.ERROR)
def op_on_two_streams(
    second: Span, first: Span, op: str, source: Span | None, streams: tuple[str, str], count: int
) -> Diagnostic:
    """An op is placed on two streams.

    Every kernel is launched once, on one stream. When two placements select the same op, there is no telling which
    of them is meant.

    Example:

        module "mlp" on side
        op "mm" on other            # also selects the mm inside mlp

    Use instead disjoint selections:

        op "mm" - module "mlp" on other
    """
    more = f" and {count - 1} more ops are" if count > 1 else " is"
    related = [Related(first, f"first placed on `{streams[0]}` here")]
    if source is not None:
        related.append(Related(source, f"`{op}` is issued here"))
    return op_on_two_streams.diagnostic(
        second,
        f"`{op}`{more} placed on `{streams[0]}` and on `{streams[1]}`",
        related=tuple(related),
        notes=("a kernel is launched once, on one stream",),
        help="subtract one selection from the other with `-`",
    )


@rule("SEL103", "edge-shares-kernel", Severity.ERROR)
def edge_shares_kernel(span: Span, label: str, op: str, source: Span | None) -> Diagnostic:
    """Both ends of an edge hold the same kernel.

    An edge `a -> b` says that every kernel of `a` completes before any kernel of `b` starts. A kernel in both would
    have to complete before it starts.

    Example:

        group a = module "mlp"
        group b = value "x"         # its statement calls mlp
        a -> b

    Use instead disjoint groups:

        group b = value "x" - module "mlp"
    """
    related = (Related(source, f"`{op}` is in both ends"),) if source is not None else ()
    return edge_shares_kernel.diagnostic(
        span,
        f"the ends of `{label}` share the kernel `{op}`",
        related=related,
        notes=("it would have to complete before it starts",),
        help="subtract one group from the other with `-`",
    )


@rule("SEL104", "no-kernel", Severity.WARNING)
def no_kernel(span: Span, selector: str, role: str) -> Diagnostic:
    """A placement or one end of an edge selects only ops that launch no kernel.

    Views, getitem and their kin launch nothing on the device: there is nothing to place and nothing to wait for. The
    statement has no effect, and what was meant to be ordered is not.

    Example:

        group heads = op "view"
        heads -> merge

    Use instead the op that makes the data:

        group heads = module "q_proj"
        heads -> merge
    """
    return no_kernel.diagnostic(
        span,
        f"`{selector}` launches no kernel: {role} has no effect",
        notes=("views, getitem and their kin launch nothing on the device",),
        help="select the op that makes the data",
    )


@rule("SEL107", "fragile-selector", Severity.INFO)
def fragile_selector(span: Span, selector: str, instead: str | None) -> Diagnostic:
    """A selector names ops by a number that any edit of the model shifts.

    `node "mm_3"` and `line "model.py:31"` mean another op as soon as an op or a line is inserted above. The schedule
    then still parses and still matches something.

    Example:

        group expert = node "mm_3"

    Use instead what the model's author named:

        group expert = value "expert_out"
    """
    fix = Fix(f"write `{instead}`", (Edit(span, instead),), safe=True) if instead else None
    return fragile_selector.diagnostic(
        span,
        f"`{selector}` may select another op after the next edit of the model",
        help=None if instead else 'prefer `module "..."` or `value "..."`',
        fix=fix,
    )


@rule("ORD201", "cycle", Severity.ERROR)
def cycle(spans: Sequence[Span], labels: Sequence[str], path: Sequence[str]) -> Diagnostic:
    """Declared edges, together with what the data demands, form a cycle.

    No issue order honours all of them: each end of the cycle would wait for the other, and on a device that is a
    hang.

    Example:

        a -> b
        b -> a

    Use instead one direction; take out the edge that is not meant:

        a -> b
    """
    return cycle.diagnostic(
        spans[0],
        f"these orders form a cycle: {', '.join(f'`{label}`' for label in labels)}",
        related=tuple(
            Related(span, f"`{label}` is part of it") for span, label in zip(spans[1:], labels[1:], strict=True)
        ),
        notes=("the cycle: " + " -> ".join(path),),
        help="take out one of them",
    )


@rule("ORD202", "edge-against-data", Severity.ERROR)
def edge_against_data(span: Span, label: str, path: Sequence[str], related: tuple[Related, ...]) -> Diagnostic:
    """An edge runs against the data: its second end makes what its first end needs.

    The data demands that the second group runs first, in part at least. No issue order honours both.

    Example:

        group first  = value "a"      # a = f(x)
        group second = value "b"      # b = g(a)
        second -> first

    Use instead the direction in which the data flows:

        first -> second
    """
    return edge_against_data.diagnostic(
        span,
        f"`{label}` runs against the data",
        related=related,
        notes=("the data demands: " + " -> ".join(path),),
        help="turn the edge round, or take it out",
    )


RULES = (
    matches_nothing,
    op_on_two_streams,
    edge_shares_kernel,
    no_kernel,
    fragile_selector,
    cycle,
    edge_against_data,
)
