"""The rules about leaves, and about ops that cannot be traced without help."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Fix, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


@rule("SEL113", "leaf-matches-nothing", Severity.ERROR)
def leaf_matches_nothing(span: Span, message: str, help: str | None) -> Diagnostic:
    """A `leaf` statement matches no module.

    Reports a glob that matches the path of no module below the model itself. Paths are those of `named_modules()`,
    from the root of the model.

    Why is this bad: the modules that were meant are traced op by op, or not at all.

    Example:
        leaf "model.layers.*.mlp.expert"        # the module is called experts

    Use instead:
        leaf "model.layers.*.mlp.experts"
    """
    return leaf_matches_nothing.diagnostic(span, message, help=help)


@rule("TRC113", "unsuitable-leaf", Severity.ERROR)
def unsuitable_leaf(span: Span, message: str, related: tuple[Related, ...], help: str) -> Diagnostic:
    """A module cannot be a leaf.

    Reports leaves whose call generated code cannot write: with an argument that is no tensor, constant, or tuple, list
    or dict of these; with forward hooks of the module's own, which run after its forward(); leaves that put another
    tensor into an object that they are given, such as a cache that grows; and leaves that are in scope themselves.

    Why is this bad: a leaf is one op, and is always printed as the call of its module.

    Example:
        leaf "attention"        # self.attention(x, Settings(causal=True))

    Use instead:
        leaf "attention"        # self.attention(x, causal=True)
    """
    return unsuitable_leaf.diagnostic(span, message, related=related, help=help)


@rule("TRC114", "missing-fake", Severity.ERROR)
def missing_fake(
    span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...], help: str, fix: Fix | None
) -> Diagnostic:
    """A custom op has no fake implementation, or a leaf cannot run without data.

    Reports ops registered with `torch.library` that do not say what they return for tensors without data, and leaves
    whose forward() looks at data and that have no function to say it for them.

    Why is this bad: a model is traced without data, so each op must tell the shapes and dtypes of its results from
    those of its arguments.

    Example:
        @torch.library.custom_op("mylib::scale", mutates_args=())
        def scale(x: torch.Tensor) -> torch.Tensor: ...

    Use instead:
        @scale.register_fake
        def _(x):
            return torch.empty_like(x)

    References:
        https://docs.pytorch.org/docs/stable/library.html#torch.library.register_fake
    """
    return missing_fake.diagnostic(span, message, related=related, notes=notes, help=help, fix=fix)


RULES: tuple[Rule[Any, Any], ...] = (leaf_matches_nothing, unsuitable_leaf, missing_fake)
