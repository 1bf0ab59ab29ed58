"""The rule about what a trace holds of one run's chances."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import rule


@rule("TRC208", "chance-decides", Severity.WARNING)
def chance_decides(span: Span, message: str, related: tuple[Related, ...]) -> Diagnostic:
    """What the trace holds is decided by a random number that Python draws, or by a clock.

    Reports a forward() in which Python draws from `random`, `numpy.random`, `secrets`, `uuid` or `os.urandom`, with
    functions of theirs or from a generator of its own; and one that reads a clock of `time`, where other ops run or
    other numbers are computed by another clock. Random ops (`torch.rand`, `torch.randn`) are ops like any other and not
    reported, nor is what a `leaf` draws, which generated code runs as it is.

    Why is this bad: the number that was drawn while tracing, or the branch that it chose, is built into generated code.
    The original draws another one in each call. Only where the module is printed as a call does its own Python run, and
    draw, again.

    Example:
        y = x * random.random()         # in forward()

    Use instead:
        y = x * torch.rand((), device=x.device)
    """
    return chance_decides.diagnostic(
        span,
        message,
        related=related,
        help="draw with torch, or hand the number in as a tensor, or make a `leaf` of the module that draws",
    )


RULES = (chance_decides,)
