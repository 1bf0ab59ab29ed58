"""A first schedule of a plain model: its groups, everything on the caller's stream, and what might overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsched.dsl.draft.branches import Branch, branches_of, nbytes, weights
from streamsched.dsl.draft.names import Names
from streamsched.dsl.draft.selectors import Speller
from streamsched.dsl.plan.dependence import Dependency, dependencies
from streamsched.dsl.plan.index import TraceIndex
from streamsched.dsl.trace.model import NONE, Trace

_GROUPS = 40
"""How many groups a first schedule has; those with the most kernels are kept."""

_CANDIDATES = 6
"""How many candidates for overlap are listed."""

_SCOPES = 4
"""How many kinds of modules are proposed to look into."""

_STREAM = "side"
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class First:
    """The statements of a first schedule behind its head. `candidates` counts the groups that might overlap others."""

    text: str
    groups: int
    candidates: int


@dataclass(frozen=True, slots=True)
class _Group:
    name: str
    selector: str
    branch: Branch
    size: str


def first_schedule(trace: Trace) -> First:
    """Groups, placements on `default`, and in comments the candidates with the statements that try the best of them."""
    demanded = dependencies(trace)
    branches = branches_of(trace, demanded)
    kept = _kept(branches)
    speller, names = Speller(TraceIndex(trace)), Names({_STREAM})
    groups = {
        number: _Group(
            names.new(*_wanted(branches[number], speller)),
            speller.spell(frozenset(branches[number].kernels)),
            branches[number],
            _size(trace, branches[number].kernels),
        )
        for number in kept
    }
    free = [number for number in kept if any(other in groups for other in branches[number].beside)]
    candidates = sorted(free, key=lambda number: _promise(number, branches, trace))
    lines = [f"group {group.name} = {group.selector}" for group in groups.values()]
    lines += ["", *_placed(groups, candidates)]
    lines += ["", *(_told(groups, candidates) if candidates else _look_inside(trace, demanded))]
    return First("\n".join(lines) + "\n", len(groups), len(candidates))


def _look_inside(trace: Trace, demanded: Sequence[Dependency]) -> list[str]:
    """Where nothing can overlap: the modules that have something inside that can."""
    lines = ["# Nothing can overlap among these: each needs what the one before it makes."]
    found: dict[str, None] = {}
    seen: set[str] = set()
    for number, call in enumerate(trace.calls):
        if call.parent == NONE or call.type in seen or len(found) == _SCOPES:
            continue
        seen.add(call.type)
        if any(branch.beside and branch.labels for branch in branches_of(trace, demanded, number)):
            path = f"{trace.scope.glob}.{call.path}" if trace.scope else call.path
            found.setdefault(".".join("*" if part.isdigit() else part for part in path.split(".")))
    if not found:
        return lines
    lines.append("# Parts of these modules can; write a schedule for one of them with the option")
    return lines + [f'#     --scope "{glob}"' for glob in found]


def _kept(branches: Sequence[Branch]) -> list[int]:
    """Those that become groups: submodules, what may overlap, and what these take data from or give it to."""
    free = {number for number, branch in enumerate(branches) if branch.beside}
    near = {other for number in free for other in (*branches[number].after, *branches[number].before)}
    wanted = [n for n, branch in enumerate(branches) if branch.labels or n in free or n in near]
    largest = sorted(wanted, key=lambda number: -len(branches[number].kernels))[:_GROUPS]
    return sorted(largest)


def _wanted(branch: Branch, speller: Speller) -> tuple[str, ...]:
    """What a branch may be called, the best first."""
    tails = [label.partition("@")[0].split(".")[-1] for label in branch.labels]
    named = [tail for tail in tails if not tail.isdigit()]
    joined = tails[0] if len(tails) == 1 else f"{tails[0]}_to_{tails[-1]}" if len(named) == len(tails) and tails else ""
    if len(tails) == 1 and not named:
        joined = branch.labels[0].partition("@")[0]
    return joined, speller.local(frozenset(branch.kernels)), *(branch.labels[-1:]), "branch"


def _promise(number: int, branches: Sequence[Branch], trace: Trace) -> tuple[int, int]:
    """What to sort by: where the most work can hide behind other work comes first, and of these what is smallest."""
    own = nbytes(trace, branches[number].kernels)
    others = nbytes(trace, [op for other in branches[number].beside for op in branches[other].kernels])
    return -min(own, others), own


def _placed(groups: dict[int, _Group], candidates: Sequence[int]) -> list[str]:
    """All groups on `default`; each that may be moved on a line of its own."""
    together = [group.name for number, group in groups.items() if number not in candidates]
    alone = [f"{group.name} on {_DEFAULT}" for number, group in groups.items() if number in candidates]
    return [*([f"{', '.join(together)} on {_DEFAULT}"] if together else []), *alone]


def _told(groups: dict[int, _Group], candidates: Sequence[int]) -> list[str]:
    """The candidates for overlap, and how to try the first."""
    lines = ["# Candidates for overlap, the most promising first. No data passes between a group and those beside it."]
    for number in candidates[:_CANDIDATES]:
        beside = [groups[other].name for other in groups[number].branch.beside if other in groups]
        more = f" and {len(beside) - _CANDIDATES} more" if len(beside) > _CANDIDATES else ""
        group = groups[number]
        lines.append(f"#     {group.name} ({group.size}) beside {', '.join(beside[:_CANDIDATES])}{more}")
    if len(candidates) > _CANDIDATES:
        lines.append(f"#     and {len(candidates) - _CANDIDATES} more")
    best = groups[candidates[0]]
    lines += ["#", f"# To try the first, write these lines in place of `{best.name} on {_DEFAULT}`:"]
    return lines + [f"#     {line}" for line in _trial(best, groups)]


def _trial(group: _Group, groups: dict[int, _Group]) -> list[str]:
    """The statements that move one group to a stream of its own."""
    branch = group.branch
    needs = [groups[other].name for other in branch.after if other in groups]
    feeds = [groups[other].name for other in branch.before if other in groups]
    lines = [f"stream {_STREAM}", f"{group.name} on {_STREAM}"]
    lines += [f"{', '.join(needs)} -> {group.name}"] if needs else []
    return lines + ([f"{group.name} -> {', '.join(feeds)}"] if feeds else [])


def _size(trace: Trace, kernels: Sequence[int]) -> str:
    count = f"{len(kernels)} kernel{'s' if len(kernels) > 1 else ''}"
    held = weights(trace, kernels)
    what = f"{_spelled(held)} of weights" if held else _spelled(nbytes(trace, kernels))
    return f"{count}, {what}"


def _spelled(size: int) -> str:
    """A number of bytes for people."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return f"{size / 1024**power:.1f} {unit}"
    return f"{size} B"
