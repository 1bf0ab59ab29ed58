"""SUP: comments that suppress findings, and do not do what they say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Severity
from streamsched.dsl.lint.suppress import Code, Ignore
from streamsched.dsl.nearest import did_you_mean, nearest
from streamsched.dsl.rule import rule

_HOW = "name the rules in brackets: `# streamsched: ignore[CODE] reason`"


@rule("SUP101", "unused-ignore", Severity.WARNING)
def unused_ignore(unused: Sequence[tuple[Ignore, Code]]) -> Iterator[Diagnostic]:
    """A comment ignores a rule that finds nothing there.

    It may be left over from a fault that was mended since. Left in place, it would hide the next one.

    Example:

        B -> merge                    # streamsched: ignore[ORD104] kept for the reader

    Use instead, where the edge is needed after all, no comment:

        B -> merge
    """
    for ignore, code in unused:
        whole = len(ignore.codes) == 1
        span = ignore.span if whole else code.span
        message = f"`{code.text}` finds nothing here that this comment could suppress"
        fix = Fix("take out the comment" if whole else f"take out `{code.text}`", (_removal(ignore, code),), safe=True)
        yield unused_ignore.diagnostic(span, message, fix=fix)


def _removal(ignore: Ignore, code: Code) -> Edit:
    """What takes `code` out of a comment, with a comma, and with the comment where it is the only one."""
    if len(ignore.codes) == 1:
        return Edit(ignore.span, "")
    index = ignore.codes.index(code)
    if index + 1 < len(ignore.codes):
        return Edit(code.span.start.to(ignore.codes[index + 1].span.start), "")
    return Edit(ignore.codes[index - 1].span.end.to(code.span), "")


@rule("SUP102", "ignore-without-reason", Severity.WARNING)
def ignore_without_reason(ignores: Sequence[Ignore]) -> Iterator[Diagnostic]:
    """A comment ignores a rule and does not say why.

    The next reader cannot tell whether the finding was understood or only silenced, nor when the comment may go.

    Example:

        B -> merge                    # streamsched: ignore[ORD104]

    Use instead:

        B -> merge                    # streamsched: ignore[ORD104] kept for the reader
    """
    for ignore in ignores:
        if ignore.codes and not ignore.reason and ignore.word == "ignore":
            named = ", ".join(code.text for code in ignore.codes)
            advice = f"write it behind: `# streamsched: ignore[{named}] reason`"
            yield ignore_without_reason.diagnostic(ignore.span, "this comment does not say why", help=advice)


@rule("SUP103", "invalid-ignore", Severity.ERROR)
def invalid_ignore(ignores: Sequence[Ignore], known: Collection[str]) -> Iterator[Diagnostic]:
    """A comment that begins with `streamsched:` and suppresses nothing, as it names no rule that there is.

    Rules are named by their codes, in brackets, each by itself. There is no comment that ignores a family, or all of
    them: it would hide what nobody has seen. A sentence behind `streamsched:` is a comment like any other.

    Example:

        B -> merge                    # streamsched: ignore[ORD140] kept for the reader
        A -> merge                    # streamsched: ignore

    Use instead:

        B -> merge                    # streamsched: ignore[ORD104] kept for the reader
        A -> merge                    # streamsched: ignore[ORD104] kept for the reader
    """
    for ignore in ignores:
        if ignore.word != "ignore":
            message = (
                f"`{ignore.word}` is nothing that a comment can ask for"
                if ignore.word
                else "this comment asks for nothing"
            )
            yield invalid_ignore.diagnostic(ignore.span, message, help=_HOW)
        elif not ignore.codes:
            yield invalid_ignore.diagnostic(ignore.span, "this comment names no rule to ignore", help=_HOW)
        for code in ignore.codes:
            if code.text not in known:
                yield _unknown(code, known)


def _unknown(code: Code, known: Collection[str]) -> Diagnostic:
    family = sorted(each for each in known if each.rstrip("0123456789") == code.text)
    if family:
        message = f"`{code.text}` is a family of rules; a comment names each rule that it ignores"
        return invalid_ignore.diagnostic(code.span, message, help=f"its rules are {', '.join(family)}")
    guess = nearest(code.text, known)
    fix = Fix(f"write `{guess}`", (Edit(code.span, guess),)) if guess else None
    advice = did_you_mean(code.text, known) or "`streamsched explain` lists them all"
    return invalid_ignore.diagnostic(code.span, f"there is no rule `{code.text}`", help=advice, fix=fix)


RULES = (unused_ignore, ignore_without_reason, invalid_ignore)
