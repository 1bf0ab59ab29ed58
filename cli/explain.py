"""`streamsched explain`: a rule's documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from streamsched.cli import console

if TYPE_CHECKING:
    from streamsched.dsl.rule import Rule


@click.command("explain", short_help="Explain a rule.")
@click.argument("code", required=False)
def command(code: str | None) -> int:
    """Explain a rule: what it finds, why that is bad, and what to write instead.

    CODE is a rule's code or name. For a family, like ORD, its rules are listed; without CODE, all are.

    \b
    Example:
        streamsched explain ORD101
        streamsched explain missing-edge
        streamsched explain ORD
    """
    from streamsched.dsl.rules import ALL, find

    family = [rule for rule in ALL.values() if code is None or rule.code.rstrip("0123456789") == code.upper()]
    for rule in family:
        click.echo(f"{rule.code}  {rule.severity.value:<7}  {rule.name}: {rule.summary}")
    if code is None or family:
        return console.CLEAN
    found = find(code)
    if found is None:
        raise console.Failure(f"there is no rule {code}{_nearest(code.lower(), ALL)}")
    click.echo(f"{found.code} {found.name} ({found.severity.value})\n\n{found.page.strip()}")
    return console.CLEAN


def _nearest(wanted: str, rules: dict[str, Rule[..., Any]]) -> str:
    """A few rules that may be meant."""
    import difflib

    words = {word.lower(): rule.code for rule in rules.values() for word in (rule.code, rule.name)}
    near = dict.fromkeys(words[word] for word in difflib.get_close_matches(wanted, words, n=3))
    meant = ", ".join(f"{code} ({rules[code].name})" for code in near)
    return f"; did you mean {meant}?" if meant else "; `streamsched explain` lists them all"
