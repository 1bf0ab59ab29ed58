"""One diagnostic with everything in it, and the sources that it speaks of."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Related, Severity, Span

SCHEDULE = 'schedule overlap\nstream side\ngroup b = value "B"\ngroup mm = value "mm"\nmm on side\n'
MODEL = "def forward(self, x, y):\n    B = (\n        x\n        + y\n    )\n    return torch.mm(B, y)\n"


@pytest.fixture
def read() -> Callable[[str], str | None]:
    return {"overlap.sched": SCHEDULE, "model.py": MODEL}.get


@pytest.fixture
def missing_edge() -> Diagnostic:
    end = Span("overlap.sched", 6, 1, 6, 1)
    return Diagnostic(
        code="ORD101",
        name="missing-edge",
        severity=Severity.ERROR,
        message="`mm` on `side` reads `B` before it is written",
        span=Span("overlap.sched", 5, 1, 5, 11),
        related=(
            Related(Span("model.py", 2, 5, 5, 6), "`B` is written here, on `default`"),
            Related(Span("model.py", 6, 12, 6, 26), "and read here, on `side`"),
        ),
        notes=("nothing orders the two streams:\ndefault: B\nside: mm",),
        help="order them",
        fix=Fix("add the edge `b -> mm`", (Edit(end, "b -> mm\n"),), safe=True),
    )
