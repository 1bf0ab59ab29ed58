"""The statements of one function, from its source: which one a position belongs to, and the names it binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_VIEWS = frozenset(
    [
        "view",
        "T",
        "mT",
        "H",
        "mH",
        "data",
        "real",
        "t",
        "transpose",
        "permute",
        "narrow",
        "select",
        "squeeze",
        "unsqueeze",
        "diagonal",
        "unfold",
        "expand",
        "view_as",
        "flatten",
        "detach",
        "movedim",
        "swapaxes",
        "swapdims",
    ]
)
_DRIVERS = frozenset(
    [
        "sum",
        "map",
        "list",
        "tuple",
        "set",
        "dict",
        "sorted",
        "max",
        "min",
        "any",
        "all",
        "reduce",
        "prod",
        "next",
        "accumulate",
        "deque",
        "zip",
        "filter",
    ]
)
_DRIVER_MODULES = frozenset({"functools", "itertools", "math", "builtins"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True, slots=True)
class SourceStatement:
    """A statement, or the header of a compound one. Lines count from 1; columns are bytes from 0, as ast counts."""

    start: tuple[int, int]
    end: tuple[int, int]
    binds: tuple[str, ...]
    text: str
    repeats: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    """Expressions in which one execution may come by the same place more than once: comprehensions, `sum(...)`."""

    def may_repeat(self, start: tuple[int, int], end: tuple[int, int]) -> bool:
        """Whether coming back to the expression from `start` to `end` need not mean a new execution."""
        return any(first <= start and end <= last for first, last in self.repeats)


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """The statements of one function in the order of the text."""

    statements: tuple[SourceStatement, ...]

    def find(self, line: int, column: int) -> int | None:
        """The index of the smallest statement that holds the place (line from 1, column in bytes from 0)."""
        best: int | None = None
        for index, statement in enumerate(self.statements):
            if statement.start <= (line, column) < statement.end and (
                best is None or statement.start >= self.statements[best].start
            ):
                best = index
        return best


def function_source(text: str, name: str, first_line: int) -> FunctionSource:
    """The statements of the function called `name` whose code object starts at `first_line` of the file `text`.

    Empty where the text holds no such function (generated code, a file that changed since).
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return FunctionSource(())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name and _first_line(node) == first_line:
            names = _locals(node)
            return FunctionSource(tuple(_statements(node.body, text, names)))
    return FunctionSource(())


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


@dataclass(frozen=True, slots=True)
class _Locals:
    """The names of a function; `receiver` is its first parameter, `self`."""

    names: frozenset[str]
    receiver: str


def _locals(function: ast.FunctionDef) -> _Locals:
    arguments = function.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    others = [a.arg for a in (*arguments.kwonlyargs, arguments.vararg, arguments.kwarg) if a is not None]
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return _Locals(frozenset([*positional[1:], *others, *stored]), positional[0] if positional else "")


def _statements(body: list[ast.stmt], text: str, names: _Locals) -> Iterator[SourceStatement]:
    for statement in body:
        blocks = list(_blocks(statement))
        if not blocks:
            yield _describe(statement, _end(statement), text, names)
            continue
        yield _describe(statement, max(map(_end, _header(statement)), default=_start(statement)), text, names)
        for block in blocks:
            yield from _statements(block, text, names)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement; none for a simple one and for a nested def, whose body runs elsewhere."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for block in [getattr(statement, field, None)]:
            if not isinstance(block, list) or not block:
                continue
            if isinstance(block[0], ast.excepthandler | ast.match_case):
                for inner in block:
                    yield inner.body
            else:
                yield block


def _start(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _describe(statement: ast.stmt, end: tuple[int, int], text: str, names: _Locals) -> SourceStatement:
    binds = tuple(dict.fromkeys(_binds(statement, names)))
    repeats = tuple((_start(node), _end(node)) for node in _header(statement) if _is_repeating(node))
    return SourceStatement(_start(statement), end, binds, _one_line(statement, text), repeats)


def _one_line(statement: ast.stmt, text: str) -> str:
    """The statement's source with whitespace collapsed; of a compound statement the header alone."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return f"def {statement.name}" if not isinstance(statement, ast.ClassDef) else f"class {statement.name}"
    if any(_blocks(statement)):
        return ast.unparse(statement).splitlines()[0]
    segment = ast.get_source_segment(text, statement) or ""
    if not segment or "#" in segment or "\\" in segment:
        segment = ast.unparse(statement)
    return " ".join(segment.split())


def _header(statement: ast.stmt) -> Iterator[ast.expr]:
    """Every expression that runs as part of the statement itself: not its blocks, nor what lambdas hold."""
    stack: list[ast.AST] = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.expr):
            yield node
        if not isinstance(node, ast.Lambda | ast.excepthandler | ast.match_case):
            stack.extend(ast.iter_child_nodes(node))


def _binds(statement: ast.stmt, names: _Locals) -> Iterator[str]:
    if isinstance(statement, ast.Return):
        yield "return"
    for target in _targets(statement):
        yield from _target_names(target, names)
    for node in sorted(_header(statement), key=_start):
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        elif isinstance(node, ast.Call):
            yield from _updated(node, names)


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    if isinstance(statement, ast.AugAssign | ast.AnnAssign | ast.For):
        return [statement.target]
    if isinstance(statement, ast.With):
        return [item.optional_vars for item in statement.items if item.optional_vars is not None]
    return []


def _target_names(target: ast.expr, names: _Locals) -> Iterator[str]:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _target_names(element, names)
    elif isinstance(target, ast.Starred):
        yield from _target_names(target.value, names)
    elif isinstance(target, ast.Name):
        yield target.id
    else:
        yield from _base(target, names)


def _base(node: ast.expr, names: _Locals) -> Iterator[str]:
    """The local or attribute (`self.cache`) whose memory an expression names, through subscripts and views."""
    while True:
        if isinstance(node, ast.Subscript) or _is_view(node, names):
            node = node.value  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call) and _is_view(node.func, names):
            node = node.func.value  # type: ignore[attr-defined]
        else:
            break
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and (root.id in names.names or (root.id == names.receiver and root is not node)):
        yield ast.unparse(node)


def _is_view(node: ast.expr, names: _Locals) -> bool:
    """Whether an expression is an attribute with the name of a view; what the receiver calls so is its own."""
    if not isinstance(node, ast.Attribute) or node.attr not in _VIEWS:
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id == names.receiver)


def _updated(call: ast.Call, names: _Locals) -> Iterator[str]:
    """The names that a call updates in place: `x.add_(y)`, `torch.relu_(x)`, `out=x`, `inplace=True`."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    in_place = name.endswith("_") and not name.endswith("__")
    for keyword in call.keywords:
        if keyword.arg == "out":
            outs = keyword.value.elts if isinstance(keyword.value, ast.Tuple | ast.List) else [keyword.value]
            for out in outs:
                yield from _base(out, names)
        if keyword.arg == "inplace" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True:
            in_place = True
    if not in_place:
        return
    if _is_function(function, names):
        for operand in call.args[:1]:
            yield from _base(operand, names)
    elif isinstance(function, ast.Attribute):
        yield from _base(function.value, names)


def _is_function(function: ast.expr, names: _Locals) -> bool:
    """Whether a called expression is a function of a module (`torch.relu_`), and no method of an object."""
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id not in names.names and function.id != names.receiver


def _is_repeating(node: ast.expr) -> bool:
    if isinstance(node, _COMPREHENSIONS):
        return True
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        owner = node.func.value
        return isinstance(owner, ast.Name) and owner.id in _DRIVER_MODULES and node.func.attr in _DRIVERS
    return isinstance(node.func, ast.Name) and node.func.id in _DRIVERS
