"""The ground of the house: positions in text, and findings as values.

A `Diagnostic` is collected and returned, never raised. Every part of streamsched that can find something wrong
returns diagnostics; `streamsched.dsl.report` turns them into text for people or machines.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class Severity(enum.Enum):
    """How bad a finding is. Errors and warnings are findings (exit code 1); information is not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of text in one file. Lines and columns count from 1, in characters; the end is exclusive.

    `file` is the path as the user would type it (relative to the working directory where possible). An empty span
    (start equals end) is an insertion point.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __post_init__(self) -> None:
        assert self.line >= 1 and self.column >= 1, self
        assert (self.end_line, self.end_column) >= (self.line, self.column), self

    @property
    def start(self) -> Span:
        """The empty span where this one begins."""
        return Span(self.file, self.line, self.column, self.line, self.column)

    @property
    def end(self) -> Span:
        """The empty span where this one ends."""
        return Span(self.file, self.end_line, self.end_column, self.end_line, self.end_column)

    def to(self, last: Span) -> Span:
        """The span from the start of this one to the end of `last`, both in the same file."""
        assert self.file == last.file, (self, last)
        return Span(self.file, self.line, self.column, last.end_line, last.end_column)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text of `span` by `text`. An empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A machine-applicable mend: what it does, in the imperative, and the edits that do it.

    `safe` says that applying it without looking keeps what the author meant.
    """

    message: str
    edits: tuple[Edit, ...]
    safe: bool = False

    def __post_init__(self) -> None:
        assert self.edits, "a fix without edits mends nothing"


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding (the producer, the consumer, the free), with a few words on its part."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `message` says what is wrong, in one line without a final full stop; `notes` say why it matters and show the
    missing path; `help` says what to type instead where no `fix` can do it mechanically.
    """

    code: str
    name: str
    severity: Severity
    message: str
    span: Span
    related: tuple[Related, ...] = ()
    notes: tuple[str, ...] = ()
    help: str | None = None
    fix: Fix | None = None

    def __post_init__(self) -> None:
        assert self.message and "\n" not in self.message, self.message


def apply_edits(text: str, edits: tuple[Edit, ...]) -> str:
    """`text` with `edits` applied, all positions meaning the original text. Edits must not overlap."""
    starts = [0, *(newline.end() for newline in re.finditer(r"\r\n|\n|\r", text))]

    def offset(line: int, column: int) -> int:
        return min(starts[line - 1] + column - 1, len(text)) if line <= len(starts) else len(text)

    ordered = sorted(edits, key=lambda edit: edit.span, reverse=True)
    for edit in ordered:
        start = offset(edit.span.line, edit.span.column)
        end = offset(edit.span.end_line, edit.span.end_column)
        text = text[:start] + edit.text + text[end:]
    return text
