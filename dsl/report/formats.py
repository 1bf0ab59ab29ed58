"""The formats of a report by name. The module of each is loaded when its format is asked for, and not before."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from streamsched.dsl.report.report import Report

FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")
"""Each is a module of this package with a function `render`."""

WITH_REMARKS = frozenset({"json", "sarif"})
"""The formats that always have remarks: programs read them, which choose by severity."""


def renderer(name: str) -> Callable[[Report], str]:
    """What makes a text of a report in the format `name`."""
    assert name in FORMATS, name
    render: Callable[[Report], str] = importlib.import_module(f"streamsched.dsl.report.{name}").render
    return render
