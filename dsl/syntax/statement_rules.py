"""Rules of family SYN about statements and the values in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from streamsched.dsl.diagnostic import Diagnostic, Edit, Fix, Related, Severity, Span
from streamsched.dsl.nearest import nearest
from streamsched.dsl.rule import rule
from streamsched.dsl.syntax.mends import insertion_before, lines_of, removal, removal_from_list
from streamsched.dsl.syntax.tree import (
    CostStatement,
    DeviceFileStatement,
    DeviceStatement,
    FakesStatement,
    GraphsStatement,
    HoldingStatement,
    InputsFromStatement,
    InputStatement,
    LineSelector,
    MemoryStatement,
    ModelStatement,
    NodeSelector,
    OwnDeviceStatement,
    ScheduleStatement,
    ScopeStatement,
    Statement,
    StreamStatement,
    SyncStatement,
    TargetStatement,
    TraceStatement,
    ValueSelector,
    WorldStatement,
)
from streamsched.dsl.syntax.usage import DEFAULT, Names, selectors_of

_MOST_RANKS = 1 << 20
TARGETS = ("npugraph_ex", "npu", "cuda", "cpu")
DTYPES = ("f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2", "i8", "i16", "i32", "i64", "u8", "bool", "c64", "c128")
TORCH_DTYPES = (
    "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "int8", "int16", "int32", "int64",
    "uint8", "complex64", "complex128",
)  # fmt: skip
"""Torch's own names of dtypes, which may stand in place of the short ones."""


@rule("SYN104", "missing-statement", Severity.ERROR)
def missing_statement(names: Names) -> Iterator[Diagnostic]:
    """A schedule without a name, or without a model.

    `schedule NAME` names the generated code, and `model` says what to trace: nothing can be done without them.

    Example:

        stream side

    Use instead:

        schedule my_model
        model "model.py:build"
        stream side
    """
    schedule = names.schedule
    own = [statement for statement in schedule.statements if statement.span.file == schedule.span.file]
    if not own and not names.complete:
        return
    if not own:
        advice = 'begin with `schedule NAME` and `model "model.py:build"`'
        yield missing_statement.diagnostic(schedule.span.start, "this schedule is empty", help=advice)
        return
    given = {type(statement) for statement in schedule.statements}
    if ScheduleStatement not in given and "schedule" not in names.torn:
        stem = PurePath(schedule.span.file).stem
        named = f"schedule {stem}" if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", stem) else ""
        fix = insertion_before(own[0], named) if named else None
        message = "the schedule has no name"
        yield missing_statement.diagnostic(schedule.span.start, message, help="begin with `schedule NAME`", fix=fix)
    if ModelStatement not in given and "model" not in names.torn:
        place = next((s.span for s in schedule.statements if isinstance(s, ScheduleStatement)), schedule.span.start)
        advice = 'add a line `model "FILE-OR-PACKAGE:NAME"`, such as `model "model.py:build"`'
        yield missing_statement.diagnostic(place, "the schedule does not say which model it is for", help=advice)


@rule("SYN105", "misplaced-schedule", Severity.ERROR)
def misplaced_schedule(names: Names) -> Iterator[Diagnostic]:
    """`schedule NAME` that is not the first statement.

    A reader looks for the name of a file's contents at its head. Comments may stand before it.

    Example:

        model "model.py:build"
        schedule my_model

    Use instead:

        schedule my_model
        model "model.py:build"
    """
    first, *others = names.schedule.statements or [None]
    if first is None or isinstance(first, ScheduleStatement) or not names.complete:
        return
    for statement in others:
        if isinstance(statement, ScheduleStatement):
            text = f"schedule {statement.name.text}"
            last = statement.span.end_line
            behind = [c.text for c in names.schedule.comments if not c.own_line and c.span.line == last]
            moved = "  ".join((text, *behind))
            edits = (*insertion_before(first, moved).edits, Edit(lines_of(statement), ""))
            message = "`schedule` must be the first statement"
            fix = Fix(f"move `{text}` to the top", edits)
            yield misplaced_schedule.diagnostic(statement.span, message, fix=fix)
            return


_ONCE = {
    ScheduleStatement: "schedule",
    ModelStatement: "model",
    ScopeStatement: "scope",
    InputsFromStatement: "inputs from",
    FakesStatement: "fakes",
    TargetStatement: "target",
    DeviceStatement: "device",
    OwnDeviceStatement: "device",
    DeviceFileStatement: "device",
    SyncStatement: "sync",
    MemoryStatement: "memory",
    TraceStatement: "trace",
    WorldStatement: "world",
    GraphsStatement: "graphs",
}


@rule("SYN106", "repeated-statement", Severity.ERROR)
def repeated_statement(names: Names) -> Iterator[Diagnostic]:
    """A statement that may be given once is given again.

    `schedule`, `model`, `fakes`, `scope`, `inputs from`, `target`, `device`, `sync`, `memory`, `trace`, `world` and
    `graphs` hold for the whole schedule; of two of them one would be ignored.

    Example:

        target npu
        target npugraph_ex

    Use instead the one that is meant:

        target npugraph_ex
    """
    first: dict[str, Statement] = {}
    for statement in names.schedule.statements:
        keyword = _ONCE.get(type(statement))
        if keyword is None:
            continue
        earlier = first.setdefault(keyword, statement)
        if earlier is statement:
            continue
        same = earlier == statement
        related = (Related(earlier.span, "first given here"),)
        yield repeated_statement.diagnostic(
            statement.span,
            f"`{keyword}` may be given once",
            related=related,
            fix=removal(statement, f"this `{keyword}`", safe=same),
        )


@rule("SYN108", "unknown-target", Severity.ERROR)
def unknown_target(names: Names) -> Iterator[Diagnostic]:
    """A target for which no code can be generated.

    The targets are `npugraph_ex` (the default), `npu` (eager), `cuda` and `cpu` (one stream, for numbers and for
    reading).

    Example:

        target npu_graph

    Use instead:

        target npugraph_ex
    """
    for statement in names.schedule.statements:
        if isinstance(statement, TargetStatement) and statement.name.text not in TARGETS:
            word = statement.name
            guess = nearest(word.text, TARGETS)
            fix = Fix(f"write `{guess}`", (Edit(word.span, guess),)) if guess else None
            advice = f"the targets are {', '.join(TARGETS)}"
            yield unknown_target.diagnostic(word.span, f"there is no target `{word.text}`", help=advice, fix=fix)


@rule("SYN109", "unknown-dtype", Severity.ERROR)
def unknown_dtype(names: Names) -> Iterator[Diagnostic]:
    """An input of a dtype that does not exist.

    The dtypes are `f16 bf16 f32 f64 f8e4m3 f8e5m2 i8 i16 i32 i64 u8 bool c64 c128`, or torch's own names for them.

    Example:

        input x: fp16[64, 64]

    Use instead:

        input x: f16[64, 64]
    """
    for statement in names.schedule.statements:
        if not isinstance(statement, InputStatement):
            continue
        for spec in statement.specs:
            if spec.dtype in DTYPES or spec.dtype in TORCH_DTYPES:
                continue
            guess = nearest(spec.dtype, (*DTYPES, *TORCH_DTYPES))
            meant = f"did you mean `{guess}`? " if guess else ""
            advice = f"{meant}the dtypes are {', '.join(DTYPES)}"
            span = spec.dtype_span or spec.span
            fix = Fix(f"write `{guess}`", (Edit(span, guess),)) if guess and spec.dtype_span else None
            yield unknown_dtype.diagnostic(span, f"there is no dtype `{spec.dtype}`", help=advice, fix=fix)


@rule("SYN114", "unknown-device", Severity.ERROR)
def unknown_device(names: Names) -> Iterator[Diagnostic]:
    """A device whose numbers are not known.

    How many cores there are decides which ops may run at once. The devices of the table have the names that CANN gives
    them, in any case: `ascend910b1` to `ascend910b4`, `ascend910_93` and its kinds, `ascend950` and its kinds.

    Example:

        device ascend910b5

    Use instead the device that is meant, its numbers, or the file in which CANN states them:

        device ascend910b3
        device mine { aic 20, aiv 40 }
        device "/usr/local/Ascend/ascend-toolkit/latest/aarch64-linux/data/platform_config/Ascend910B3.ini"
    """
    for statement in names.schedule.statements:
        if not isinstance(statement, DeviceStatement):
            continue
        from streamsched.dsl.devices import table  # needed only where a device is named

        word = statement.name
        if table.find(word.text) is None:
            guess = nearest(word.text, table.names())
            fix = Fix(f"write `{guess}`", (Edit(word.span, guess),)) if guess else None
            yield unknown_device.diagnostic(
                word.span,
                f"there is no device `{word.text}`",
                notes=(f"the devices are {', '.join(table.names())}",),
                help=f"give its numbers: `device {word.text} {{ aic 20, aiv 40 }}`, or the path of CANN's file",
                fix=fix,
            )


@rule("SYN110", "default-stream", Severity.ERROR)
def default_stream(names: Names) -> Iterator[Diagnostic]:
    """`stream default` without a limit of cores, or with a priority.

    `default` is the caller's current stream: it is there already, and its priority is the caller's. A schedule may
    only limit its cores.

    Example:

        stream default { priority -1 }

    Use instead:

        stream default { cores aic 16 }
    """
    for statement in names.schedule.statements:
        if not isinstance(statement, StreamStatement):
            continue
        name = next((name for name in statement.names if name.text == DEFAULT), None)
        if name is None:
            continue
        if statement.priority is not None:
            message = "`default` is the caller's stream: its priority cannot be set"
            yield default_stream.diagnostic(name.span, message, help="leave the priority out")
        elif statement.aic is None and statement.aiv is None:
            if len(statement.names) == 1:
                fix = removal(statement, "this statement", safe=True)
            else:
                comments = names.schedule.comments
                fix = removal_from_list(name, statement.names, "`default` from the list", comments)
            message = "`default` is there without being declared"
            advice = "it may be limited: `stream default { cores aic 16 }`"
            yield default_stream.diagnostic(name.span, message, help=advice, fix=fix)


@rule("SYN111", "conflicting-inputs", Severity.ERROR)
def conflicting_inputs(names: Names) -> Iterator[Diagnostic]:
    """Both `input` and `inputs from`.

    Example inputs come from one place: named in the schedule, or made by a function. A model without inputs needs
    neither.

    Example:

        input x: f16[64, 64]
        inputs from "model.py:example_inputs"

    Use instead one of the two:

        inputs from "model.py:example_inputs"
    """
    statements = names.schedule.statements
    function = next((s for s in statements if isinstance(s, InputsFromStatement)), None)
    listed = next((s for s in statements if isinstance(s, InputStatement)), None)
    if function and listed:
        first, second = (listed.span, function.span) if listed.span < function.span else (function.span, listed.span)
        related = (Related(first, "inputs are given here already"),)
        advice = "keep one of the two"
        message = "inputs are given by `input` and by `inputs from`"
        yield conflicting_inputs.diagnostic(second, message, related=related, help=advice)


@rule("SYN112", "invalid-value", Severity.ERROR)
def invalid_value(names: Names) -> Iterator[Diagnostic]:
    """A number or a string that is outside of what makes sense.

    A limit of cores is 1 or more, as are the cores of ops in batch mode, and the numbers of a device, which has both
    cube and vector cores; a size is 0 or more, the lines of a file count from 1 and do not run backwards, and the name
    of a value or a node is not empty. `collective a cores aiv 0` may be said, of one that runs on no cores.

    Example:

        stream side { cores aic 0 }

    Use instead:

        stream side { cores aic 1 }
    """
    for statement in names.schedule.statements:
        for span, message in _values(statement):
            yield invalid_value.diagnostic(span, message)


def _least(limited: StreamStatement | HoldingStatement) -> tuple[int, str]:
    """The least number of cores that may be said, in words, too. A collective may run beside the cores, on none."""
    if isinstance(limited, StreamStatement):
        return 1, "a limit of cores is 1 or more"
    if limited.kind == "collective":
        return 0, "ops hold 0 cores or more"
    return 1, "ops in batch mode hold 1 core or more"


def _values(statement: Statement) -> Iterator[tuple[Span, str]]:
    """The places of `statement` where a value is invalid, with what is wrong."""
    match statement:
        case StreamStatement() | HoldingStatement():
            least, rule_of = _least(statement)
            for word, number in (("aic", statement.aic), ("aiv", statement.aiv)):
                if number is not None and number < least:
                    yield statement.span, f"{rule_of}, not `{word} {number}`"
        case OwnDeviceStatement(_, numbers):
            for word, number in numbers:
                if number < 1:
                    yield statement.span, f"a number of a device is 1 or more, not `{word} {number}`"
            missing = [word for word in ("aic", "aiv") if word not in dict(numbers)]
            if missing:
                yield statement.span, f"the device lacks {' and '.join(f'`{word} N`' for word in missing)}"
        case DeviceFileStatement(""):
            yield statement.span, "the path of the device's file is empty"
        case GraphsStatement(count):
            if count < 1:
                yield statement.span, f"the number of graphs is 1 or more, not {count}"
        case InputStatement(specs):
            for spec in specs:
                for dim in spec.dims:
                    if isinstance(dim, int) and dim < 0:
                        yield spec.span, f"a size is 0 or more, not {dim}"
        case WorldStatement(ranks):
            if ranks < 1:
                yield statement.span, f"the number of ranks is 1 or more, not {ranks}"
            if ranks > _MOST_RANKS:
                yield statement.span, f"the number of ranks is {_MOST_RANKS:,} or less, not {ranks}"
    for selector in selectors_of(statement):
        match selector:
            case LineSelector(_, first, last):
                if first < 1:
                    yield selector.span, "lines count from 1"
                elif last < first:
                    yield selector.span, f"lines {first}-{last} run backwards: write the smaller number first"
            case ValueSelector(value_names):
                yield from ((name.span, "the name of a value is empty") for name in value_names if not name.text)
            case NodeSelector(""):
                yield selector.span, "the name of a node is empty"


@rule("SYN113", "not-supported-yet", Severity.ERROR)
def not_supported_yet(names: Names) -> Iterator[Diagnostic]:
    """A part of the language that this version reads and cannot carry out.

    `cost` is formatted and checked for its syntax. What it asks for is not done, and leaving it out in silence would
    generate other code than was asked for.

    Example:

        group expert = module "shared_experts"
        cost expert = 120us

    Use instead:

        group expert = module "shared_experts"
    """
    for statement in names.schedule.statements:
        keyword = _NOT_YET.get(type(statement))
        if keyword is not None:
            message = f"`{keyword}` is not supported yet"
            yield not_supported_yet.diagnostic(statement.span, message, help=_INSTEAD[keyword])


_NOT_YET: dict[type, str] = {CostStatement: "cost"}
_INSTEAD = {
    "cost": "leave it out: it only serves predictions",
}
