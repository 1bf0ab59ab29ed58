"""One verification from start to end, on the engine asked for."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import STDIN
from streamsched.dsl.pipeline import Loaded, trace_request
from streamsched.dsl.trace.tracing.isolation import imports_npu
from streamsched.verify.agreement import same_model
from streamsched.verify.request import Request, request_to_json, verdict_from_json
from streamsched.verify.unsupported import fallbacks
from streamsched.verify.verdict import CannotRunError, Verdict

TIMEOUT = 3600
"""Seconds after which a child process counts as hung."""

NEEDS_NPU = "the model imports torch_npu, which does not run on a CPU: use --engine npu or --engine npugraph_ex"


def verify(loaded: Loaded, request: Request, others: Sequence[Loaded] = ()) -> Verdict | tuple[Diagnostic, ...]:
    """The verdict on a schedule without errors, and on `others` for the same model; or why it cannot be built.

    Raises `CannotRunError`.
    """
    schedules = (loaded, *others)
    asked = [trace_request(each.schedule, each.file.base) for each in schedules]
    same_model([each.file.path for each in schedules], asked)
    # An installed torch_npu would be loaded by `import torch`, and fails without the NPU's libraries.
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    if request.engine != "cpu":
        return _in_child(request)
    programs = [each.program for each in schedules if each.program is not None]
    from streamsched.verify.cpu import verify_on_cpu
    from streamsched.verify.live import live

    traced = asked[0]
    try:
        with live(traced, request) as alive:
            if not isinstance(alive, Diagnostic):
                return verify_on_cpu(programs, alive, request)
            if not wants_npu(alive):
                return (alive,)
            raise CannotRunError(NEEDS_NPU, "\n".join(alive.notes))
    except CannotRunError as error:
        if NEEDS_NPU in str(error) or not imports_npu(Path(traced.base, traced.file)):
            raise
        raise CannotRunError(f"{error}; the model imports torch_npu: try --engine npu", error.details) from error


def wants_npu(found: Diagnostic) -> bool:
    """Whether a model cannot be built or traced because it wants torch_npu."""
    return "torch_npu" in found.message


def _in_child(request: Request) -> Verdict:
    """Run a device engine in a process of its own, whose environment is arranged for it."""
    if STDIN in (request.schedule, *request.others):
        raise CannotRunError(
            f"the engine {request.engine} has a process of its own, which reads the schedule from a file"
        )
    variables = _environment(request.engine)
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "verdict.json")
        command = [sys.executable, "-m", "streamsched.verify.child", str(answer)]
        try:
            child = subprocess.run(
                command, input=request_to_json(request), env=variables, capture_output=True, text=True, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired as error:
            raise CannotRunError(f"cannot run: the engine's process did not end within {TIMEOUT} s") from error
        lines = [line for line in child.stderr.splitlines() if line.strip()]
        if not answer.exists():
            why = f"the engine's process ended with code {child.returncode}: {(lines or ['no message'])[-1]}"
            raise CannotRunError(f"cannot run: {why}", child.stderr)
        return _with_fallbacks(answer.read_text(encoding="utf-8"), fallbacks(lines))


def _with_fallbacks(answer: str, operators: tuple[str, ...]) -> Verdict:
    """The answer of a child whose torch_npu ran `operators` on the CPU. Raises `CannotRunError`."""
    note = f"torch_npu has no kernel for {', '.join(operators)} and runs it on the CPU"
    try:
        verdict = verdict_from_json(answer)
    except CannotRunError as error:
        if not operators:
            raise
        raise CannotRunError(f"{error} ({note}, which cannot be captured)", error.details) from error
    return replace(verdict, notes=(*verdict.notes, note)) if operators else verdict


def _environment(engine: str) -> dict[str, str]:
    """The variables of the child process. Raises `CannotRunError`."""
    variables = dict(os.environ)
    if engine == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise CannotRunError("the engine cuda needs a CUDA GPU, and torch finds none here")
        return variables
    if importlib.util.find_spec("torch_npu") is None:
        raise CannotRunError(f"the engine {engine} needs torch_npu: pip install 'streamsched[npu]'")
    from streamsched.npu_sim.build import BuildError
    from streamsched.npu_sim.environment import environment, has_npu

    if has_npu():
        return variables
    try:
        return environment(variables)
    except BuildError as error:
        raise CannotRunError(f"the simulated NPU cannot be built: {error}") from error
