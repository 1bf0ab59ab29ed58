"""What a run has found, as every renderer gets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.rule import Rule


def _nothing(_: str) -> None:
    return None


@dataclass(frozen=True)
class Report:
    """The findings to show, in the order of the text, with what renderers may want to know besides.

    `read` gives the text of a file that a span names, None where there is none to be had. `files` are the files that
    were checked, those without a finding too. `rule` gives the rule of a code. `found` is everything that was found,
    also what is not shown: what a finding is recognised by does not depend on what else is hidden. `unread` are the
    files that could not be read, each with a message that says so.
    """

    diagnostics: tuple[Diagnostic, ...]
    read: Callable[[str], str | None] = _nothing
    files: tuple[str, ...] = ()
    rule: Callable[[str], Rule[..., Any] | None] = _nothing
    found: tuple[Diagnostic, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()

    @cached_property
    def fingerprints(self) -> Mapping[Diagnostic, str]:
        """What each finding is recognised by in another run."""
        from streamsched.dsl.report.fingerprint import fingerprints  # hashes, which few formats need

        return fingerprints(dict.fromkeys((*self.found, *self.diagnostics)))
