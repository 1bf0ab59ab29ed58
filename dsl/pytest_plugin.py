"""The plugin for pytest: a fixture that holds a project's own forwards race-free. It costs nothing until it is used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_MARKER = "streamsched"
_TARGET = "streamsched_target"
_OPTIONS = ("target", "calls", "fake", "world")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the project's settings name the target."""
    parser.addini(_TARGET, "what `race_free` audits for: cuda, npu or npugraph_ex", default="cuda")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f"{_MARKER}(target=..., calls=2, fake=False, world=0): how the fixture `race_free` audits"
    )


@pytest.fixture
def race_free(request: pytest.FixtureRequest) -> Iterator[Callable[..., None]]:
    """The virtual device for as long as the test lasts; call it to hold a forward() race-free.

        def test_moe(race_free):
            race_free(Moe(), torch.randn(8, 64, device="cuda"))

    The test fails with the findings if there are errors or warnings: races, lifetimes, captures, or no stream used.
    """
    from streamsched.dsl.auditing import auditing

    with contextlib.ExitStack() as stack:
        try:
            audit = stack.enter_context(auditing(base=str(request.config.rootpath), **_options(request)))
        except ValueError as error:
            pytest.fail(f"the marker {_MARKER}, or the setting {_TARGET}: {error}", pytrace=False)

        def check(forward: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            audit(forward, *args, **kwargs)
            report = audit.report()
            if report:
                pytest.fail(report, pytrace=False)

        yield check


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the marker of the test says, over the settings. Fails the test for what it cannot say."""
    marker = request.node.get_closest_marker(_MARKER)
    said = dict(marker.kwargs) if marker is not None else {}
    wrong = [name for name in said if name not in _OPTIONS]
    if wrong or (marker is not None and marker.args):
        takes = ", ".join(f"{name}=" for name in _OPTIONS)
        pytest.fail(f"the marker {_MARKER} takes {takes}", pytrace=False)
    return {"target": request.config.getini(_TARGET)} | said
