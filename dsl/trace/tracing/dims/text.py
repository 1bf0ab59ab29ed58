"""torch's symbolic sizes as Python expressions, the same text for the same size."""

from __future__ import annotations

import sympy
from torch.utils._sympy.functions import (
    CeilToInt,
    CleanDiv,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    Max,
    Min,
    Mod,
    PowByNatural,
    PythonMod,
    TruncToInt,
)

_SUM, _PRODUCT, _ATOM = 1, 2, 3
"""How strongly a text binds."""


class _UnspelledError(Exception):
    """There is no Python for an expression."""


def spell(expression: sympy.Expr) -> str | None:
    """An expression over named symbols as Python; None where there is none for it.

    Products of sums are multiplied out: torch comes to one size in several ways.
    """
    try:
        return _spell(sympy.expand(expression))[0]
    except _UnspelledError:
        return None


def _spell(expression: sympy.Expr) -> tuple[str, int]:
    match expression:
        case sympy.Symbol():
            return str(expression), _ATOM
        case sympy.Integer():
            return str(expression), _ATOM if expression >= 0 else _SUM
        case sympy.Add():
            return _sum(expression), _SUM
        case sympy.Mul():
            return _product(expression)
        case sympy.Pow() | PowByNatural():
            return _power(*expression.args)
        case FloorDiv() | CleanDiv():
            return _binary("//", *expression.args)
        case Mod() | PythonMod():
            return _binary("%", *expression.args)
        case Max() | Min():
            name = "max" if isinstance(expression, Max) else "min"
            return f"{name}({', '.join(sorted((_spell(arg)[0] for arg in expression.args), key=_order))})", _ATOM
        case FloorToInt(args=(IntTrueDiv() as quotient,)) | TruncToInt(args=(IntTrueDiv() as quotient,)):
            return _binary("//", *quotient.args)  # sizes are positive
        case CeilToInt(args=(IntTrueDiv(args=(upper, lower)),)):
            return f"-(-{_operand(upper, _ATOM)} // {_operand(lower, _ATOM)})", _SUM
    raise _UnspelledError(str(expression))


def _order(text: str) -> tuple[bool, str]:
    return text.isdigit(), text


def _operand(expression: sympy.Expr, level: int) -> str:
    """An operand where what binds at least as strongly as `level` needs no parentheses."""
    text, own = _spell(expression)
    return text if own >= level else f"({text})"


def _binary(symbol: str, left: sympy.Expr, right: sympy.Expr) -> tuple[str, int]:
    return f"{_operand(left, _PRODUCT)} {symbol} {_operand(right, _ATOM)}", _PRODUCT


def _sum(expression: sympy.Add) -> str:
    terms = expression.as_ordered_terms()
    signed = [(bool(term.could_extract_minus_sign()), term) for term in terms]
    text = ""
    for negative, term in sorted(signed, key=lambda pair: pair[0]):
        part = _operand(-term if negative else term, _PRODUCT if text or not negative else _ATOM)
        text += (" - " if negative else " + ") + part if text else f"-{part}" if negative else part
    return text


def _product(expression: sympy.Mul) -> tuple[str, int]:
    if expression.could_extract_minus_sign():
        return f"-{_operand(-expression, _ATOM)}", _SUM
    first, *rest = expression.as_ordered_factors()
    return " * ".join([_operand(first, _PRODUCT), *(_operand(factor, _ATOM) for factor in rest)]), _PRODUCT


def _power(base: sympy.Expr, exponent: sympy.Expr) -> tuple[str, int]:
    if not isinstance(exponent, sympy.Integer) or exponent < 1:
        raise _UnspelledError
    return " * ".join([_operand(base, _ATOM)] * int(exponent)), _PRODUCT
