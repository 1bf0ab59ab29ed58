"""The rules about what a trace does not hold, and what it holds of one way to run only."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


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


RULES: tuple[Rule[Any, Any], ...] = (
    attribute_not_kept,
    autocast_not_traced,
    result_type_changes,
    compiling_changes_ops,
    device_decides,
)
