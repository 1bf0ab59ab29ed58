"""An op as an expert writes it: `a + b`, `x.view(1, -1)`, `F.linear(x, w)`, `torch.mm(a, b)`.

Each speller below knows one form and returns None for an op that has another; the first that answers is taken.
`torch.ops` remains for the ops that torch does not publish.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from streamsched.codegen.spell import table
from streamsched.codegen.spell.arguments import Name, class_imports, spell_argument
from streamsched.codegen.spell.call import Call, call_of, raw_arguments
from streamsched.codegen.spell.conditional import branches, spell_conditional
from streamsched.codegen.spell.schemas import bind, find
from streamsched.codegen.spell.special import SPECIAL, operand_text
from streamsched.codegen.spell.table import Function
from streamsched.dsl.trace.model import COND, Argument, Literal, Op, Ref, Trace

__all__ = ["imports", "spell_argument", "spell_call", "uses"]

_ATOM = re.compile(r"[A-Za-z_][\w.]*|-?\d[\w.]*(?:e-\d+)?")  # the formatter hugs `**` between these


def spell_call(op: Op, trace: Trace, name: Name) -> str:
    """The expression that calls an op, on one line; `name` gives the text of a value.

    The texts of values must be names, or bind as tightly (`self.weight`, `x[0]`). An in-place op whose result is its
    operand (`Value.same_object`) is to stand on a line of its own, unbound: it is a method call, `x.add_(y)`, or an
    assignment, `x[i] = y`. ValueError where an argument has no printed form.
    """
    if op.target == COND:
        return spell_conditional(op, trace, name, tuple(branch.name for branch in branches(op)))
    call = call_of(op, trace, name)
    if call is not None:
        for speller in _SPELLERS:
            text = speller(call)
            if text is not None:
                return text
    return f"{_operator_path(op.target)}({raw_arguments(op, trace, name)})"


def spell_function(op: Op, trace: Trace, name: Name) -> str:
    """The expression that calls an in-place op of ATen as a function: `torch.ops.aten.add_(x, y)`.

    The functions that torch publishes of such ops (`F.relu(x, inplace=True)`) are left as they are.
    """
    call = call_of(op, trace, name)
    published = _functional(call) if call is not None else None
    return published or f"torch.ops.{op.target.rpartition('.')[0]}({raw_arguments(op, trace, name)})"


def uses(op: Op, trace: Trace) -> tuple[int, ...]:
    """The values that the expression names: the op's operands and, for a factory, the tensor that tells the device."""
    named: list[int] = []

    def note(value: int) -> str:
        named.append(value)
        return "x"

    spell_call(op, trace, note)
    return tuple(dict.fromkeys(named))


_TORCH_NPU = "npu.npu_"
"""How the names of the ops begin that torch_npu publishes."""


def imports(op: Op) -> frozenset[str]:
    """The import lines that the expression needs beyond `import torch`."""
    classes = frozenset[str]().union(*map(class_imports, (*op.args, *(argument for _, argument in op.kwargs))))
    if op.target == COND:
        return classes.union(*(imports(inner) for branch in branches(op) for inner in branch.ops))
    schema = find(op.target)
    bound = None if schema is None else bind(schema, op)
    if op.target.startswith(_TORCH_NPU):
        return classes | {"import torch_npu"}
    if schema is None or bound is None or any(parameter.is_out for parameter, _ in bound):
        return classes
    function = _function(f"{schema.name}.{schema.overload}", schema.name)
    uses_f = function is not None and function.path.startswith("F.")
    return classes | {table.F_IMPORT} if uses_f else classes


def _special(call: Call) -> str | None:
    speller = next((SPECIAL[key] for key in call.keys if key in SPECIAL), None)
    return None if speller is None else speller(call)


def _operator(call: Call) -> str | None:
    """`a + b`, `-a`, `a.T`."""
    operands = [item.argument for item in call.arguments()]
    if call.out() or not all(isinstance(operand, Ref | Literal) for operand in operands):
        return None
    unary, binary, attribute = (
        next((names[key] for key in call.keys if key in names), None)
        for names in (table.UNARY, table.BINARY, table.PROPERTIES)
    )
    if len(operands) == 2 and binary is not None:
        return _infix(binary, *operands, call=call)
    if len(operands) == 1 and unary is not None:
        return f"{unary}{call.text(operands[0])}"
    if len(operands) == 1 and attribute is not None:
        return f"{call.text(operands[0])}.{attribute}"
    return None


def _infix(operator: str, left: Argument, right: Argument, *, call: Call) -> str:
    first, second = operand_text(call, left), operand_text(call, right)
    if operator == "**":
        first = f"({first})" if first.startswith("-") else first
        if _ATOM.fullmatch(first) and _ATOM.fullmatch(second):
            return f"{first}**{second}"
    return f"{first} {operator} {second}"


def _functional(call: Call) -> str | None:
    """`F.linear(x, w)`, and other functions that differ from the schema."""
    function = _function(*call.keys)
    if function is None or call.out():
        return None
    arguments = [*call.spelled(call.arguments(function), function), *filter(None, [function.extra])]
    return f"{function.path}({', '.join(arguments)})"


def _method(call: Call) -> str | None:
    """`x.view(1, -1)`."""
    name = call.schema.name
    listed = any(key in table.METHODS for key in call.keys) or name.endswith("_") or "torch" not in call.schema.places
    items = call.arguments()
    if not listed or call.out() or "Tensor" not in call.schema.places or items[0].parameter.name != "self":
        return None
    method = table.IN_PLACE_OPERATORS.get(name, name)
    return f"{call.text(items[0].argument)}.{method}({', '.join(call.spelled(items[1:]))})"


def _published(call: Call) -> str | None:
    """`torch.mm(a, b)`, `torch.linalg.vector_norm(x)`."""
    place = next((place for place in sorted(call.schema.places) if place != "Tensor"), None)
    if place is None:
        return None
    name = call.schema.name.removeprefix(f"{place.removeprefix('torch.')}_")
    arguments = [*call.spelled(call.arguments()), *filter(None, [call.out()])]
    return f"{place}.{name}({', '.join(arguments)})"


_SPELLERS: tuple[Callable[[Call], str | None], ...] = (_special, _operator, _functional, _method, _published)


def _function(*keys: str) -> Function | None:
    return next((table.FUNCTIONS[key] for key in keys if key in table.FUNCTIONS), None)


def _operator_path(target: str) -> str:
    """Where an op is published that torch does not publish: custom ops under torch.ops, whose only overload goes
    without saying, those of torch_npu in torch_npu.
    """
    if target.startswith(_TORCH_NPU):
        return f"torch_npu.{target.split('.')[1]}"
    is_custom = not target.startswith(("aten.", "prims."))
    return f"torch.ops.{target.removesuffix('.default') if is_custom else target}"
