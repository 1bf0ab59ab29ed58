"""AUD2: why a recorded run came to an early end."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import rule
from streamsched.dsl.saying import exit_code


@rule("AUD201", "needs-values", Severity.ERROR)
def needs_values(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """A run without values came to a place that looks at the values of a tensor.

    With `--fake` tensors have shapes and dtypes, and no data, so that a model of any size can be audited. What the host
    reads of them it cannot know: `.item()`, `.cpu()`, `.numpy()`, `if x.sum() > 0`, indices by a mask.

    Why is this bad: the run ends there, and nothing behind it was looked at.

    Example:

        streamsched audit "model.py:build" --input "x: bf16[64, 7168]" --fake

    Use instead small real values on the CPU:

        streamsched audit "model.py:build" --input "x: bf16[8, 64]"
    """
    return needs_values.diagnostic(
        span, message, related=related, notes=notes, help="leave out --fake: the code then runs on small values"
    )


@rule("AUD202", "needs-fake", Severity.ERROR)
def needs_fake(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """An operator that a package registered has no fake implementation.

    With `--fake` every operator only tells the shape and the dtype of its result. torch knows that of its own; of
    others it must be told.

    Why is this bad: the run ends there, and nothing behind it was looked at.

    Example:

        @torch.library.custom_op("mine::scale", mutates_args=())
        def scale(x: torch.Tensor) -> torch.Tensor: ...

    Use instead, in the model's own file or in the one that `--fakes` names:

        @torch.library.register_fake("mine::scale")
        def _(x):
            return torch.empty_like(x)
    """
    return needs_fake.diagnostic(
        span,
        message,
        related=related,
        notes=notes,
        help="register one with `torch.library.register_fake`, in the file that --fakes names, or leave out --fake",
    )


@rule("AUD203", "script-exits", Severity.ERROR)
def script_exits(
    span: Span, name: str, code: object, related: tuple[Related, ...], notes: tuple[str, ...]
) -> Diagnostic:
    """A script that is audited ends itself, with an exit code that is not 0.

    A script runs from its first line to its end, or to `sys.exit()`. What it issued until then is checked all the same.

    Why is this bad: the script says that something went wrong. What it would have done behind that place was not looked
    at.

    Example:

        streamsched audit serve.py                  # serve.py needs an argument, and exits with 2

    Use instead its own arguments, behind two dashes:

        streamsched audit serve.py -- --layers 2
    """
    said = f"says: {code}" if isinstance(code, str) else f"exits with code {exit_code(code)}"
    return script_exits.diagnostic(
        related[0].span if related else span,
        f"{name} {said}",
        notes=("what it issued until then is checked", *notes),
        help="arguments of the script are written behind two dashes: `streamsched audit SCRIPT.py -- ARGUMENTS`",
    )


RULES = (needs_values, needs_fake, script_exits)
