"""What becomes of the memory of freed storages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from streamsched.dsl.check.progress import Progress
from streamsched.dsl.program.steps import DEFAULT, Program, Step, StepKind
from streamsched.dsl.trace.model import NONE


class Use(NamedTuple):
    """The last use of a storage on a stream that is not its home: the step, and its place in the stream."""

    step: int
    place: int


class Reuse(NamedTuple):
    """A freed storage, and the step `next` on its home stream that may be the first to get its memory.

    `unfinished` are, by stream, the last foreign uses that `next` does not wait for; `recorded` the streams that
    `record_stream` told the allocator of before the free.
    """

    free: int
    storage: int
    next: int
    unfinished: dict[int, int]
    recorded: frozenset[int]


def reuses(program: Program) -> Iterator[Reuse]:
    """The reuse of every freed storage that a foreign stream has used.

    Two calls of the program are issued, with a kernel of the caller in between.
    The second call matters only for what was freed behind its home stream's last step in the first: it is issued
    until the last of these finds its next step, which `program.unroll` would find at many times the cost.
    """
    progress = Progress(len(program.streams))
    blocks = _Blocks(program)
    for index, step in enumerate(program.steps):
        if not step.runs:
            blocks.release(index, step, progress)
        else:
            if step.issuer in blocks.free:
                yield from blocks.allocate(index, step.issuer, progress)
            blocks.use(index, step, progress.counts[step.stream])
        progress.issue(step)
    progress.next_call()
    yield from blocks.allocate(NONE, DEFAULT, progress)  # by a kernel of the caller
    for index, step in enumerate(program.steps):
        if not blocks.free:
            return
        if step.runs and step.issuer in blocks.free:
            yield from blocks.allocate(index, step.issuer, progress)
        progress.issue(step)


@dataclass(frozen=True, slots=True)
class _Freed:
    """A block that waits for its next owner."""

    free: int
    storage: int
    uses: dict[int, Use]
    recorded: frozenset[int]


class _Blocks:
    """The allocator, in the worst case: a freed block goes to the next step on its home stream."""

    def __init__(self, program: Program) -> None:
        self.homes = [storage.home for storage in program.storages]
        self.uses: dict[int, dict[int, Use]] = {}
        self.recorded: dict[int, set[int]] = {}
        self.free: dict[int, list[_Freed]] = {}

    def use(self, index: int, step: Step, place: int) -> None:
        """Note the foreign uses of a running step."""
        stream, homes = step.stream, self.homes
        for storage in step.reads + step.writes:
            if homes[storage] != stream:
                self.uses.setdefault(storage, {})[stream] = Use(index, place)

    def release(self, index: int, step: Step, progress: Progress) -> None:
        """Issue a free or a record_stream; any other step changes nothing."""
        if step.kind is StepKind.FREE:
            if step.storage in self.uses:
                recorded = frozenset(self.recorded.get(step.storage, ()))
                open_uses = _uncovered(self.uses[step.storage], recorded, progress)
                freed = _Freed(index, step.storage, open_uses, recorded)
                self.free.setdefault(self.homes[step.storage], []).append(freed)
        elif step.kind is StepKind.RECORD_STREAM:
            self.recorded.setdefault(step.storage, set()).add(step.stream)

    def allocate(self, index: int, stream: int, progress: Progress) -> Iterator[Reuse]:
        """The running step `index` on `stream` may get any block that is free there."""
        seen = progress.seen[stream]
        for block in self.free.pop(stream, ()):
            unfinished = {other: use.step for other, use in block.uses.items() if use.place >= seen[other]}
            yield Reuse(block.free, block.storage, index, unfinished, block.recorded)


def _uncovered(uses: dict[int, Use], recorded: frozenset[int], progress: Progress) -> dict[int, Use]:
    """The uses that a `record_stream` for another stream does not cover: the allocator waits for what is issued there
    by now, and with it for all that was waited for there.
    """
    if not recorded:
        return uses
    return {
        stream: use
        for stream, use in uses.items()
        if stream in recorded or all(use.place >= progress.seen[other][stream] for other in recorded)
    }
