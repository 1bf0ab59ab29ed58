"""The ops that are written as indexing, or whose arguments decide how they are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streamsched.codegen.spell import table
from streamsched.codegen.spell.arguments import equals, integer
from streamsched.codegen.spell.call import Call
from streamsched.dsl.trace.model import NONE, Argument, Literal, Ref, Sequence

_OPEN_END = 2**63 - 1  # how a slice without end is traced
_NEAR = 3  # `x[:, :, 0]` still reads well; beyond, `x[..., 0]` if it can be

Special = Callable[[Call], str | None]


def alias(call: Call) -> str | None:
    """`x[...]`: a new tensor object over the same memory."""
    return f"{call.text(call.op.args[0])}[...]"


def fresh_copy(call: Call) -> str | None:
    """A constant of the user's code. `torch.tensor(2.0)` is fresh each time that it runs; a stored one is cloned."""
    text = call.text(call.op.args[0])
    return text if text.startswith("torch.tensor(") else f"{text}.clone()"


def reversed_sub(call: Call) -> str | None:
    """`1 - x`; a tensor on both sides stays `torch.rsub`, which is rare."""
    items = call.arguments()
    if len(items) != 2 or not isinstance(items[1].argument, Literal):
        return None
    return f"{operand_text(call, items[1].argument)} - {call.text(items[0].argument)}"


def slice_(call: Call) -> str | None:
    """`x[:, 1:3]`."""
    start, end, step = (call.given(each) or Literal("None") for each in ("start", "end", "step"))
    first = "" if equals(start, "0") or equals(start, "None") else call.text(start)
    last = "" if equals(end, str(_OPEN_END)) or equals(end, "None") else call.text(end)
    stride = "" if equals(step, "1") or equals(step, "None") else f":{call.text(step)}"
    return _at_dim(call, f"{first}:{last}{stride}")


def select(call: Call) -> str | None:
    """`x[:, 0]`."""
    index = call.given("index")
    return None if index is None else _at_dim(call, call.text(index))


def index(call: Call) -> str | None:
    """`x[:, i]`. A 0-dimensional index stays with torch.ops: Python would read its number, and make the host wait."""
    indices = call.given("indices")
    if not isinstance(indices, Sequence) or any(_is_number(call, item) for item in indices.items):
        return None
    parts = [":" if isinstance(item, Literal) else call.text(item) for item in indices.items]
    return f"{call.text(call.op.args[0])}[{', '.join(parts)}]" if parts else None


def index_put_(call: Call) -> str | None:
    """`x[:, i] = y`: a statement, where the result is `x` itself and nobody needs it from the call."""
    values, accumulates = call.given("values"), call.given("accumulate")
    is_plain = accumulates is None or equals(accumulates, "False")
    if values is None or not is_plain or not _returns_operand(call):
        return None
    target = index(call)
    return None if target is None else f"{target} = {call.text(values)}"


def tensordot(call: Call) -> str | None:
    """`torch.tensordot(a, b, dims=((1,), (0,)))`."""
    left, right, *dims = (item.argument for item in call.arguments())
    pairs = ", ".join(call.text(Sequence("tuple", each.items)) for each in dims if isinstance(each, Sequence))
    arguments = [call.text(left), call.text(right), f"dims=({pairs})", *filter(None, [call.out()])]
    return f"torch.tensordot({', '.join(arguments)})"


def to(call: Call) -> str | None:
    """`x.to(device, dtype)`. The dtype goes without saying where the tensor has it already."""
    device, dtype = call.given("device"), call.given("dtype")
    tensor = call.op.args[0]
    if device is not None and equals(device, "None"):
        device = None
    if dtype is not None and (equals(dtype, "None") or (device is not None and _has_dtype(call, tensor, dtype))):
        dtype = None
    parts = [call.text(each) for each in (device, dtype) if each is not None]
    rest = [item for item in call.arguments() if item.parameter.name not in ("self", "device", "dtype")]
    if call.schema.name == "_to_copy":
        parts.append("copy=True")
    parts.extend(f"{item.parameter.name}={call.text(item.argument)}" for item in rest)
    return f"{call.text(tensor)}.to({', '.join(parts)})"


def item(call: Call) -> str | None:
    """`x.item()`."""
    return f"{call.text(call.op.args[0])}.item()"


def embedding_bag(call: Call) -> str | None:
    """torch's embedding_bag, which returns all four results. Without a padding index the arguments have defaults."""
    padding = call.given("padding_idx")
    if padding is not None and not equals(padding, "None"):
        return None
    function = table.EMBEDDING_BAG
    return f"{function.path}({', '.join(call.spelled(call.arguments(function), function))})"


SPECIAL: Mapping[str, Special] = {
    "_local_scalar_dense": item,
    "_to_copy": to,
    "alias": alias,
    "embedding_bag": embedding_bag,
    "index.Tensor": index,
    "index_put_": index_put_,
    "lift_fresh_copy": fresh_copy,
    "rsub": reversed_sub,
    "select.int": select,
    "slice.Tensor": slice_,
    "tensordot": tensordot,
    "to.device": to,
    "to.dtype": to,
    "to.dtype_layout": to,
}


def operand_text(call: Call, argument: Argument) -> str:
    """An argument as the operand of an operator: what is made of dims gets parentheses."""
    text = call.text(argument)
    return f"({text})" if isinstance(argument, Literal) and " " in text and text[0] not in "\"'" else text


def _at_dim(call: Call, subscript: str) -> str | None:
    """The tensor indexed in the dimension that the op says."""
    tensor = call.op.args[0]
    dim = integer(call.given("dim") or Literal("0"))
    if dim is None or not isinstance(tensor, Ref):
        return None
    rank = len(call.trace.values[tensor.value].shape)
    before = dim % rank
    after = rank - before - 1
    from_left = before < _NEAR or before <= after
    parts = [*[":"] * before, subscript] if from_left else ["...", subscript, *[":"] * after]
    return f"{call.text(tensor)}[{', '.join(parts)}]"


def _returns_operand(call: Call) -> bool:
    result = call.op.result
    return isinstance(result, Ref) and call.trace.values[result.value].same_object != NONE


def _is_number(call: Call, argument: Argument) -> bool:
    return isinstance(argument, Ref) and not call.trace.values[argument.value].shape


def _has_dtype(call: Call, tensor: Argument, dtype: Argument) -> bool:
    if not isinstance(tensor, Ref) or not isinstance(dtype, Literal):
        return False
    if any(context.startswith("torch.autocast") for op in call.trace.ops for context in op.contexts):
        return False  # the dtypes are those without its casts
    return dtype.text == f"torch.{call.trace.values[tensor.value].dtype}"
