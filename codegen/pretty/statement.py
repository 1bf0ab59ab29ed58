"""Statements as ruff and black would print them, so that generated files pass `ruff format --check`.

Covers the statements that the generator writes: assignments, calls, returns, `del` and `with`. Lines are at most 88
columns, the formatters' default.
"""

from __future__ import annotations

import ast

from streamsched.codegen.pretty.document import SOFT, SPACE, Broken, group, indent, joined, layout
from streamsched.codegen.pretty.expression import Parts, brackets, expression, items

WIDTH = 88


def pretty(source: str, level: int) -> tuple[str, ...]:
    """The lines of the simple statement `source`, indented by `level` levels of four."""
    node = ast.parse(source).body[0]
    return layout(_statement(node, source), level, WIDTH)


def pretty_with(items: tuple[str, ...], level: int) -> tuple[str, ...]:
    """The lines of `with items:`."""
    documents = [expression(ast.parse(item, mode="eval").body, item) for item in items]
    if len(items) == 1:
        return layout(("with ", *documents[0], ":"), level, WIDTH)
    inside = joined((",", SPACE), documents)
    return layout(
        (group("with ", Broken("("), indent(SOFT, *inside, Broken(",")), SOFT, Broken(")"), ":"),), level, WIDTH
    )


def pretty_if(condition: str, level: int) -> tuple[str, ...]:
    """The lines of `if condition:`, which must be a call."""
    return layout(("if ", *expression(ast.parse(condition, mode="eval").body, condition), ":"), level, WIDTH)


def pretty_def(name: str, parameters: tuple[str, ...], level: int = 0) -> tuple[str, ...]:
    """The lines of `def name(parameters):`; each parameter is already printed."""
    inside = joined((",", SPACE), [(parameter,) for parameter in parameters])
    return layout((f"def {name}", *brackets("(", group(*inside, Broken(",")), ")"), ":"), level, WIDTH)


def _statement(node: ast.stmt, source: str) -> Parts:
    match node:
        case ast.Expr(value=value):
            return _last(value, source)
        case ast.Assign(targets=[target], value=value):
            return (*_target(target, source), " = ", *_last(value, source))
        case ast.Return(value=None):
            return ("return",)
        case ast.Return(value=ast.expr() as value):
            return ("return ", *_last(value, source))
        case ast.Delete(targets=targets):
            names = joined((",", SPACE), [expression(target, source) for target in targets])
            return ("del ", *_optional_parentheses(names, () if len(targets) == 1 else (Broken(","),)))
    raise AssertionError(f"the generator prints no such statement: {source}")


def _target(node: ast.expr, source: str) -> Parts:
    """The left side of an assignment: breaks only where the right side cannot help."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return _optional_parentheses(items(node.elts, source), (Broken(","),))
    return expression(node, source)


def _last(node: ast.expr, source: str) -> Parts:
    """The last expression of a statement, which may get parentheses where it breaks."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return _optional_parentheses(items(node.elts, source), (Broken(","),))
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:  # the formatters would sooner break the last operand
        return joined((" or ",), [expression(value, source) for value in node.values])
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare):
        return _optional_parentheses((group(*expression(node, source, inside=True)),), ())
    return expression(node, source)


def _optional_parentheses(inside: Parts, comma: Parts) -> Parts:
    return (group(Broken("("), indent(SOFT, *inside, *comma), SOFT, Broken(")")),)
