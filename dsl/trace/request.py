"""What to trace: the statements of a schedule that determine a trace, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from streamsched.dsl.diagnostic import Diagnostic, Related, Span
from streamsched.dsl.trace.model import Dim, Trace
from streamsched.dsl.trace.streamed import Streamed

DTYPES: dict[str, str] = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "bool": "bool",
    "c64": "complex64",
    "c128": "complex128",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}
"""The dtypes of `input` statements: as written, and as torch calls them."""


EAGER = "trace eager"
"""What a trace is determined by, besides statements, if the model was told that it is not being compiled."""


@dataclass(frozen=True, slots=True)
class InputTensor:
    """An example input, named as a parameter of forward(). `dtype` is a key of `DTYPES` or torch's own name.

    A dim with a name is dynamic; inputs that name the same one have the same size there.
    """

    name: str
    dtype: str
    shape: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """The modules whose forward() is traced instead of the root's: `scope "GLOB" [class NAME]`."""

    glob: str
    class_name: str  # empty where any class will do
    span: Span


@dataclass(frozen=True, slots=True)
class LeafRequest:
    """Modules to trace as one op each: `leaf "GLOB" [from "FILE-OR-PACKAGE:FN"]`.

    `shape` are the file or package and the attribute of the function that returns what the modules' forward() does.
    """

    glob: str
    span: Span
    shape: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A trace to make.

    `base` is the schedule's folder. `file` ends in `.py` and is relative to it, or is the name of an importable
    package or module; `attribute` is a Module or a callable that returns one. Inputs come from `inputs` or from the
    function `inputs_from` (file or package, attribute). `determined_by` are the canonical texts of the statements
    that determine the trace, which a saved trace remembers. The spans are those of the statements. `scope` is None for
    the whole model; `world` is the number of ranks, 0 where the schedule names none. `fakes` is the file or package
    that registers fake implementations, empty where the schedule names none.
    `compiled` is what the model is told when it asks whether it is being compiled; `chosen` tells that the schedule
    says so itself, and `decided` where and in what words: of a `trace` statement, or of a target.
    """

    base: str
    file: str
    attribute: str
    inputs: tuple[InputTensor, ...]
    inputs_from: tuple[str, str] | None
    determined_by: tuple[str, ...]
    model_span: Span
    inputs_span: Span | None
    schedule_span: Span
    scope: ScopeRequest | None = None
    leaves: tuple[LeafRequest, ...] = ()
    world: int = 0
    fakes: str = ""
    fakes_span: Span | None = None
    compiled: bool = True
    chosen: bool = False
    device: str = "npu"  # the type of the device that the schedule's target runs on
    decided: Related | None = None
    captured: bool = False  # generated code is captured in a graph, where the host cannot wait for anything

    def __post_init__(self) -> None:
        assert not (self.inputs and self.inputs_from), "inputs are given by name or by a function, not both"


@dataclass(frozen=True, slots=True)
class Traced:
    """A trace, or none, and what was found while making it. `streamed` is what the model itself did with streams."""

    trace: Trace | None
    diagnostics: tuple[Diagnostic, ...]
    streamed: Streamed | None = None
