"""Tracing in a process of its own, under the simulated NPU: for models that call torch_npu on a machine without an NPU.

torch_npu cannot be imported without the NPU's libraries. Under simulated ones it can, and its ops have fake
implementations, which is all that a trace needs.
"""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import cast

from streamsched.dsl.trace import model_rules
from streamsched.dsl.trace.request import Traced, TraceRequest
from streamsched.dsl.trace.tracing.isolation import imports_npu


def needs_simulated_npu(request: TraceRequest) -> bool:
    """Whether the model imports torch_npu, which is installed and cannot be imported in this process, and nothing else
    tells what its ops return."""
    return not request.fakes and imports_npu(Path(request.base, request.file)) and can_simulate_npu()


def can_simulate_npu() -> bool:
    """Whether torch_npu is installed, and neither a real nor the simulated NPU is under this process."""
    try:
        installed = importlib.util.find_spec("torch_npu") is not None
    except ValueError:  # it is hidden from this process
        installed = False
    from streamsched.npu_sim.environment import has_npu, inside

    return installed and not inside() and not has_npu()


def met_hidden_npu(traced: Traced) -> bool:
    """Whether a trace failed because the model wants torch_npu, which was hidden from it."""
    return traced.trace is None and any("it imports torch_npu" in d.message for d in traced.diagnostics)


def trace_in_child(request: TraceRequest, verbose: bool) -> Traced:
    """Trace the model of `request` in a child process under the simulated NPU."""
    from streamsched.npu_sim.build import BuildError
    from streamsched.npu_sim.environment import environment

    try:
        variables = environment()
    except BuildError as error:
        message = (
            f"the model imports torch_npu, and the simulated NPU cannot be built: {'; '.join(str(error).splitlines())}"
        )
        return Traced(None, (model_rules.torch_missing(request.model_span, message),))
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "traced")
        command = [sys.executable, "-m", "streamsched.dsl.trace.child", str(result)]
        done = subprocess.run(command, input=pickle.dumps((request, verbose)), env=variables, capture_output=True)
        if result.exists():
            return cast("Traced", pickle.loads(result.read_bytes()))
    last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
    message = f"tracing under the simulated NPU ended with code {done.returncode}: {last[0]}"
    return Traced(None, (model_rules.torch_missing(request.model_span, message),))


def main() -> None:
    """The child: trace the request on standard input, and leave the result in the file that the argument names."""
    from streamsched.dsl.trace.export import trace_model

    request, verbose = pickle.load(sys.stdin.buffer)
    importlib.import_module("torch_npu")  # so that it is not hidden from the model
    Path(sys.argv[1]).write_bytes(pickle.dumps(trace_model(request, verbose=verbose)))


if __name__ == "__main__":
    main()
