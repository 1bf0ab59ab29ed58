"""Tracing a model: from a request to a Trace, or to what the user has to know about why there is none.

torch is imported when a model is traced, not before, so that everything else starts fast and works without it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from streamsched.dsl.trace import model_rules
from streamsched.dsl.trace.child import can_simulate_npu, met_hidden_npu, needs_simulated_npu, trace_in_child
from streamsched.dsl.trace.request import Traced, TraceRequest

__all__ = ["Progress", "Traced", "trace_model"]

Progress = Callable[[str], None]


def trace_model(request: TraceRequest, *, verbose: bool = False, progress: Progress | None = None) -> Traced:
    """Trace the model of `request`, in evaluation mode and on the meta device.

    `verbose` adds Python's tracebacks to the diagnostics' notes; `progress` is told in a few words what is being done.
    Faults of the user's code become diagnostics; nothing is raised. A model that imports torch_npu is traced in a child
    process under the simulated NPU where there is no real one.
    """
    # An installed torch_npu would be loaded by `import torch`, and fails without the NPU's libraries.
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    report = progress or (lambda _: None)
    if needs_simulated_npu(request):
        report("tracing under the simulated NPU")
        return trace_in_child(request, verbose)
    report("importing torch")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        return Traced(None, (model_rules.torch_missing(request.model_span, f"torch cannot be imported: {error}"),))
    from streamsched.dsl.trace.tracing.run import trace

    traced = trace(request, verbose, report)
    if met_hidden_npu(traced) and can_simulate_npu():  # a helper of the model imports torch_npu
        report("tracing under the simulated NPU")
        return trace_in_child(request, verbose)
    return traced
