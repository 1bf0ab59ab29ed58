"""The rules about dynamic dims: models that do not leave a dim open."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import rule


@rule("TRC119", "fixed-dim", Severity.ERROR)
def fixed_dim(span: Span, message: str, related: tuple[Related, ...], help: str) -> Diagnostic:
    """The model gives a dynamic dim one size.

    Reports a dim with a name that forward() fixes: because it meets a size of the model's own, as in a product with a
    weight; because Python makes a plain number of it (`range(seq)`, `int(seq)`, `math.sqrt(seq)`); or because an
    operator returns as many tensors (`x.unbind(1)`).

    Why is this bad: the generated forward would be right for this one size, and wrong for all others.

    Example:
        input x: f32[batch, width]      # forward() computes x @ self.weight, a weight of [64, 8]

    Use instead:
        input x: f32[batch, 64]
    """
    return fixed_dim.diagnostic(span, message, related=related, help=help)


@rule("TRC120", "constrained-dim", Severity.ERROR)
def constrained_dim(span: Span, message: str, related: tuple[Related, ...], help: str) -> Diagnostic:
    """The trace would hold only for some sizes of a dynamic dim.

    Reports a dim with a name of which forward() asks more than a smallest and a largest size: that it is even, that it
    is as large as another, how many pieces it has. A smallest and a largest size are no fault: the trace keeps them.

    Why is this bad: for other sizes the model's Python may go another way, or an operator may return something else,
    and the generated forward would not.

    Example:
        input x: f32[batch, seq]        # forward() splits x.view(batch, seq // 2, 2)

    Use instead:
        input x: f32[batch, 64]
    """
    return constrained_dim.diagnostic(span, message, related=related, help=help)


@rule("TRC121", "dim-named-like-parameter", Severity.ERROR)
def dim_named_like_parameter(span: Span, name: str) -> Diagnostic:
    """A dynamic dim has the name of a parameter of forward().

    Reports a dim whose name is also that of one of forward()'s parameters, or a word that Python keeps for itself.

    Why is this bad: generated code binds the size to that name: `batch, seq = ids.shape`.

    Example:
        input mask: bool[batch, mask]

    Use instead:
        input mask: bool[batch, length]
    """
    message = f"the dim `{name}` needs another name: forward() or Python has this one already"
    return dim_named_like_parameter.diagnostic(span, message, help="call it by what it counts: `batch`, `seq`")


RULES = (fixed_dim, constrained_dim, dim_named_like_parameter)
