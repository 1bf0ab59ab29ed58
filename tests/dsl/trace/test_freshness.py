"""When a saved trace is stale."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.trace import freshness
from streamsched.dsl.trace.model import Source, Trace
from streamsched.dsl.trace.request import EAGER, TraceRequest

SPAN = Span("test.sched", 1, 1, 1, 9)
STATEMENTS = ('model "model.py:Model"',)
SOURCE = "from parts import scale\n\nclass Model(nn.Module):\n    def forward(self, x):\n        return scale(x)\n"


@pytest.fixture
def trace(traced: Callable[..., Trace], tmp_path: Path) -> Trace:
    (tmp_path / "constants.py").write_text("FACTOR = 2\n")
    (tmp_path / "parts.py").write_text("from constants import FACTOR\ndef scale(x): return x * FACTOR\n")
    return traced(SOURCE, x=(4,))


def found(
    trace: Trace,
    base: Path,
    statements: tuple[str, ...] = STATEMENTS,
    decided: Related | None = None,
    chosen: bool = False,
) -> tuple[Diagnostic, ...]:
    wanted = TraceRequest(
        base=str(base),
        file="model.py",
        attribute="Model",
        inputs=(),
        inputs_from=None,
        determined_by=statements,
        model_span=SPAN,
        inputs_span=None,
        schedule_span=SPAN,
        chosen=chosen,
        decided=decided,
    )
    return freshness.staleness(trace, wanted)


def test_fresh(trace: Trace, tmp_path: Path) -> None:
    assert [source.path for _, source in trace.sources] == ["constants.py", "model.py", "parts.py"]
    assert found(trace, tmp_path) == ()


@pytest.mark.parametrize("name", ["model.py", "parts.py", "constants.py"])
def test_changed_file(trace: Trace, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# another\n")
    [diagnostic] = found(trace, tmp_path)
    assert (diagnostic.code, diagnostic.name) == ("SEL105", "stale-trace")
    assert f"{name} has changed" in diagnostic.message
    assert diagnostic.related[0].span.file == str(tmp_path / name)


def test_line_ends_do_not_count(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert found(trace, tmp_path) == ()


def test_file_that_is_not_here_is_unknown(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "model.py").unlink()
    assert found(trace, tmp_path) == ()
    assert found(trace, tmp_path / "nowhere") == ()


def test_changed_statements(trace: Trace, tmp_path: Path) -> None:
    [diagnostic] = found(trace, tmp_path, ('model "model.py:Other"',))
    assert diagnostic.code == "SEL105"
    assert diagnostic.message.endswith('`model "model.py:Other"` is new in the schedule')
    assert diagnostic.notes == ('`model "model.py:Model"` is no longer in the schedule',)
    [diagnostic] = found(dataclasses.replace(trace, determined_by=("a", "b")), tmp_path, ("b", "a"))
    assert "another order" in diagnostic.message


def test_the_other_mode_is_told_by_what_decides_it(trace: Trace, tmp_path: Path) -> None:
    target = Related(Span("pyproject.toml", 2, 10, 2, 15), "code for the target npu runs eagerly")
    [diagnostic] = found(trace, tmp_path, (*STATEMENTS, EAGER), target)
    assert diagnostic.message == (
        "the saved trace is stale: it is that of compiled runs, and code for the target npu runs eagerly"
    )
    assert (diagnostic.notes, diagnostic.related) == ((), (target,))
    assert (diagnostic.help or "").endswith(", or keep it by writing `trace compiled` into the schedule")
    eager = dataclasses.replace(trace, determined_by=(*STATEMENTS, EAGER))
    [diagnostic] = found(eager, tmp_path)
    assert diagnostic.message.endswith("it is that of eager runs, and code for npugraph_ex is compiled")
    assert "`trace eager`" in (diagnostic.help or "")


def test_a_mode_that_is_chosen_or_no_more_the_only_reason(trace: Trace, tmp_path: Path) -> None:
    says = Related(Span("test.sched", 3, 1, 3, 12), "the schedule says `trace eager`")
    [diagnostic] = found(trace, tmp_path, (*STATEMENTS, EAGER), says, chosen=True)
    assert diagnostic.message.endswith(", and the schedule says `trace eager`")
    assert diagnostic.help == "make it anew with `streamsched trace test.sched`"
    [diagnostic] = found(trace, tmp_path, ('model "model.py:Other"', EAGER))
    assert "is new in the schedule" in diagnostic.message and EAGER not in diagnostic.message
    assert diagnostic.notes[-1].startswith("it is that of compiled runs")
    assert diagnostic.help == "make it anew with `streamsched trace test.sched`"


def test_package_drift(trace: Trace, tmp_path: Path) -> None:
    pytest_version = freshness.installed_version("pytest")
    assert pytest_version is not None
    packages = [
        ("a", Source("a.py", "", "pytest", "0.1")),
        ("b", Source("b.py", "", "no-such-package", "0.1")),
        ("c", Source("c.py", "", "pytest", pytest_version)),
    ]
    [diagnostic] = found(dataclasses.replace(trace, sources=tuple(packages)), tmp_path)
    assert (diagnostic.code, diagnostic.name) == ("SEL106", "package-drift")
    assert "pytest 0.1" in diagnostic.message
    assert pytest_version in diagnostic.message
