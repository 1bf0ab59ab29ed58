"""Random straight-line forwards with streams: as Python to audit, and as the actions that Python takes.

Every action is one line, and every tensor has a name of its own, so that what is found can be told by lines and names.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

INPUTS = ("x0", "x1")
BUFFER = "kept"
SIZE = 4
ENTER, LEAVE = -1, -2
"""Stand for the lines of the caller's kernels, before and after forward()."""

_HEAD = """\
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.streams = [torch.cuda.Stream() for _ in range({sides})]
        self.events = [torch.cuda.Event() for _ in range({events})]
        self.kept = torch.zeros({size}, device="cuda")

    def forward(self, x0, x1):
        s, e, kept = [torch.cuda.current_stream(), *self.streams], self.events, self.kept
"""


@dataclass(frozen=True)
class Access:
    """What a kernel touches: a block by its name, from `offset` on."""

    block: str
    offset: int


@dataclass(frozen=True)
class Action:
    """One line. `what` is kernel, alloc, view, drop, record_stream, record, wait, wait_stream or the name of a sync."""

    what: str
    text: str
    stream: int = 0
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    fresh: str = ""  # the block that it allocates
    block: str = ""  # of drop: what dies with the name; of record_stream
    event: int = -1
    other: int = -1  # of wait_stream: the stream waited for


@dataclass(frozen=True)
class Forward:
    """A forward: its actions in order, and the blocks that it returns."""

    sides: int
    events: int
    actions: tuple[Action, ...]
    returned: tuple[str, ...]
    source: str
    first: int  # the line of the first action

    def action(self, line: int) -> Action:
        """The action on a line of `source`."""
        return self.actions[line - self.first]


@dataclass
class _Tensor:
    name: str
    block: str
    offset: int
    size: int


def _may_meet(one: _Tensor, other: _Tensor) -> bool:
    """Whether a kernel may write one and read the other: torch refuses views that overlap in part."""
    return one.block != other.block or one.offset == other.offset


@dataclass
class _Maker:
    rng: random.Random
    care: float  # how often an operand is waited for
    sides: int
    events: int
    live: list[_Tensor] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)  # the stream that touched a block last
    made: int = 0

    def step(self) -> None:
        """Add an action, with what it waits for."""
        kinds = (self.kernel, self.alloc, self.view, self.drop, self.tell, self.event, self.sync)
        self.rng.choices(kinds, (12, 2, 4, 3, 2, 4, 0.4))[0]()

    def kernel(self) -> None:
        rng, stream = self.rng, self.stream()
        first = rng.choice(self.live)
        same = [tensor for tensor in self.live if tensor.size == first.size]
        second = rng.choice([tensor for tensor in same if _may_meet(tensor, first)])
        third = rng.choice(
            [tensor for tensor in same if _may_meet(tensor, first) and _may_meet(tensor, second)] or same
        )
        self.waits(stream, first, second)
        a, b, c = (Access(tensor.block, tensor.offset) for tensor in (first, second, third))
        kind = rng.choice(("new", "new", "new", "inplace", "copy", "out"))
        if kind == "new":
            name = self.name()
            made = Access(name, 0)
            self.add("kernel", f"{name} = {first.name} + {second.name}", stream, (a, b), (made,), fresh=name)
            self.live.append(_Tensor(name, name, 0, first.size))
            self.last[name] = stream
        elif kind == "inplace" or not (_may_meet(third, first) and _may_meet(third, second)):
            self.add("kernel", f"{first.name}.mul_({second.name})", stream, (a, b), (a,))
        elif kind == "copy":
            self.add("kernel", f"{first.name}.copy_({second.name})", stream, (b,), (a,))
        else:
            text = f"torch.add({first.name}, {second.name}, out={third.name})"
            self.add("kernel", text, stream, (a, b), (c,))
        self.last |= dict.fromkeys((first.block, second.block, third.block), stream)

    def alloc(self) -> None:
        stream, name, like = self.stream(), self.name(), self.rng.choice(self.live)
        self.add("alloc", f"{name} = torch.empty_like({like.name})", stream, writes=(Access(name, 0),), fresh=name)
        self.live.append(_Tensor(name, name, 0, like.size))
        self.last[name] = stream

    def view(self) -> None:
        base = self.rng.choice([tensor for tensor in self.live if tensor.size > 1] or self.live)
        if base.size > 1:
            skip, name = self.rng.randrange(2), self.name()
            part = f"{base.name}[1:]" if skip else f"{base.name}[:{base.size - 1}]"
            self.actions.append(Action("view", f"{name} = {part}"))
            self.live.append(_Tensor(name, base.block, base.offset + skip, base.size - 1))

    def drop(self) -> None:
        found = [tensor for tensor in self.live if tensor.name not in (*INPUTS, BUFFER)]
        if found:
            self.drop_one(self.rng.choice(found))

    def drop_one(self, tensor: _Tensor) -> None:
        self.live.remove(tensor)
        held = {BUFFER, *INPUTS, *(other.block for other in self.live)}
        self.actions.append(Action("drop", f"del {tensor.name}", block="" if tensor.block in held else tensor.block))

    def tell(self) -> None:
        tensor, stream = self.rng.choice(self.live), self.stream()
        self.add("record_stream", f"{tensor.name}.record_stream(s[{stream}])", stream, block=tensor.block)

    def event(self) -> None:
        number, stream = self.rng.randrange(self.events), self.stream()
        what = self.rng.choice(("record", "wait"))
        self.add(what, f"e[{number}].{what}(s[{stream}])", stream, event=number)

    def sync(self) -> None:
        what = self.rng.choice(("stream", "event", "device"))
        stream, number = self.stream(), self.rng.randrange(self.events)
        owner = {"stream": f"s[{stream}]", "event": f"e[{number}]", "device": "torch.cuda"}[what]
        self.add(f"sync {what}", f"{owner}.synchronize()", stream, event=number)

    def waits(self, stream: int, *operands: _Tensor) -> None:
        for tensor in operands:
            other = self.last.get(tensor.block, 0)
            if other != stream and self.rng.random() < self.care:
                self.add("wait_stream", f"s[{stream}].wait_stream(s[{other}])", stream, other=other)

    def add(
        self,
        what: str,
        text: str,
        stream: int,
        reads: tuple[Access, ...] = (),
        writes: tuple[Access, ...] = (),
        fresh: str = "",
        block: str = "",
        event: int = -1,
        other: int = -1,
    ) -> None:
        if what in ("kernel", "alloc"):
            text = f"with torch.cuda.stream(s[{stream}]): {text}"
        self.actions.append(Action(what, text, stream, reads, writes, fresh, block, event, other))

    def stream(self) -> int:
        return self.rng.randrange(self.sides + 1)

    def name(self) -> str:
        self.made += 1
        return f"t{self.made}"


def forward(seed: int) -> Forward:
    """The forward of a seed: 8 to 24 random actions, then what it still holds is dropped or returned."""
    rng = random.Random(seed)
    maker = _Maker(rng, rng.choice((0.3, 0.8, 1.0)), rng.randint(1, 3), rng.randint(1, 3))
    maker.live = [_Tensor(name, name, 0, SIZE) for name in (*INPUTS, BUFFER)]
    for _ in range(rng.randint(8, 24)):
        maker.step()
    own = [tensor for tensor in maker.live if tensor.name not in (*INPUTS, BUFFER)]
    kept = rng.sample(own, min(len(own), rng.randrange(3)))
    for tensor in own:
        if tensor not in kept:
            maker.drop_one(tensor)
    for number in range(1, maker.sides + 1):
        if rng.random() < maker.care:
            maker.add("wait_stream", f"s[0].wait_stream(s[{number}])", 0, other=number)
    head = _HEAD.format(sides=maker.sides, events=maker.events, size=SIZE)
    lines = [*(action.text for action in maker.actions), f"return [{', '.join(tensor.name for tensor in kept)}]"]
    source = head + "".join(f"        {line}\n" for line in lines)
    returned = tuple(dict.fromkeys(tensor.block for tensor in kept))
    return Forward(maker.sides, maker.events, tuple(maker.actions), returned, source, len(head.splitlines()) + 1)
