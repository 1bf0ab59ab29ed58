"""The rules about `scope`: which modules it selects, and whether one forward() can serve them all."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Fix, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


@rule("SEL108", "scope-matches-nothing", Severity.ERROR)
def scope_matches_nothing(span: Span, message: str, notes: tuple[str, ...], help: str | None) -> Diagnostic:
    """A scope selects no module of the model.

    Reports a glob that matches the path of no module, and a class that none of the matched modules has. The class is
    the module's own, by its name alone: neither a base class nor a dotted path.

    Why is this bad: there is no forward() to generate.

    Example:
        scope "layers.*.mlp"            # the layers are in model.layers

    Use instead:
        scope "model.layers.*.mlp"
    """
    return scope_matches_nothing.diagnostic(span, message, notes=notes, help=help)


@rule("SEL109", "scope-not-called", Severity.ERROR)
def scope_not_called(span: Span, message: str, notes: tuple[str, ...], help: str | None, fix: Fix | None) -> Diagnostic:
    """A module in scope is never called while the model runs.

    Reports modules whose forward() the model's forward() does not run with the example inputs: containers such as a
    `ModuleList`, parts that the inputs do not reach, and modules of which only the weights are used.

    Why is this bad: the inputs of a scoped module are those that the model calls it with; without a call there are
    none, and a generated forward() would never run either.

    Example:
        scope "model.layers"            # a ModuleList: its layers are called one by one

    Use instead:
        scope "model.layers.*"
    """
    return scope_not_called.diagnostic(span, message, notes=notes, help=help, fix=fix)


@rule("SEL110", "scope-modules-differ", Severity.ERROR)
def scope_modules_differ(
    span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...], help: str | None, fix: Fix | None
) -> Diagnostic:
    """The modules in scope do not run the same ops.

    Reports modules of two classes; modules that trace to different ops, shapes or dtypes; modules that get other
    arguments (a mask in one layer, None in the next); and a constant that differs from module to module and that no
    attribute which forward() reads holds. What may differ are weights, the layer of a cache that is used, and constants
    that are the value of one attribute, such as `self.layer_idx` or `self.attn.scaling`, in every module.

    Why is this bad: one generated forward() serves all modules in scope. It would be wrong for some of them.

    Example:
        scope "model.layers.*.mlp"      # the first three layers have a dense MLP

    Use instead the modules that are alike, by their class or by their range:
        scope "model.layers.*.mlp" class DeepseekV3MoE
    """
    return scope_modules_differ.diagnostic(span, message, related=related, notes=notes, help=help, fix=fix)


@rule("SEL111", "overlapping-scope", Severity.ERROR)
def overlapping_scope(span: Span, message: str, notes: tuple[str, ...]) -> Diagnostic:
    """A module in scope lies inside another one in scope.

    Reports a glob that matches a module and a part of that module.

    Why is this bad: the ops of the inner module would be scheduled twice, in its own generated forward() and in that
    of the outer one.

    Example:
        scope "model.**"                # the layers, and everything in them

    Use instead the modules whose forward() is to be scheduled:
        scope "model.layers.*"
    """
    return overlapping_scope.diagnostic(
        span, message, notes=notes, help="let the glob match either the outer modules or the inner ones"
    )


@rule("SEL112", "scope-called-twice", Severity.ERROR)
def scope_called_twice(span: Span, message: str, notes: tuple[str, ...]) -> Diagnostic:
    """A module in scope is called more than once while the model runs.

    Reports a module that one forward() of the model calls again: a layer whose weights are shared, a refinement loop.

    Why is this bad: the events of a generated forward() belong to its module, and each is recorded once per forward()
    of the model. In a captured graph, the second call would record them again while the first may still be awaited.

    Example:
        for _ in range(3):
            x = self.layer(x)           # scope "layer"

    Use instead a module around the repeated one, or the whole model:
        scope "block"
    """
    return scope_called_twice.diagnostic(
        span, message, notes=notes, help="schedule a module around the calls, which is called once, or the whole model"
    )


RULES: tuple[Rule[Any, Any], ...] = (
    scope_matches_nothing,
    scope_not_called,
    scope_modules_differ,
    overlapping_scope,
    scope_called_twice,
)
