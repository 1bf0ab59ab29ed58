"""Branches that are taken by a tensor's device: a trace sees the meta device, and takes them as nobody else does."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType

_QUESTIONS = frozenset({"is_cuda", "is_cpu", "is_npu", "is_meta", "is_xpu", "is_mps"})

_TRACED = "meta"


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition on a device, in the file of `code`: lines from 1, columns in characters from 1, end exclusive."""

    code: CodeType
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def branches(code: CodeType, device: str) -> tuple[Branch, ...]:
    """The conditions in a function that a tensor on `device` (`npu`) answers otherwise than one on the meta device."""
    if not any("device" in name or name in _QUESTIONS for name in (*code.co_names, *code.co_varnames)):
        return ()
    return tuple(
        branch for branch, kinds in _conditions(code) if len({kind in kinds for kind in (device, _TRACED)}) > 1
    )


@cache
def _conditions(code: CodeType) -> tuple[tuple[Branch, frozenset[str]], ...]:
    """The comparisons with kinds of devices that stand in conditions, each with the kinds that it names."""
    try:
        lines, first = inspect.getsourcelines(code)
        text = textwrap.dedent("".join(lines))
        tree = ast.parse(text)
    except (OSError, TypeError, SyntaxError):
        return ()
    indent = len(lines[0]) - len(lines[0].lstrip())
    found: dict[Branch, frozenset[str]] = {}
    for test in _tests(tree):
        for node in ast.walk(test):
            kinds = _kinds(node)
            if kinds and isinstance(node, ast.expr):
                assert node.end_lineno is not None and node.end_col_offset is not None
                start, end = node.lineno + first - 1, node.end_lineno + first - 1
                columns = node.col_offset + indent + 1, node.end_col_offset + indent + 1
                found[Branch(code, start, columns[0], end, columns[1], ast.unparse(node))] = kinds
    return tuple(found.items())


def _tests(tree: ast.AST) -> Iterator[ast.expr]:
    """What decides: of `if`, `while`, `assert` and their like, and the left sides of `and` and `or`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.BoolOp):
            yield from node.values[:-1]


def _kinds(node: ast.AST) -> frozenset[str]:
    """The kinds of devices for which a part of a condition has another answer than for the rest; empty for others."""
    if isinstance(node, ast.Attribute) and node.attr in _QUESTIONS:
        return frozenset({node.attr.removeprefix("is_")})
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and _is_device(node.left):
        texts = [part.value for part in ast.walk(node.comparators[0]) if isinstance(part, ast.Constant)]
        return frozenset(text.partition(":")[0] for text in texts if isinstance(text, str))
    return frozenset()


def _is_device(node: ast.expr) -> bool:
    """Whether an expression is a device or its type: `x.device`, `device.type`, `str(x.device)`, `device_type`."""
    if isinstance(node, ast.Call):
        return any(map(_is_device, node.args))
    if isinstance(node, ast.Attribute):
        return node.attr == "device" or (node.attr == "type" and _names_device(node.value))
    return _names_device(node)


def _names_device(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return "device" in name
