"""Rules of family SYN about the names of streams, groups and inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Related, Severity
from streamsched.dsl.nearest import nearest
from streamsched.dsl.rule import rule
from streamsched.dsl.syntax.cycles import cycles
from streamsched.dsl.syntax.expected import SELECTORS
from streamsched.dsl.syntax.mends import removal, removal_from_list
from streamsched.dsl.syntax.tree import CostStatement, GroupStatement, InputStatement, Name, StreamStatement
from streamsched.dsl.syntax.usage import DEFAULT, Names, used_groups


@rule("SYN102", "duplicate-name", Severity.ERROR)
def duplicate_name(names: Names) -> Iterator[Diagnostic]:
    """A name that is declared twice.

    Streams share one namespace, groups another, inputs a third. With two declarations of one name there is no telling
    which of them a placement or an edge means.

    Example:

        group expert = module "shared_experts"
        group expert = module "experts"

    Use instead a name for each, or one group for both:

        group expert = module "shared_experts" | module "experts"
    """
    statements = names.schedule.statements
    inputs = [name for s in statements if isinstance(s, InputStatement) for spec in s.specs for name in spec.names]
    for kind, declared in (("stream", names.streams), ("group", names.groups), ("input", inputs)):
        first: dict[str, Name] = {}
        for name in declared:
            if name.text not in first:
                first[name.text] = name
                continue
            related = (Related(first[name.text].span, "first declared here"),)
            advice = "give one of the two another name"
            yield duplicate_name.diagnostic(
                name.span, f"{kind} `{name.text}` is declared twice", related=related, help=advice
            )


@rule("SYN103", "undefined-name", Severity.ERROR)
def undefined_name(names: Names) -> Iterator[Diagnostic]:
    """A stream or a group that is used and declared nowhere.

    `on` takes a stream; `->`, `before` and selectors take groups. They are separate namespaces: a stream cannot stand
    for the ops that are placed on it. Each undefined name is reported once, where it is first used.

    Example:

        stream side
        group expert = module "shared_experts"
        expert on sid
        side -> expert

    Use instead:

        stream side
        group expert = module "shared_experts"
        group merge = value "hidden_states"
        expert on side
        expert -> merge
    """
    streams = {name.text for name in names.streams} | {DEFAULT}
    groups = {name.text for name in names.groups}
    yield from _undefined("stream", names.stream_uses, streams, groups, names)
    yield from _undefined("group", names.group_uses, groups, streams, names)


def _undefined(
    kind: str, uses: Iterable[Name], declared: set[str], others: set[str], names: Names
) -> Iterator[Diagnostic]:
    """The names among `uses` that are not `declared`; `others` are the names of the other kind."""
    places: dict[str, list[Name]] = {}
    for name in uses:
        if name.text not in declared and name.text not in names.torn:
            places.setdefault(name.text, []).append(name)
    for text, used in places.items():
        if text in others:
            message = f"`{text}` is a {_OTHER[kind]}, not a {kind}"
            yield undefined_name.diagnostic(used[0].span, message, help=_TAKES[kind])
            continue
        guess = nearest(text, declared) or nearest(text, names.torn)
        fix = Fix(f"write `{guess}`", tuple(Edit(name.span, guess) for name in used)) if guess else None
        advice = f"did you mean `{guess}`?" if guess else _declaration(kind, text)
        yield undefined_name.diagnostic(used[0].span, f"there is no {kind} `{text}`", help=advice, fix=fix)


def _meant(uses: Iterable[Name], declared: set[str]) -> set[str]:
    """The declared names that undefined ones stand for, most likely: one slip shall not be reported twice."""
    undefined = dict.fromkeys(name.text for name in uses if name.text not in declared)
    guesses = (nearest(text, declared) for text in islice(undefined, _GUESSES))
    return {guess for guess in guesses if guess}


_GUESSES = 20  # comparing all undefined names of a broken file with all declared ones would take too long
_OTHER = {"stream": "group", "group": "stream"}
_TAKES = {
    "stream": "behind `on` stands a stream: declare one with `stream NAME`",
    "group": "edges and selectors take groups: name the ops that you mean with `group NAME = ...`",
}


def _declaration(kind: str, text: str) -> str:
    if kind == "stream":
        return f"declare it: `stream {text}`"
    if text in SELECTORS:
        return f'for a selector add what it selects: `{text} "..."`'
    return f'define it: `group {text} = ...`, or write a selector such as `module "..."` in its place'


@rule("SYN107", "circular-group", Severity.ERROR)
def circular_group(names: Names) -> Iterator[Diagnostic]:
    """A group that is defined through itself.

    A group is the ops that its selector selects. Where the selector leads back to the group, it selects nothing that
    could be found out.

    Example:

        group first = second | op "mm"
        group second = first - op "add"

    Use instead definitions that end in `module`, `op`, `value`, `node` or `line`:

        group first = second | op "mm"
        group second = op "add"
    """
    definitions = {s.name.text: s for s in names.schedule.statements if isinstance(s, GroupStatement)}
    uses = {text: [name.text for name in used_groups(s)] for text, s in definitions.items()}
    for cycle in cycles(uses):
        following = dict(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
        name = definitions[cycle[0]].name
        through = " -> ".join((*cycle, cycle[0]))
        notes = (f"the way round: {through}",) if len(cycle) > 1 else ()
        related = tuple(
            Related(definitions[text].name.span, f"`{text}` uses `{following[text]}`") for text in cycle[1:]
        )
        message = f"group `{name.text}` is defined through itself"
        yield circular_group.diagnostic(name.span, message, related=related, notes=notes)


@rule("SYN201", "unused-stream", Severity.WARNING)
def unused_stream(names: Names) -> Iterator[Diagnostic]:
    """A stream on which nothing is placed.

    Most often a placement was forgotten, so that its ops run on `default` and overlap with nothing.

    Example:

        stream side
        group expert = module "shared_experts"

    Use instead:

        stream side
        group expert = module "shared_experts"
        expert on side
    """
    used = {name.text for name in names.stream_uses} | names.torn | {DEFAULT}
    used |= _meant(names.stream_uses, {name.text for name in names.streams})
    for statement in names.schedule.statements:
        if not isinstance(statement, StreamStatement):
            continue
        unused = [name for name in statement.names if name.text not in used]
        for name in unused:
            what = f"stream `{name.text}`"
            if len(unused) == len(statement.names):
                fix = removal(statement, what if len(unused) == 1 else "the streams that nothing is placed on")
            else:
                fix = removal_from_list(name, statement.names, what, names.schedule.comments)
            advice = f"place something on it: `GROUP on {name.text}`"
            message = f"nothing is placed on stream `{name.text}`"
            yield unused_stream.diagnostic(name.span, message, help=advice, fix=fix)


@rule("SYN202", "unused-group", Severity.WARNING)
def unused_group(names: Names) -> Iterator[Diagnostic]:
    """A group that is neither placed, nor in an edge, nor used by another group.

    A definition alone changes nothing: a placement or an edge was forgotten, or the group is left over.

    Example:

        group expert = module "shared_experts"

    Use instead:

        group expert = module "shared_experts"
        expert on side
    """
    statements = names.schedule.statements
    costs = {s.group.text for s in statements if isinstance(s, CostStatement)}
    used = {name.text for s in statements if not isinstance(s, CostStatement) for name in used_groups(s)} | names.torn
    used |= _meant(names.group_uses, {name.text for name in names.groups})
    for statement in statements:
        if isinstance(statement, GroupStatement) and statement.name.text not in used:
            text = statement.name.text
            fix = None if text in costs else removal(statement, f"group `{text}`")
            message = f"group `{text}` is neither placed, nor in an edge, nor used by another group"
            yield unused_group.diagnostic(statement.name.span, message, fix=fix)
