"""One verification from start to end, on the engine asked for."""

from __future__ import annotations

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import Loaded, trace_request
from streamsched.verify.verdict import Verdict


def verify(loaded: Loaded, engine: str, calls: int, orders: int, seed: int) -> Verdict | tuple[Diagnostic, ...]:
    """The verdict on a schedule without errors; or why its model cannot be run."""
    assert engine == "cpu", engine
    assert loaded.program is not None and loaded.trace is not None
    from streamsched.verify.cpu import verify_on_cpu
    from streamsched.verify.live import live

    with live(trace_request(loaded.schedule, loaded.file.base), loaded.trace, seed) as alive:
        if isinstance(alive, Diagnostic):
            return (alive,)
        return verify_on_cpu(loaded.program, alive, calls, orders, seed)
