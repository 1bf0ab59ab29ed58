"""Diagnostics for people, with the source text that they speak of.

error[ORD101] missing-edge: `mm` on `s1` reads `B`, which nothing orders
 --> multi_stream.sched:12:1
   |
12 | mm on s1
   | ^^ placed here
   |
  ::: model.py:8:9
   |
 8 |         B = in3 + in4
   |         ------------- `B` is written here
   |
   = note: ...
   = fix: add the edge
   |
13 + b -> mm
"""

from __future__ import annotations

from collections.abc import Callable

from streamsched.dsl.diagnostic import Diagnostic, Fix, Severity, Span
from streamsched.dsl.files import readable_name
from streamsched.dsl.report.change import Change, changes
from streamsched.dsl.report.excerpt import excerpt, printable, source_lines
from streamsched.dsl.report.report import Report
from streamsched.dsl.report.style import Role, paint

_ROLES = {Severity.ERROR: Role.ERROR, Severity.WARNING: Role.WARNING, Severity.INFO: Role.INFO}


def render(report: Report, *, colour: bool = False) -> str:
    """The report, with an empty line after each diagnostic; empty without diagnostics.

    A place in a file whose text is not to be had is named without an excerpt.
    """
    sources: dict[str, list[str]] = {}

    def lines(file: str) -> list[str]:
        if file not in sources:
            text = report.read(file)
            sources[file] = source_lines(text) if text else []
        return sources[file]

    return "".join(_Block(diagnostic, lines, colour).text() for diagnostic in report.diagnostics)


class _Block:
    """The text of one diagnostic: its gutter is as wide as its greatest line number."""

    def __init__(self, diagnostic: Diagnostic, lines: Callable[[str], list[str]], colour: bool) -> None:
        self.diagnostic = diagnostic
        self.lines = lines
        self.colour = colour
        self.changes = self._changes(diagnostic.fix)
        spans = [diagnostic.span, *(related.span for related in diagnostic.related)]
        numbers = [min(span.end_line, len(lines(span.file)) or 1) for span in spans]
        numbers += [change.number + max(len(change.removed), len(change.added)) - 1 for change in self.changes]
        self.gutter = len(str(max(numbers)))
        self.out: list[str] = []

    def text(self) -> str:
        diagnostic = self.diagnostic
        role = _ROLES[diagnostic.severity]
        title = paint(f"{diagnostic.severity.value}[{diagnostic.code}]", role, self.colour)
        message = paint(f"{diagnostic.name}: {printable(diagnostic.message)}", Role.TITLE, self.colour)
        self.out.append(f"{title} {message}")
        self._place("-->", diagnostic.span, "^", "", role)
        for related in diagnostic.related:
            arrow = "-->" if related.span.file == diagnostic.span.file else ":::"
            self._place(arrow, related.span, "-", related.message, Role.NOTE)
        for note in diagnostic.notes:
            self._remark("note", note)
        if diagnostic.help:
            self._remark("help", diagnostic.help)
        if diagnostic.fix:
            self._remark("fix" if diagnostic.fix.safe else "unsafe fix", diagnostic.fix.message)
            self._show(self.changes)
        if self.out[-1] == self._bar():
            self.out.pop()
        return "\n".join(self.out) + "\n\n"

    def _changes(self, fix: Fix | None) -> list[Change]:
        if fix is None:
            return []
        return changes(fix, {edit.span.file: self.lines(edit.span.file) for edit in fix.edits})

    def _bar(self, number: int | None = None) -> str:
        label = "" if number is None else str(number)
        return paint(f"{label:>{self.gutter}} |", Role.GUTTER, self.colour)

    def _place(self, arrow: str, span: Span, mark: str, label: str, role: Role) -> None:
        """An arrow to the place and, where its text is known, the excerpt; `label` stands behind the last marks."""
        self.out.append(f"{' ' * self.gutter}{paint(arrow, Role.GUTTER, self.colour)} {readable_name(str(span))}")
        shown = excerpt(self.lines(span.file), span, mark)
        if not shown:
            if label:
                self._remark("note", label)
            return
        self.out.append(self._bar())
        for line in shown:
            if line.number == 0:
                self.out.append(paint("...", Role.GUTTER, self.colour))
                continue
            self.out.append(f"{self._bar(line.number)} {line.text}".rstrip())
            words = f" {printable(label)}" if label and line is shown[-1] else ""
            blank, marks = line.marks[: -len(line.marks.lstrip())], line.marks.lstrip()
            self.out.append(f"{self._bar()} {blank}{paint(marks + words, role, self.colour)}")
        self.out.append(self._bar())

    def _remark(self, kind: str, text: str) -> None:
        """A note, help or fix; its further lines are set under the first."""
        head = f"{' ' * self.gutter} {paint('=', Role.GUTTER, self.colour)} {paint(kind, Role.TITLE, self.colour)}: "
        indent = " " * (self.gutter + len(kind) + 5)
        first, *rest = text.split("\n")
        self.out.append(head + printable(first))
        self.out.extend((indent + printable(line)).rstrip() for line in rest)

    def _show(self, shown: list[Change]) -> None:
        for change in shown:
            if change.file != self.diagnostic.span.file:
                self.out.append(
                    f"{' ' * self.gutter}{paint('-->', Role.GUTTER, self.colour)} {readable_name(change.file)}"
                )
            self.out.append(self._bar())
            for sign, role, texts in (("-", Role.REMOVED, change.removed), ("+", Role.ADDED, change.added)):
                for number, line in enumerate(texts, change.number):
                    label = paint(f"{number:>{self.gutter}}", Role.GUTTER, self.colour)
                    self.out.append(f"{label} {paint(f'{sign} {printable(line)}'.rstrip(), role, self.colour)}")
