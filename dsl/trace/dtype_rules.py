"""The rules about dtypes that meet where they must not."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import rule


@rule("TRC206", "mixed-dtypes", Severity.WARNING)
def mixed_dtypes(span: Span, message: str, related: tuple[Related, ...]) -> Diagnostic:
    """An op that wants one dtype is given several.

    Reports matrix products, linear layers and convolutions whose operands have different dtypes, integers
    among them. Ops that promote types, as `+` does, are not reported, nor is a model that enters `torch.autocast`.

    Why is this bad: tracing computes nothing, and does not look; the same call raises on a device. Often the schedule's
    `input` has the dtype that the model is used with, and the model is built with that of its weights' default.

    Example:
        input x: f16[8, 64]             # def build(): return Model()

    Use instead:
        input x: f16[8, 64]             # def build(): return Model().half()
    """
    return mixed_dtypes.diagnostic(
        span, message, related=related, help="give inputs and weights one dtype: build the model `.to(dtype)`, or cast"
    )


RULES = (mixed_dtypes,)
