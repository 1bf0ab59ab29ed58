"""The rules about traces: models that cannot be traced, traces that cannot be read, and traces that are stale."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Fix, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


@rule("TRC101", "model-not-found", Severity.ERROR)
def model_not_found(span: Span, message: str, help: str | None) -> Diagnostic:
    """The model that a schedule names does not exist.

    Reports a `model` or `inputs from` statement whose file, package or attribute cannot be found.

    Why is this bad: without the model there is nothing to trace and nothing to schedule.

    Example:
        model "modle.py:build"      # the file is called model.py

    Use instead:
        model "model.py:build"
    """
    return model_not_found.diagnostic(span, message, help=help)


@rule("TRC102", "model-raises", Severity.ERROR)
def model_raises(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """The user's code raises while the model or its example inputs are made.

    Reports an exception that leaves the import of the model's file, the callable that builds the model, or the
    function that makes its example inputs. `--verbose` shows Python's own traceback.

    Why is this bad: no model, no trace. Note that models are built under `torch.device("meta")`: tensors have shapes
    and no data, so code that looks at data while building fails.

    Example:
        def build():
            return Model(torch.load("weights.pt"))      # the file is not there on this machine

    Use instead:
        def build():
            return Model()      # tracing needs no weights
    """
    return model_raises.diagnostic(span, message, related=related, notes=notes)


@rule("TRC103", "model-exits", Severity.ERROR)
def model_exits(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """The user's code ends the process while the model or its example inputs are made.

    Reports a `sys.exit()` in the model's file, in the callable that builds the model, or in its forward().

    Why is this bad: a script that parses its command line or runs a benchmark on import cannot be imported.

    Example:
        args = parser.parse_args()      # exits: these are streamsched's own arguments
        model = Model(args.size)

    Use instead:
        def build():
            return Model(size=64)

        if __name__ == "__main__":
            main(parser.parse_args())
    """
    return model_exits.diagnostic(
        span, message, related=related, notes=notes, help='put what runs the script under `if __name__ == "__main__":`'
    )


@rule("TRC104", "not-a-module", Severity.ERROR)
def not_a_module(span: Span, message: str) -> Diagnostic:
    """The `model` statement leads to something else than a torch.nn.Module.

    Reports an attribute that is neither a Module, nor a Module class, nor a callable without required arguments that
    returns one.

    Why is this bad: only a Module has a forward() to trace.

    Example:
        model "model.py:config"

    Use instead:
        model "model.py:build"      # def build(): return Model(config)
    """
    return not_a_module.diagnostic(
        span, message, help="name a torch.nn.Module, its class, or a function without arguments that returns one"
    )


@rule("TRC105", "wrong-inputs", Severity.ERROR)
def wrong_inputs(span: Span, message: str, related: tuple[Related, ...], help: str | None) -> Diagnostic:
    """The example inputs do not fit the parameters of forward().

    Reports an `input` named like no parameter of the model's forward(), a parameter without a default that gets no
    input, an unknown dtype, and an `inputs from` function that returns neither a tuple, nor a dict, nor a pair of both.

    Why is this bad: the model cannot be called, so it cannot be traced.

    Example:
        input token_ids: i64[1, 64]     # def forward(self, ids, mask=None)

    Use instead:
        input ids: i64[1, 64]
    """
    return wrong_inputs.diagnostic(span, message, related=related, help=help)


@rule("TRC106", "forward-raises", Severity.ERROR)
def forward_raises(
    span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...], help: str | None = None
) -> Diagnostic:
    """The model's forward() raises.

    Reports an exception that leaves forward() while it is traced, with the statement that it passed through.

    Why is this bad: what raises cannot be traced. While tracing, the inputs, parameters and buffers lie on the meta
    device: they have shapes and dtypes, no data. Shapes and dtypes that do not fit would fail anywhere. A tensor that
    forward() makes without `device=` lies on the CPU, and does not mix with them, though it would where the whole
    model is on the CPU; write `torch.zeros(4, device=x.device)`. An op may take fewer dtypes there than on the device;
    make a `leaf` of the module that issues it.

    Example:
        input a: f16[4, 8]
        input b: f16[4, 8]      # forward() computes torch.mm(a, b)

    Use instead:
        input b: f16[8, 4]
    """
    return forward_raises.diagnostic(span, message, related=related, notes=notes, help=help)


@rule("TRC107", "data-dependent", Severity.ERROR)
def data_dependent(
    span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...], fix: Fix | None = None
) -> Diagnostic:
    """The model's Python looks at the data of a tensor.

    Reports a statement whose course depends on a tensor's values: `if x.sum() > 0`, a loop over `nonzero()`,
    `int(x)`, a shape made of data; and results whose size depends on them, as `x.unique()` has.

    Why is this bad: a schedule is made once for every call, so every call has to run the same ops. It would also
    make the host wait for the device.

    Example:
        if x.max() > 0:
            x = x / x.max()

    Use instead:
        x = torch.where(x.max() > 0, x / x.max(), x)

    A module that cannot be written so, such as a loop over the experts that were hit, may be a leaf: one op, that is
    printed as the call of the module. `from` names a function that says what it returns; `torch:empty_like` says that
    it is like the first argument.

        leaf "model.layers.*.mlp.experts" from "torch:empty_like"
    """
    return data_dependent.diagnostic(
        span,
        message,
        related=related,
        notes=notes,
        help="compute both ways and choose with torch.where(), or move the decision out of the model",
        fix=fix,
    )


@rule("TRC108", "unsupported-construct", Severity.ERROR)
def unsupported_construct(
    span: Span,
    message: str,
    related: tuple[Related, ...],
    notes: tuple[str, ...],
    help: str | None = None,
    fix: Fix | None = None,
) -> Diagnostic:
    """The model uses a construct that cannot be traced into one sequence of ops.

    Reports `while_loop`, `scan`, `map` and other higher-order operators, inputs whose shape is changed in place,
    exceptions of one module that another catches, lists of the caller's that grow, forward hooks of the model itself,
    results other than tensors, tuples, lists, dicts and dataclasses, and whatever else torch.export refuses.

    Why is this bad: what a schedule cannot see it cannot order.

    Example:
        (y,) = while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (x,))

    Use instead:
        y = x
        for _ in range(4):
            y = torch.where(y.sum() < 9, y * 2, y)

    A module that needs such a construct may be a leaf, which is one op and is printed as the call of the module:

        leaf "decoder.search" from "model.py:search_shape"
    """
    return unsupported_construct.diagnostic(span, message, related=related, notes=notes, help=help, fix=fix)


@rule("TRC109", "constant-without-values", Severity.ERROR)
def constant_without_values(span: Span, message: str, related: tuple[Related, ...]) -> Diagnostic:
    """A constant made in forward() whose values the trace cannot know.

    Reports a tensor that Python data or a file was turned into on the meta device, where tensors have no data, and one
    that is too large to be written into generated code.

    Why is this bad: generated code would have to make the constant, and does not know what is in it.

    Example:
        scale = torch.tensor(self.table, device=x.device)       # 10,000 numbers

    Use instead:
        self.register_buffer("table", torch.tensor(table), persistent=False)        # in __init__()
    """
    return constant_without_values.diagnostic(
        span, message, related=related, help="register it as a buffer in __init__() and use that in forward()"
    )


@rule("TRC110", "torch-missing", Severity.ERROR)
def torch_missing(span: Span, message: str) -> Diagnostic:
    """Tracing needs torch, and there is none.

    Reports a schedule without a saved trace where torch cannot be imported.

    Why is this bad: everything else works without torch, but a trace has to come from somewhere.

    Example:
        pip install streamsched
        streamsched trace model.sched

    Use instead:
        pip install "streamsched[trace]"
        streamsched trace model.sched
    """
    return torch_missing.diagnostic(
        span,
        message,
        help='install it with `pip install "streamsched[trace]"`, or get a saved trace from where torch is',
    )


@rule("TRC111", "unreadable-trace", Severity.ERROR)
def unreadable_trace(span: Span, message: str) -> Diagnostic:
    """A saved trace cannot be read.

    Reports a `.trace.json.gz` file that cannot be opened, is no gzip file, is cut short, or holds something else.

    Why is this bad: a damaged trace would give checks and code for another model than yours.

    Example:
        git merge       # wrote conflict markers into model.trace.json.gz

    Use instead:
        streamsched trace model.sched       # writes it anew
    """
    return unreadable_trace.diagnostic(span, message, help=f"make it anew with `streamsched trace {span.file}`")


@rule("TRC112", "trace-of-other-version", Severity.ERROR)
def trace_of_other_version(span: Span, message: str) -> Diagnostic:
    """A saved trace has the format of another release.

    Reports a trace file whose format number this release does not read.

    Why is this bad: fields may mean something else there.

    Example:
        pip install --upgrade streamsched
        streamsched lint model.sched

    Use instead:
        streamsched trace model.sched
        streamsched lint model.sched
    """
    return trace_of_other_version.diagnostic(span, message, help=f"make it anew with `streamsched trace {span.file}`")


@rule("TRC201", "attribute-not-kept", Severity.WARNING)
def attribute_not_kept(span: Span, message: str) -> Diagnostic:
    """forward() changes an attribute, which generated code will not do.

    Reports tensors that forward() assigns to attributes that are no registered buffers, or appends to a list there;
    and attributes that hold a number, a text, a bool or None, or lists and dicts of those, and hold something else
    after forward().

    Why is this bad: such an assignment is no op. What reads the attribute later finds something else than with the
    original forward(). Only a number or the like that forward() itself reads is assigned by generated code, too; there
    the value that it had while tracing is built in, so that a call that finds another one is another call: it runs the
    original forward(), and raises after `apply(model, strict=True)`. A counter makes that every call but the first.

    Example:
        self.last = x       # in forward()
        self.calls += 1
        y = x * self.calls

    Use instead:
        self.register_buffer("last", torch.zeros(64))       # in __init__(); self.last = x is then traced
        self.register_buffer("calls", torch.zeros(()))      # in __init__(); self.calls += 1 is then traced
    """
    return attribute_not_kept.diagnostic(span, message, help="register it as a buffer, or return it")


@rule("TRC202", "autocast-not-traced", Severity.WARNING)
def autocast_not_traced(span: Span, related: tuple[Related, ...]) -> Diagnostic:
    """The model enters a `torch.autocast` region, whose casts are not in the trace.

    Reports an enabled `torch.autocast` region that is entered while forward() is traced, by the model itself or by a
    package that it uses. Disabled regions change nothing and are not reported.

    Why is this bad: autocast casts on a real device and not on the meta device, so the trace has the ops, dtypes and
    sizes of the model without it. Generated code enters the region, and casts as the model does; but the casts are
    kernels that no check sees, memory is counted in the dtypes without them, and where forward() asks for the dtype of
    something that is cast (`y.to(z.dtype)`, `if z.dtype == ...`), the answer of the trace is built in.

    Example:
        with torch.autocast("npu", dtype=torch.float16):
            y = torch.mm(a, b)

    Use instead:
        y = torch.mm(a.to(torch.float16), b.to(torch.float16))
    """
    message = "forward() enters an enabled torch.autocast region; the trace has the dtypes without it"
    return autocast_not_traced.diagnostic(span, message, related=related, help="cast explicitly: `.to(dtype)`")


@rule("TRC203", "result-type-changes", Severity.WARNING)
def result_type_changes(span: Span, message: str, related: tuple[Related, ...]) -> Diagnostic:
    """Generated code returns another class than forward() does.

    Reports results of operators that forward() returns as they are (`x.max(-1)`, `x.sort()`: these are named tuples of
    torch's own), and the `OrderedDict`, `defaultdict` and `Counter` of `collections`. Generated code returns a tuple or
    a dict that holds the same.

    Why is this bad: a caller that asks for `.values` or `.indices`, or calls `move_to_end()`, works with the original
    forward() alone.

    Example:
        return x.max(-1)

    Use instead:
        values, indices = x.max(-1)
        return values, indices
    """
    return result_type_changes.diagnostic(
        span, message, related=related, help="return a plain tuple or dict, or a named tuple or dataclass of your own"
    )


@rule("TRC204", "compiling-changes-ops", Severity.WARNING)
def compiling_changes_ops(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """The model runs other ops when it is compiled than when it is not.

    Reports a forward() that asks `torch.compiler.is_compiling()`, or one of the functions that answer the same, and
    that calls other functions of torch when it is told otherwise. What is asked and makes no difference, as for a log
    message, is not reported; nor is anything where the schedule says `trace compiled` or `trace eager`.

    Why is this bad: a trace holds one of the two. Without a `trace` statement it is the compiled one for the target
    npugraph_ex, whose code is compiled, and the eager one for the targets npu, cuda and cpu. Generated for another
    target with `gen --target`, or held against the model run the other way, the ops differ, and so may the numbers. A
    module that is printed as a call runs its own Python again, which asks anew.

    Example:
        target npugraph_ex      # and the generated forward is called without compile()

    Use instead:
        target npugraph_ex
        trace eager
    """
    return compiling_changes_ops.diagnostic(
        span,
        message,
        related=related,
        notes=notes,
        help="write `trace compiled` or `trace eager` in the schedule, as the generated forward will run",
    )


@rule("TRC205", "device-decides", Severity.WARNING)
def device_decides(span: Span, message: str, related: tuple[Related, ...]) -> Diagnostic:
    """A condition in the model asks for the device of a tensor, and gets another answer while it is traced.

    Reports conditions that compare a tensor's device, or its type, with the device of the schedule's target or with
    `meta`; and `is_npu`, `is_cuda`, `is_cpu` and `is_meta` in conditions likewise. They are sought in each forward()
    and each function that calls torch while the model is traced. What compares with other devices is answered alike and
    not reported.

    Why is this bad: a model is traced on the meta device, which is neither `npu` nor `cuda` nor `cpu`. The trace holds
    the branch for any other device, and so does the generated code, on every device.

    Example:
        if x.device.type == "npu":      # in forward(); never so while it is traced
            y = torch_npu.npu_rms_norm(x, self.weight)[0]
        else:
            y = self.norm(x)

    Use instead:
        if self.fused:                  # decided in __init__(), or by the configuration
            y = torch_npu.npu_rms_norm(x, self.weight)[0]
        else:
            y = self.norm(x)
    """
    return device_decides.diagnostic(
        span,
        message,
        related=related,
        help="decide it in __init__(), or put the branch into a module of its own and name that in a `leaf` statement",
    )


@rule("SEL105", "stale-trace", Severity.ERROR)
def stale_trace(span: Span, message: str, related: tuple[Related, ...], notes: tuple[str, ...]) -> Diagnostic:
    """A saved trace no longer fits the model or the schedule.

    Reports a trace where a file that it was made from has changed since, or where the schedule's `model`, `input` or
    other statements that determine it have. Files that are not there are not compared.

    Why is this bad: selectors and checks would speak about a model that is no more.

    Example:
        # model.py was edited after the trace was made
        streamsched lint model.sched

    Use instead:
        streamsched trace model.sched
        streamsched lint model.sched
    """
    return stale_trace.diagnostic(
        span, message, related=related, notes=notes, help=f"make it anew with `streamsched trace {span.file}`"
    )


@rule("SEL106", "package-drift", Severity.WARNING)
def package_drift(span: Span, message: str, notes: tuple[str, ...]) -> Diagnostic:
    """A package that the model uses has another version here than where the trace was made.

    Reports an installed package with code in the trace whose version differs. Packages that are not installed are not
    compared.

    Why is this bad: the model that runs here may issue other ops than those that were checked.

    Example:
        pip install transformers==5.25      # the trace was made with 5.24
        streamsched lint model.sched

    Use instead:
        streamsched trace model.sched       # and commit the new trace
    """
    return package_drift.diagnostic(
        span, message, notes=notes, help="make the trace anew, or install the version that it was made with"
    )


RULES: tuple[Rule[Any, Any], ...] = (
    model_not_found,
    model_raises,
    model_exits,
    not_a_module,
    wrong_inputs,
    forward_raises,
    data_dependent,
    unsupported_construct,
    constant_without_values,
    torch_missing,
    unreadable_trace,
    trace_of_other_version,
    attribute_not_kept,
    autocast_not_traced,
    result_type_changes,
    compiling_changes_ops,
    device_decides,
    stale_trace,
    package_drift,
)
