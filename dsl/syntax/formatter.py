"""Schedule to text, in the canonical form.

One statement begins on a line and goes on with the next where it is longer than 100 columns. Of the author's layout
the groups of lines and the comments are kept: at most one blank line between statements, a comment on its own line
before a statement or behind it. A comment inside a statement moves to the line before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from streamsched.dsl.syntax.tree import (
    BeforeStatement,
    Comment,
    CostStatement,
    DeviceFileStatement,
    DeviceStatement,
    DifferenceSelector,
    EdgeStatement,
    FakesStatement,
    GraphsStatement,
    GroupSelector,
    GroupStatement,
    HoldingStatement,
    IndexSelector,
    InputsFromStatement,
    InputSpec,
    InputStatement,
    IntersectionSelector,
    LeafStatement,
    LineSelector,
    MemoryStatement,
    ModelStatement,
    ModuleSelector,
    Name,
    NodeSelector,
    OpSelector,
    OwnDeviceStatement,
    PlacementStatement,
    RangeSelector,
    Schedule,
    ScheduleStatement,
    ScopeStatement,
    Selector,
    Statement,
    StreamStatement,
    SyncStatement,
    TargetStatement,
    TraceStatement,
    UnionSelector,
    ValueSelector,
    WorldStatement,
)

WIDTH = 100
"""How many columns a line may have."""

_INDENT = "    "
_NAME = re.compile(r"(?!(?:on|before)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")
# The spaces that may become newlines: those behind what lets a statement go on. Strings are skipped.
_BREAK = re.compile(r'"(?:[^"\\]|\\.)*"|(?<=[,|&={-]) |(?<=->) |(?<=\.\.) ')

# How tightly selectors bind. An operand that binds less tightly than its place demands stands in parentheses.
_SUM, _PRODUCT, _RANGE, _INDEX = range(4)


def format_schedule(schedule: Schedule) -> str:
    """The canonical text of `schedule`, with its comments."""
    lines: list[str] = []
    previous: _Block | None = None
    for block in _blocks(schedule):
        if previous is not None and block.first > previous.last + 1:
            lines.append("")
        lines += block.lines
        previous = block
    return "".join(f"{line}\n" for line in lines)


def format_statement(statement: Statement) -> str:
    """The canonical text of one statement, on one line."""
    match statement:
        case ScheduleStatement(name):
            return f"schedule {name.text}"
        case ModelStatement(file, attribute):
            return f"model {_string(f'{file}:{attribute}')}"
        case ScopeStatement(glob, class_name):
            return f"scope {_string(glob)}" + (f" class {class_name.text}" if class_name else "")
        case InputStatement(specs):
            return f"input {', '.join(map(_spec, specs))}"
        case InputsFromStatement(file, attribute):
            return f"inputs from {_string(f'{file}:{attribute}')}"
        case LeafStatement(glob, shape):
            return f"leaf {_string(glob)}" + (f" from {_string(':'.join(shape))}" if shape else "")
        case FakesStatement(file):
            return f"fakes {_string(file)}"
        case TargetStatement(name):
            return f"target {name.text}"
        case DeviceStatement(name):
            return f"device {name.text}"
        case OwnDeviceStatement(name, numbers):
            return f"device {name.text} {{ {', '.join(f'{word} {number}' for word, number in numbers)} }}"
        case DeviceFileStatement(path):
            return f"device {_string(path)}"
        case SyncStatement(mode):
            return f"sync {mode}"
        case MemoryStatement(mode):
            return f"memory {mode}"
        case TraceStatement(mode):
            return f"trace {mode}"
        case WorldStatement(ranks):
            return f"world {ranks}"
        case GraphsStatement(count):
            return f"graphs {count}"
        case CostStatement(group, microseconds):
            return f"cost {group.text} = {_duration(microseconds)}"
    return _about_groups(statement)


def _about_groups(
    statement: StreamStatement
    | GroupStatement
    | PlacementStatement
    | EdgeStatement
    | BeforeStatement
    | HoldingStatement,
) -> str:
    match statement:
        case StreamStatement(names):
            return f"stream {_names(names)}{_limits(statement)}"
        case GroupStatement(name, selector):
            return f"group {name.text} = {format_selector(selector)}"
        case PlacementStatement(selectors, stream):
            return f"{_selectors(selectors)} on {stream.text}"
        case EdgeStatement(stages):
            return " -> ".join(map(_selectors, stages))
        case BeforeStatement(stages):
            return " before ".join(map(_selectors, stages))
        case HoldingStatement(kind, selectors):
            cores = _cores(statement)
            return f"{kind} {_selectors(selectors)}" + (f" {cores}" if cores else "")


def format_selector(selector: Selector) -> str:
    """The canonical text of `selector`, with the parentheses that it needs and no others."""
    return _operand(selector, _SUM)


def _operand(selector: Selector, place: int) -> str:
    """The text of `selector` where nothing that binds less tightly than `place` may stand bare."""
    text, binds = _operation(selector)
    return text if binds >= place else f"({text})"


def _operation(selector: Selector) -> tuple[str, int]:
    match selector:
        case UnionSelector(left, right):
            return f"{_operand(left, _SUM)} | {_operand(right, _PRODUCT)}", _SUM
        case DifferenceSelector(left, right):
            return f"{_operand(left, _SUM)} - {_operand(right, _PRODUCT)}", _SUM
        case IntersectionSelector(left, right):
            return f"{_operand(left, _PRODUCT)} & {_operand(right, _RANGE)}", _PRODUCT
        case RangeSelector(first, last):
            return f"{_operand(first, _INDEX)} .. {_operand(last, _INDEX)}", _RANGE
        case IndexSelector(operand):
            return f"{_operand(operand, _INDEX)}[{_index(selector)}]", _INDEX
        case _:
            return _primary(selector), _INDEX


def _primary(
    selector: ModuleSelector | OpSelector | ValueSelector | NodeSelector | LineSelector | GroupSelector,
) -> str:
    match selector:
        case ModuleSelector(glob):
            return f"module {_string(glob)}"
        case OpSelector(glob):
            return f"op {_string(glob)}"
        case NodeSelector(name):
            return f"node {_string(name)}"
        case LineSelector(file, first, last):
            return f"line {_string(f'{file}:{first}' if first == last else f'{file}:{first}-{last}')}"
        case GroupSelector(name):
            return name
        case ValueSelector(names, braces):
            if not braces:
                return f"value {_string(names[0].text)}"
            listed = (name.text if _NAME.match(name.text) else _string(name.text) for name in names)
            return f"value {{ {', '.join(listed)} }}"


def _index(selector: IndexSelector) -> str:
    start, stop = ("" if bound is None else str(bound) for bound in (selector.start, selector.stop))
    return f"{start}:{stop}" if selector.slice else start


def _selectors(selectors: tuple[Selector, ...]) -> str:
    return ", ".join(map(format_selector, selectors))


def _names(names: tuple[Name, ...]) -> str:
    return ", ".join(name.text for name in names)


def _spec(spec: InputSpec) -> str:
    return f"{_names(spec.names)}: {spec.dtype}[{', '.join(map(str, spec.dims))}]"


def _limits(stream: StreamStatement) -> str:
    options = [] if stream.priority is None else [f"priority {stream.priority}"]
    options += filter(None, [_cores(stream)])
    return f" {{ {'; '.join(options)} }}" if options else ""


def _cores(limited: StreamStatement | HoldingStatement) -> str:
    """`cores aic N, aiv N`; empty where there is no limit."""
    given = [f"{word} {number}" for word, number in (("aic", limited.aic), ("aiv", limited.aiv)) if number is not None]
    return f"cores {', '.join(given)}" if given else ""


def _duration(microseconds: float) -> str:
    digits = f"{Decimal(repr(microseconds)):f}"
    return f"{digits.removesuffix('.0')}us"


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of output, and the lines of the author's text that they stand for."""

    lines: tuple[str, ...]
    first: int
    last: int


def _blocks(schedule: Schedule) -> list[_Block]:
    """The statements and comments of `schedule` in the order in which they are printed."""
    blocks: list[_Block] = []
    comments = list(reversed(schedule.comments))  # the next one last
    for statement in schedule.statements:
        span = statement.span
        while comments and comments[-1].span < span:
            blocks.append(_comment_block(comments.pop()))
        while comments and comments[-1].span < span.end:
            blocks.append(_Block((comments.pop().text,), span.line, span.line))
        lines = wrap(format_statement(statement))
        if comments and not comments[-1].own_line and comments[-1].span.line == span.end_line:
            lines[-1] += f"  {comments.pop().text}"
        blocks.append(_Block(tuple(lines), span.line, span.end_line))
    blocks += [_comment_block(comment) for comment in reversed(comments)]
    return blocks


def _comment_block(comment: Comment) -> _Block:
    return _Block((comment.text,), comment.span.line, comment.span.line)


def wrap(line: str) -> list[str]:
    """Break the text of a statement into lines of at most `WIDTH` columns, where it can be broken."""
    lines: list[str] = []
    start = 0  # of the line at hand
    fits = 0  # the last break that leaves it short enough
    indent = ""
    for match in _BREAK.finditer(line):
        if match[0] != " ":
            continue
        if fits > start and len(indent) + match.start() - start > WIDTH:
            lines.append(indent + line[start:fits])
            start, indent = fits + 1, _INDENT
        fits = match.start()
    if fits > start and len(indent) + len(line) - start > WIDTH:
        lines.append(indent + line[start:fits])
        start, indent = fits + 1, _INDENT
    return [*lines, indent + line[start:]]
