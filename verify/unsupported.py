"""What cannot run on a device at all, told from what runs there and is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from streamsched.dsl.program.steps import Program
from streamsched.dsl.saying import said
from streamsched.dsl.trace.request import EAGER
from streamsched.npu_sim import control, environment
from streamsched.verify.causes import in_words, is_wrapped, root_cause
from streamsched.verify.verdict import CannotRunError, traceback_of

_NO_KERNEL = re.compile(r"(\w+) has no (?:kernel|entry)")
_NO_SUCH_INDEX = re.compile(r"out of range|out of bounds|is outside of")

_OBSERVED = re.compile(r"raised exception (\w+)\((['\"])(.*)\2\)", re.DOTALL)
"""What torch.compile says of an exception of the user's own code, as `repr` shows it."""
_NEWLINE = r"\n"

_FALLBACK = re.compile(r"The operator '([\w:.]+)' is not currently supported on the NPU backend and will fall back")


def original_raises(error: Exception, inputs: Sequence[str] = ()) -> CannotRunError:
    """What it means that the original forward raised on the device of this process.

    `inputs` are the names of the integer inputs, one of which may have indexed out of range.
    """
    lacking = missing_kernel(error)
    if lacking is not None:
        return lacking
    details = traceback_of(error)
    if is_wrapped(error, "BackendCompilerFailed"):
        return CannotRunError(f"cannot run: npugraph_ex cannot compile the original: {in_words(error)}", details)
    observed = _OBSERVED.match(said(root_cause(error)))
    if is_wrapped(error, "TorchDynamoException") and observed is None:
        return CannotRunError(f"cannot run: torch.compile cannot trace the original: {in_words(error)}", details)
    words = f"{observed[1]}: {' '.join(observed[3].replace(_NEWLINE, ' ').split())}" if observed else in_words(error)
    reported = _device_error() or words
    return CannotRunError(
        f"cannot run: the original forward raises on random inputs: {reported}{_advice(reported, inputs)}", details
    )


def missing_kernel(error: Exception) -> CannotRunError | None:
    """What an error of the simulated NPU says if it lacks an operator, or knows one only in part; else None."""
    reported = _device_error()
    if reported is None or _NO_SUCH_INDEX.search(reported):
        return None
    named = _NO_KERNEL.match(reported)
    what = f"operator {named[1]} has no kernel in the simulated NPU" if named else f"on the simulated NPU: {reported}"
    return CannotRunError(f"cannot run: {what}", f"{reported}\n{traceback_of(error)}")


def other_mode(programs: Sequence[Program], engine: str, error: Exception) -> CannotRunError | None:
    """What it means that a generated forward refuses its call, if its trace is that of compiled runs; else None.

    A model may call its modules with other arguments where it is not being compiled.
    """
    refusing = (each for each in programs if isinstance(error, ValueError) and str(error).startswith(f"{each.name}: "))
    trace = next((program.trace for program in refusing), None)
    if engine == "npugraph_ex" or trace is None or EAGER in trace.determined_by:
        return None
    return CannotRunError(
        f"cannot run: the trace is that of compiled runs, and the engine {engine} runs the model eagerly, which calls "
        f"unlike the trace: {error}; write `trace eager` in the schedule and trace anew, or use --engine npugraph_ex",
        traceback_of(error),
    )


def _device_error() -> str | None:
    return control.error() if environment.inside() else None


def _advice(said: str, inputs: Sequence[str]) -> str:
    if not _NO_SUCH_INDEX.search(said):
        return ""
    if not inputs:
        return '; bound the input that indexes with --range "NAME=LOW..HIGH"'
    which = f"`{inputs[0]}`" if len(inputs) == 1 else f"one of {', '.join(f'`{name}`' for name in inputs)}"
    return f'; bound {which} with --range "{inputs[0]}=LOW..HIGH"'


def fallbacks(lines: Iterable[str]) -> tuple[str, ...]:
    """The operators that torch_npu ran on the CPU, by what its process printed."""
    found = (_FALLBACK.search(line) for line in lines)
    return tuple(dict.fromkeys(match[1] for match in found if match))
