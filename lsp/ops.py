"""Ops of a trace in words: what they are, the shapes of their results, and how much memory these take."""

from __future__ import annotations

from collections.abc import Sequence

from streamsched.dsl.trace.model import Op, OpKind, StorageKind, Trace, refs

SHOWN = 8
"""How many ops are listed one by one."""


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 op`, `2 ops`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def table(trace: Trace, selection: Sequence[int]) -> str:
    """The ops of a selection as a Markdown table, the first ones of many."""
    rows = ["| op | target | result |", "|---|---|---|"]
    rows += [_row(trace, trace.ops[op]) for op in selection[:SHOWN]]
    if len(selection) > SHOWN:
        rows.append(f"| ... | {counted(len(selection) - SHOWN, 'more op')} | |")
    return "\n".join(rows)


def summary(trace: Trace, selection: Sequence[int]) -> str:
    """How many ops, how many of them launch a kernel, and the memory that they allocate."""
    kernels = sum(trace.ops[op].kind is OpKind.KERNEL for op in selection)
    what = f"{counted(len(selection), 'op')}, {counted(kernels, 'kernel')}"
    fresh = {storage for op in selection for storage in made_by(trace, trace.ops[op])}
    sizes = [trace.storages[storage].nbytes for storage in fresh]
    total = sum(size for size in sizes if isinstance(size, int) and size > 0)
    return f"{what}, {_bytes(total)} allocated" if total else what


def made_by(trace: Trace, op: Op) -> set[int]:
    """The storages that the op's results are the first to lie in."""
    results = {storage for value in refs(op.result) for storage in trace.values[value].storages}
    return {
        storage
        for storage in results
        if storage in op.writes and storage not in op.reads and trace.storages[storage].kind is StorageKind.OP
    }


def _row(trace: Trace, op: Op) -> str:
    results = ", ".join(shape(trace, value) for value in refs(op.result))
    return f"| `{op.name}` | `{op.target.removesuffix('.default')}` | {results and f'`{results}`'} |"


def shape(trace: Trace, value: int) -> str:
    """A value's dtype and shape: `bfloat16[16, 64]`."""
    found = trace.values[value]
    return f"{found.dtype}[{', '.join(map(str, found.shape))}]"


def _bytes(number: int) -> str:
    size = float(number)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
