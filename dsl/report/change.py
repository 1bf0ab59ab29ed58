"""What a fix would change, as lines to take out and lines to put in."""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.diagnostic import Edit, Fix, Span, apply_edits
from streamsched.dsl.report.excerpt import source_lines


@dataclass(frozen=True, slots=True)
class Change:
    """Lines of one file from line `number` on: `removed` are replaced by `added`."""

    file: str
    number: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


def changes(fix: Fix, lines: dict[str, list[str]]) -> list[Change]:
    """The changes that `fix` makes in the files whose lines are given, in the order of the text.

    Edits that share a line are shown together. A file without lines is shown by what is put in alone.
    """
    result: list[Change] = []
    for edits in _clusters(fix.edits):
        file = edits[0].span.file
        result.append(_change(file, edits, lines.get(file) or [""]))
    return result


def _clusters(edits: tuple[Edit, ...]) -> list[list[Edit]]:
    """Edits in the order of the text, those that touch a common line together."""
    clusters: list[list[Edit]] = []
    for edit in sorted(edits, key=lambda edit: edit.span):
        last = clusters[-1][-1].span if clusters else None
        if last is not None and last.file == edit.span.file and last.end_line >= edit.span.line:
            clusters[-1].append(edit)
        else:
            clusters.append([edit])
    return clusters


def _change(file: str, edits: list[Edit], lines: list[str]) -> Change:
    first = min(edits[0].span.line, len(lines))
    last = min(max(edit.span.end_line for edit in edits), len(lines))
    old = lines[first - 1 : last]
    text = apply_edits("\n".join(old), tuple(_shifted(edit, first - 1) for edit in edits))
    new = source_lines(text)
    if last == len(lines) and len(new) > 1 and not new[-1]:
        new.pop()  # the end of the file, not an empty line
        if not old[-1]:
            old.pop()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
        first += 1
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return Change(file, first, tuple(old), tuple(new))


def _shifted(edit: Edit, lines: int) -> Edit:
    """The edit in a text that lacks the first `lines` lines."""
    span = edit.span
    line = max(span.line - lines, 1)
    end_line = max(span.end_line - lines, line)
    return Edit(Span(span.file, line, span.column, end_line, span.end_column), edit.text)
