"""What a target must spell: how its code opens streams, records and waits."""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.program.steps import Stream


@dataclass(frozen=True, slots=True)
class Target:
    """One target's spellings. Everything is text; nothing is run here.

    `module` is the torch module of the device (`torch.npu`), empty for one without streams: its streams and syncs are
    comments. `limit` is the context manager that limits cores, empty where there is none. `compile` is the backend
    of the generated `compile()`, empty where the file has none.
    """

    name: str
    module: str
    imports: tuple[str, ...] = ()
    limit: str = ""
    compile: str = ""

    @property
    def has_streams(self) -> bool:
        """Whether the code runs on several streams."""
        return bool(self.module)

    @property
    def device(self) -> str:
        """The type of its devices, as torch names it."""
        return self.module.removeprefix("torch.") or "cpu"

    def contexts(self, stream: Stream, name: str) -> tuple[str, ...]:
        """The context managers that put code on `stream`, outermost first. `name` is empty for the default stream.

        The limit is inside the stream: around it, it does not reach the stream's operators.
        """
        opened = (f"{self.module}.stream({name})",) if name and self.has_streams else ()
        if self.limit and (stream.aic is not None or stream.aiv is not None):
            return (*opened, f"{self.limit}({_cores(stream.aic)}, {_cores(stream.aiv)})")
        return opened

    def record(self, event: str) -> str:
        """Record `event` on the current stream."""
        return f"{event}.record()"

    def wait(self, event: str) -> str:
        """Make the current stream wait for `event`."""
        return f"{event}.wait()"

    def record_stream(self, value: str, stream: str) -> str:
        """Keep the memory of `value` until `stream` is done with it; the current stream if `stream` is empty."""
        return f"{value}.record_stream({stream or f'{self.module}.current_stream()'})"

    def new_stream(self, priority: str) -> str:
        """Create a stream; `priority` is an expression, empty for the device's usual one."""
        return f"{self.module}.Stream({f'priority={priority}' if priority else ''})"

    def new_event(self) -> str:
        """Create an event."""
        return f"{self.module}.Event()"


def _cores(number: int | None) -> int:
    """A limit as the runtime takes it: -1 leaves that kind of core unlimited."""
    return -1 if number is None else number
