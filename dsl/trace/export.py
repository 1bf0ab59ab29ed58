"""Tracing a model: from a request to a Trace, or to what the user has to know about why there is none.

torch is imported when a model is traced, not before, so that everything else starts fast and works without it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.trace import rules
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import TraceRequest

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Traced:
    """A trace, or none, and what was found while making it."""

    trace: Trace | None
    diagnostics: tuple[Diagnostic, ...]


def trace_model(request: TraceRequest, *, verbose: bool = False, progress: Progress | None = None) -> Traced:
    """Trace the model of `request`, in evaluation mode and on the meta device.

    `verbose` adds Python's tracebacks to the diagnostics' notes; `progress` is told in a few words what is being done.
    Faults of the user's code become diagnostics; nothing is raised.
    """
    # An installed torch_npu would be loaded by `import torch`, and fails without the NPU's libraries.
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    report = progress or (lambda _: None)
    report("importing torch")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        return Traced(None, (rules.torch_missing(request.model_span, f"torch cannot be imported: {error}"),))
    from streamsched.dsl.trace.tracing import trace

    made = trace(request, verbose, report)
    return Traced(made, ()) if isinstance(made, Trace) else Traced(None, made)
