"""One verification from start to end, on the engine asked for."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.pipeline import Loaded, trace_request
from streamsched.verify.request import Request, request_to_json, verdict_from_json
from streamsched.verify.verdict import Failure, Verdict

TIMEOUT = 3600
"""Seconds after which a child process counts as hung."""


class EngineError(Exception):
    """An engine that cannot run here, with what to do about it."""


def verify(loaded: Loaded, request: Request) -> Verdict | tuple[Diagnostic, ...]:
    """The verdict on a schedule without errors; or why its model cannot be run. Raises `EngineError`."""
    # An installed torch_npu would be loaded by `import torch`, and fails without the NPU's libraries.
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    if request.engine != "cpu":
        return _in_child(request)
    assert loaded.program is not None and loaded.trace is not None
    from streamsched.verify.cpu import OriginalError, verify_on_cpu
    from streamsched.verify.live import live

    with live(trace_request(loaded.schedule, loaded.file.base), loaded.trace, request.seed) as alive:
        if isinstance(alive, Diagnostic):
            return (alive,)
        try:
            return verify_on_cpu(loaded.program, alive, request.calls, request.orders, request.seed)
        except OriginalError as error:
            raise EngineError(f"{error}; nothing can be compared with it") from error


def _in_child(request: Request) -> Verdict:
    """Run a device engine in a process of its own, whose environment is arranged for it."""
    variables = _environment(request.engine)
    with tempfile.TemporaryDirectory() as folder:
        verdict = Path(folder, "verdict.json")
        command = [sys.executable, "-m", "streamsched.verify.child", str(verdict)]
        child = subprocess.run(
            command, input=request_to_json(request), env=variables, capture_output=True, text=True, timeout=TIMEOUT
        )
        if verdict.exists():
            return verdict_from_json(verdict.read_text(encoding="utf-8"))
    last = [line for line in child.stderr.splitlines() if line.strip()][-1:] or ["no message"]
    failure = Failure("the whole run", f"its process ended with code {child.returncode}: {last[0]}")
    return Verdict(request.engine, "nothing", (), request.calls, failures=(failure,))


def _environment(engine: str) -> dict[str, str]:
    """The variables of the child process. Raises `EngineError`."""
    variables = dict(os.environ)
    if engine == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise EngineError("the engine cuda needs a CUDA GPU, and torch finds none here")
        return variables
    if importlib.util.find_spec("torch_npu") is None:
        raise EngineError(f"the engine {engine} needs torch_npu: pip install 'streamsched[npu]'")
    from streamsched.npu_sim.build import BuildError
    from streamsched.npu_sim.environment import environment, has_npu

    if has_npu():
        return variables
    try:
        return environment(variables)
    except BuildError as error:
        raise EngineError(f"the simulated NPU cannot be built: {error}") from error
