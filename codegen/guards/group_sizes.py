"""How many ranks the process groups had that a generated forward communicates in: it has their number in its code."""

from __future__ import annotations

from collections.abc import Mapping

from streamsched.codegen.forward.folding import Folding
from streamsched.dsl.trace.model import NONE, Literal, Op, Sequence, Trace

_NAMESPACE = "_c10d_functional"
_SIZES = {"all_gather_into_tensor": 1, "all_gather_into_tensor_out": 1, "reduce_scatter_tensor": 2}
"""Where the op is given the number of ranks."""
_SPLITS = {"all_to_all_single": 1}
"""Where it is given one size for each rank."""


def group_sizes(trace: Trace, folding: Folding) -> Mapping[str, int]:
    """The numbers of ranks in the ops that are printed one by one, by the expressions that have them at run time."""
    found: dict[str, int] = {}
    for index, op in enumerate(trace.ops):
        if op.target.startswith(_NAMESPACE) and folding.call_of[index] == NONE:
            size, group = _size(op), op.args[-1] if op.args else None
            if size is not None and isinstance(group, Literal):
                found[_expression(group.text)] = size
    return found


def _size(op: Op) -> int | None:
    name = op.target.split(".")[1]
    if name in _SIZES:
        argument = op.args[_SIZES[name]]
        return int(argument.text) if isinstance(argument, Literal) and argument.text.isdecimal() else None
    splits = op.args[_SPLITS[name]] if name in _SPLITS else None
    return len(splits.items) or None if isinstance(splits, Sequence) else None


def _expression(name: str) -> str:
    """The size of the group that has a name: `self.tp_group.size()`."""
    if name.endswith(".group_name"):
        return f"{name.removesuffix('.group_name')}.size()"
    return f"torch.distributed.distributed_c10d._resolve_process_group({name}).size()"
