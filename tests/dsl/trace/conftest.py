"""Fixtures that trace a model given as source text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import Traced, trace_model
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import InputTensor, TraceRequest

SPAN = Span("test.sched", 2, 1, 2, 6)

PRELUDE = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
"""


def request_for(base: Path, inputs: dict[str, Any], **changes: Any) -> TraceRequest:
    """A request for `model.py:Model`; an input is a shape, or a dtype and a shape."""
    tensors = []
    for name, given in inputs.items():
        dtype, shape = given if isinstance(given[0] if given else 0, str) else ("f32", given)
        tensors.append(InputTensor(name, dtype, tuple(shape)))
    fields: dict[str, Any] = {
        "base": str(base),
        "file": "model.py",
        "attribute": "Model",
        "inputs": tuple(tensors),
        "inputs_from": None,
        "determined_by": ('model "model.py:Model"',),
        "model_span": SPAN,
        "inputs_span": None,
        "schedule_span": SPAN,
    }
    return TraceRequest(**(fields | changes))


@pytest.fixture
def attempt(tmp_path: Path) -> Callable[..., Traced]:
    """Trace the model in a source text; inputs are given by keyword, other fields of the request in `request`."""

    def run(source: str, request: dict[str, Any] | None = None, verbose: bool = False, **inputs: Any) -> Traced:
        (tmp_path / "model.py").write_text(PRELUDE + textwrap.dedent(source))
        return trace_model(request_for(tmp_path, inputs, **(request or {})), verbose=verbose)

    return run


@pytest.fixture
def traced(attempt: Callable[..., Traced]) -> Callable[..., Trace]:
    """The same, where the trace must succeed."""

    def run(source: str, request: dict[str, Any] | None = None, **inputs: Any) -> Trace:
        made = attempt(source, request, **inputs)
        assert made.trace is not None, made.diagnostics
        assert made.diagnostics == ()
        return made.trace

    return run


@pytest.fixture
def forward(traced: Callable[..., Trace]) -> Callable[..., Trace]:
    """The same for a model that is one forward() without state; the arguments default to `x` of shape [4, 4]."""

    def run(body: str, arguments: str = "x", **inputs: Any) -> Trace:
        lines = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
        source = f"class Model(nn.Module):\n    def forward(self, {arguments}):\n{lines}\n"
        return traced(source, **(inputs or {"x": (4, 4)}))

    return run
