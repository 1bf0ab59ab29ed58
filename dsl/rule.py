"""A rule: the function that finds one kind of fault, with the docstring that is the fault's page."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec, TypeVar

from streamsched.dsl.diagnostic import Diagnostic, Fix, Related, Severity, Span

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Rule(Generic[P, R]):
    """One rule. Calling it calls `function`, which returns or yields what it finds.

    `page` is the function's docstring: what the rule does, why the fault is bad, an example, what to use instead,
    references.
    """

    code: str
    name: str
    severity: Severity
    page: str
    function: Callable[P, R]

    def __post_init__(self) -> None:
        assert re.fullmatch(r"[A-Z]{3}\d{3}", self.code), self.code
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", self.name), self.name
        assert self.page, f"{self.code} has no page"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Find what the rule is about."""
        return self.function(*args, **kwargs)

    @property
    def summary(self) -> str:
        """The first line of the page."""
        return self.page.splitlines()[0]

    def diagnostic(
        self,
        span: Span,
        message: str,
        *,
        related: tuple[Related, ...] = (),
        notes: tuple[str, ...] = (),
        help: str | None = None,
        fix: Fix | None = None,
    ) -> Diagnostic:
        """A finding of this rule."""
        return Diagnostic(self.code, self.name, self.severity, message, span, related, notes, help, fix)


def rule(code: str, name: str, severity: Severity) -> Callable[[Callable[P, R]], Rule[P, R]]:
    """Make a function the rule `code`, called `name`; its docstring becomes the rule's page."""

    def decorate(function: Callable[P, R]) -> Rule[P, R]:
        return Rule(code, name, severity, inspect.cleandoc(function.__doc__ or ""), function)

    return decorate
