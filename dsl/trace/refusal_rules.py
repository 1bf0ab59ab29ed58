"""The rules about models whose forward() cannot be traced."""

from __future__ import annotations

from typing import Any

from streamsched.dsl.diagnostic import Diagnostic, Fix, Related, Severity, Span
from streamsched.dsl.rule import Rule, rule


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

    Reports `while_loop`, `scan`, `map` and other operators of higher order, `torch.vmap` and its like,
    inputs whose shape is changed in place, exceptions of one module that another catches, lists of the caller's that
    grow, forward hooks of the model itself, results other than tensors, tuples, lists, dicts and dataclasses, and
    whatever else torch.export refuses.

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


@rule("TRC122", "dtype-under-autocast", Severity.ERROR)
def dtype_under_autocast(span: Span, message: str, related: tuple[Related, ...], help: str) -> Diagnostic:
    """What forward() does depends on a dtype that autocast decides.

    Reports Python that asks for the dtype of a tensor that an enabled `torch.autocast` region may have cast, or that
    was computed of such a tensor (`y.to(z.dtype)`, `if z.dtype == torch.float16`); and modules in scope that are called
    inside of such a region of the model around them. A tensor that was given its dtype by name, as by
    `.to(torch.float32)`, may be asked.

    Why is this bad: a model is traced on the meta device, where autocast casts nothing. The answer would be that
    without autocast, and generated code would go on with it on a device that casts.

    Example:
        with torch.autocast("npu", dtype=torch.float16):
            y = torch.mm(a, b)
            y = torch.softmax(y, -1, dtype=torch.float32).to(y.dtype)

    Use instead:
        with torch.autocast("npu", dtype=torch.float16):
            y = torch.mm(a, b)
            y = torch.softmax(y, -1, dtype=torch.float32).to(torch.float16)
    """
    return dtype_under_autocast.diagnostic(span, message, related=related, help=help)


RULES: tuple[Rule[Any, Any], ...] = (
    forward_raises,
    data_dependent,
    unsupported_construct,
    constant_without_values,
    dtype_under_autocast,
)
