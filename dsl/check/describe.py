"""Words and places for the steps of a program, as findings speak of them."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Related, Span
from streamsched.dsl.program.steps import Program, StepKind

_NAMES = {StepKind.ENTRY: "the entry of forward()", StepKind.EXIT: "the exit of forward()"}


def name(program: Program, step: int) -> str:
    """What a step is called, quoted where it has a name of its own."""
    found = program.steps[step]
    return _NAMES.get(found.kind, f"`{found.name}`")


def stream(program: Program, index: int) -> str:
    """A stream's name, quoted."""
    return f"`{program.streams[index].name}`"


def on_stream(program: Program, step: int) -> str:
    """A step with its stream: `mm` on `side`."""
    return f"{name(program, step)} on {stream(program, program.steps[step].stream)}"


def placement(program: Program, *steps: int) -> Span:
    """The statement that put the first of `steps` on its stream, else that of the next, else the program's own.

    Code without a schedule is its own: it is the place in the source then.
    """
    if is_hand_written(program):
        sources = (program.steps[index].source for index in steps)
        return next((source for source in sources if source is not None), program.span)
    for index in steps:
        step = program.steps[index]
        for group in (program.groups[number] for number in step.groups):
            if group.placed is not None and group.stream == step.issuer:
                return group.placed
    return program.span


def is_hand_written(program: Program) -> bool:
    """Whether the program was recorded from code, so that there is no schedule to change."""
    return program.insert is None and not program.groups


def related(program: Program, *parts: tuple[int, str]) -> tuple[Related, ...]:
    """The steps' places in the user's source, with the words on their part; a step without a source has none."""
    found: list[Related] = []
    for index, words in parts:
        source = program.steps[index].source
        if source is not None:
            found.append(Related(source, words))
    return tuple(found)


def listed(words: list[str], most: int = 3) -> str:
    """`a`, `b` and `c`; what is over `most` is counted only."""
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
