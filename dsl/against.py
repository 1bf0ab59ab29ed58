"""Holding hand-written code against a schedule: does what it issues honour the schedule's edges?"""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import ScheduleFile
from streamsched.dsl.pipeline import load
from streamsched.dsl.program.steps import Program


@dataclass(frozen=True, slots=True)
class Declared:
    """A schedule with its plan, None where errors keep it from having one; `scopes` are the modules that it is for."""

    file: ScheduleFile
    plan: Program | None
    scopes: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]

    @staticmethod
    def of(path: str, target: str) -> Declared:
        """The schedule at `path`, for a target; of what is wrong with it only the errors. Raises `ReadError`."""
        loaded = load(path, target=target)
        if loaded.failed or loaded.program is None or loaded.trace is None:
            return Declared(loaded.file, None, (), loaded.diagnostics)
        scope = loaded.trace.scope
        return Declared(loaded.file, loaded.program, scope.instances if scope else (), ())

    def unhonoured(self, recorded: Program) -> tuple[Diagnostic, ...]:
        """The edges that a recording does not honour, in any call."""
        from streamsched.dsl.record.edge_rules import unhonoured
        from streamsched.dsl.record.matching import parts_of

        assert self.plan is not None
        return tuple(unhonoured(recorded, parts_of(recorded, self.scopes), self.plan))
