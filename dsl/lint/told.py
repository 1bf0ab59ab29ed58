"""What of all that was found is told: severities, selection and suppression, in this order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from streamsched.dsl.config.config import Config
from streamsched.dsl.diagnostic import Diagnostic, Severity
from streamsched.dsl.lint.suppress import Code, Ignore, suppress


@dataclass(frozen=True, slots=True)
class Told:
    """`found` is everything, in the severities of the project; `left` what is told of it, with what is wrong with the
    comments that suppress findings. `stops` are the errors that kept the rest from being checked."""

    found: tuple[Diagnostic, ...]
    left: tuple[Diagnostic, ...]
    stops: frozenset[Diagnostic] = frozenset()

    def stopping(self) -> Told:
        """Of what is told, the errors that kept the rest from being checked."""
        return replace(self, left=tuple(diagnostic for diagnostic in self.left if diagnostic in self.stops))


def tell(
    diagnostics: Iterable[Diagnostic],
    config: Config,
    ignores: Sequence[Ignore],
    complete: bool,
    known: Callable[[], Collection[str]],
    ran: Callable[[Ignore], bool] = lambda _: True,
) -> Told:
    """What to tell of `diagnostics`.

    `complete` says that every rule had its say. Where an error kept the rest from being checked, errors are told
    whatever the settings and comments say, in their own severity: silence would look like a clean schedule. `known`
    gives the codes of all rules. Of comments that suppress nothing, those are told for which `ran` holds.
    """
    everything = tuple(diagnostics)
    stops = {d for d in everything if d.severity is Severity.ERROR} if not complete else set()
    found = tuple(d if d in stops else config.graded(d) for d in everything)
    suppressed = suppress((d for d in found if d not in stops), ignores)
    unused = [(ignore, code) for ignore, code in suppressed.unused if ran(ignore)] if complete else []
    remarks = tuple(config.graded(d) for d in _on_comments(ignores, unused, known)) if ignores else ()
    kept = {d for d in (*suppressed.left, *remarks) if config.selects(d.code, d.span.file)} | stops
    return Told(found + remarks, tuple(d for d in (*found, *remarks) if d in kept), frozenset(stops))


def _on_comments(
    ignores: Sequence[Ignore], unused: Sequence[tuple[Ignore, Code]], known: Callable[[], Collection[str]]
) -> Iterator[Diagnostic]:
    from streamsched.dsl.lint import suppress_rules as rules  # needed only where there are comments

    codes = known()
    yield from rules.invalid_ignore(ignores, codes)
    yield from rules.ignore_without_reason(ignores)
    yield from rules.unused_ignore([(ignore, code) for ignore, code in unused if code.text in codes])
