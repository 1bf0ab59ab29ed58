"""Expressions as documents, spaced and parenthesised as ruff and black would print them.

Covers names, attributes, calls, subscripts, displays, comprehensions and operators.
"""

from __future__ import annotations

import ast

from streamsched.codegen.pretty.document import SOFT, SPACE, Broken, Document, flat, group, indent, joined

Parts = tuple[Document, ...]

_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.BitOr: ("|", 1),
    ast.BitXor: ("^", 2),
    ast.BitAnd: ("&", 3),
    ast.LShift: ("<<", 4),
    ast.RShift: (">>", 4),
    ast.Add: ("+", 5),
    ast.Sub: ("-", 5),
    ast.Mult: ("*", 6),
    ast.Div: ("/", 6),
    ast.FloorDiv: ("//", 6),
    ast.Mod: ("%", 6),
    ast.MatMult: ("@", 6),
    ast.Pow: ("**", 8),
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not "}
_UNARY_LEVEL = 7
_ATOM_LEVEL = 9


def brackets(start: str, inside: Document, end: str) -> Parts:
    """What stands in brackets, on lines of its own where it does not fit on theirs."""
    return (start, group(indent(SOFT, inside), SOFT), end)


def items(nodes: list[ast.expr], source: str) -> Parts:
    """Expressions in a row, with a comma between each two."""
    return joined((",", SPACE), [_item(node, source) for node in nodes])


def _item(node: ast.expr, source: str) -> Parts:
    """One of several in brackets: its operators break only where it does not fit on a line of its own."""
    parts = expression(node, source, inside=True)
    return (group(*parts),) if isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare) else parts


def _display(start: str, items: Parts, end: str) -> Parts:
    """A list, tuple or dict: one item per line where it breaks."""
    return (start, group(indent(SOFT, *items, Broken(",")), SOFT), end) if items else (start + end,)


def expression(node: ast.expr, source: str, inside: bool = False) -> Parts:
    """`node`, part of the text `source`, as a document. `inside` tells that it stands within brackets, so that
    operators may break."""
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Constant():
            return (_constant(node, source),)
        case ast.Attribute(value=value, attr=attr):
            return (*_operand(value, source, _ATOM_LEVEL), f".{attr}")
        case ast.Call(func=func, args=args, keywords=keywords):
            return (*_operand(func, source, _ATOM_LEVEL), *_arguments(args, keywords, source))
        case ast.Subscript(value=value, slice=index):
            return (*_operand(value, source, _ATOM_LEVEL), *brackets("[", group(*_index(index, source)), "]"))
        case ast.Tuple(elts=[only]):
            return ("(", group(indent(SOFT, *expression(only, source, inside=True), ","), SOFT), ")")
        case ast.Tuple(elts=elements):
            return _display("(", items(elements, source), ")")
        case ast.List(elts=elements):
            return _display("[", items(elements, source), "]")
        case ast.Set(elts=elements):
            return _display("{", items(elements, source), "}")
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=target, iter=iterable)]):
            item = (*expression(element, source, inside=True), SPACE)
            each = ("for ", *expression(target, source), " in ", *expression(iterable, source))
            return brackets("[", group(*item, *each), "]")
        case ast.Dict(keys=keys, values=values):
            return _display("{", _pairs(keys, values, source), "}")
        case ast.Starred(value=value):
            return ("*", *expression(value, source, inside))
        case ast.UnaryOp(op=unary, operand=operand):
            return (_UNARY[type(unary)], *_operand(operand, source, _UNARY_LEVEL))
        case ast.BinOp():
            return _binary(node, source, inside)
        case ast.BoolOp(op=ast.Or(), values=values):
            return joined((SPACE, "or "), [expression(value, source, inside=True) for value in values])
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            sides = (_operand(left, source, 1), _operand(right, source, 1))
            return (*sides[0], SPACE if inside else " ", f"{_COMPARE[type(operator)]} ", *sides[1])
    raise AssertionError(f"the generator prints no such expression: {ast.unparse(node)}")


def _constant(node: ast.Constant, source: str) -> str:
    """A literal; numbers as they are written in `source`, which is one line."""
    if isinstance(node.value, str):
        return _string(node.value)
    return source.encode()[node.col_offset : node.end_col_offset].decode()


def _string(text: str) -> str:
    """A string's literal as the formatters quote it: double quotes unless that needs more escapes."""
    literal = repr(text)
    if literal[0] == '"' or '"' in text:
        return literal
    return '"' + literal[1:-1].replace("\\'", "'") + '"'


def _level(node: ast.expr) -> int:
    match node:
        case ast.BinOp(op=operator):
            return _BINARY[type(operator)][1]
        case ast.UnaryOp():
            return _UNARY_LEVEL
        case ast.Compare():
            return 0
        case ast.Constant(value=int() | float()):
            return _UNARY_LEVEL + 1
    return _ATOM_LEVEL


def _operand(node: ast.expr, source: str, level: int) -> Parts:
    """`node` where only what binds at least as strongly as `level` may stand without parentheses."""
    if _level(node) < level:
        return ("(", group(indent(SOFT, *expression(node, source, inside=True)), SOFT), ")")
    return expression(node, source)


def _binary(node: ast.BinOp, source: str, inside: bool) -> Parts:
    """A chain of operators of one precedence, which breaks before each operator."""
    symbol, level = _BINARY[type(node.op)]
    if isinstance(node.op, ast.Pow):
        left, right = _operand(node.left, source, level + 1), _operand(node.right, source, _UNARY_LEVEL)
        if _hugs(node.left) and _hugs(node.right):
            return (*left, symbol, *right)
        return (*left, SPACE if inside else " ", f"{symbol} ", *right)
    first = node.left
    if isinstance(first, ast.BinOp) and _BINARY[type(first.op)][1] == level:
        left = _binary(first, source, inside)
    else:
        left = _operand(first, source, level)
    return (*left, SPACE if inside else " ", f"{symbol} ", *_operand(node.right, source, level + 1))


def _hugs(node: ast.expr) -> bool:
    """Whether the power operator stands close to this operand."""
    match node:
        case ast.Name() | ast.Constant(value=int() | float() | complex()):
            return True
        case ast.UnaryOp(operand=operand):
            return _hugs(operand)
        case ast.Attribute(value=ast.Name() | ast.Attribute() as value):
            return _hugs(value)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _hugs(left) and _hugs(right)
    return False


def _arguments(args: list[ast.expr], keywords: list[ast.keyword], source: str) -> Parts:
    items = [_item(arg, source) for arg in args]
    for keyword in keywords:
        name = f"{keyword.arg}=" if keyword.arg else "**"
        items.append((name, *_item(keyword.value, source)))
    if not items:
        return ("()",)
    return brackets("(", group(*joined((",", SPACE), items), Broken(",")), ")")


def _index(node: ast.expr, source: str) -> Parts:
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return (*joined((",", SPACE), [_index(item, source) for item in node.elts]), Broken(","))
    if isinstance(node, ast.Slice):
        return (_slice(node, source),)
    return expression(node, source, inside=True)


def _slice(node: ast.Slice, source: str) -> str:
    """A slice; complex bounds get spaces around the colons."""
    bounds = [node.lower, node.upper, node.step]
    texts = ["" if bound is None else flat(expression(bound, source)) for bound in bounds]
    space = "" if all(bound is None or _simple_bound(bound) for bound in bounds) else " "
    text = f"{texts[0]}{space if texts[0] else ''}:{space if texts[1] else ''}{texts[1]}"
    return text if node.step is None else f"{text}{space if texts[1] else ''}:{space}{texts[2]}"


def _simple_bound(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _simple_bound(node.operand)
    return isinstance(node, ast.Name | ast.Constant)


def _pairs(keys: list[ast.expr | None], values: list[ast.expr], source: str) -> Parts:
    pairs: list[Parts] = []
    for key, value in zip(keys, values, strict=True):
        name = (*expression(key, source), ": ") if key is not None else ("**",)
        pairs.append((*name, *expression(value, source, inside=True)))
    return joined((",", SPACE), pairs)
