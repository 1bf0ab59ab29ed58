"""What an operator does besides computing: what it writes, whether it launches, draws or makes the host wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from streamsched.dsl.trace.model import OpKind
from streamsched.dsl.trace.tracing.assembly.storages import same_memory
from streamsched.dsl.trace.tracing.assembly.unsaid_writes import may_write, unsaid_writes

_ALLOCATE = frozenset(
    [
        "aten::empty",
        "aten::empty_like",
        "aten::new_empty",
        "aten::empty_strided",
        "aten::new_empty_strided",
        "aten::empty_permuted",
    ]
)
_ALIAS_OR_COPY = frozenset(
    [
        "aten::reshape",
        "aten::contiguous",
        "aten::to",
        "aten::flatten",
        "aten::type_as",
        "aten::reshape_as",
        "aten::ravel",
        "aten::sum_to_size",
        "aten::_reshape_alias",
    ]
)
"""Operators that return a view of their operand or a copy of it: which of both depends on strides that only the real
device has. Schemas cannot tell: many declare an alias that is always, or never, there."""

_METADATA = frozenset(
    [
        "aten::empty_like",
        "aten::zeros_like",
        "aten::ones_like",
        "aten::full_like",
        "aten::rand_like",
        "aten::randn_like",
        "aten::randint_like",
        "aten::new_empty",
        "aten::new_empty_strided",
        "aten::new_zeros",
        "aten::new_ones",
        "aten::new_full",
    ]
)
"""Operators that look at their operand's shape and dtype, and not at its data."""

_DROPOUT = frozenset(
    [
        "aten::dropout",
        "aten::feature_dropout",
        "aten::alpha_dropout",
        "aten::feature_alpha_dropout",
        "aten::dropout_",
        "aten::feature_dropout_",
        "aten::alpha_dropout_",
        "aten::feature_alpha_dropout_",
    ]
)
_RANDOM_SWITCHES = {"train": False, "training": False, "dropout_p": 0.0, "dropout": 0.0, "p": 0.0}
"""Arguments that turn an operator's randomness off, by the value that does it."""

_ASSERTS = frozenset(
    [
        "aten::_assert_tensor_metadata",
        "aten::_assert_scalar",
        "aten::_assert_async",
        "aten::sym_constrain_range",
        "aten::sym_constrain_range_for_size",
        "aten::_functional_assert_async",
        "aten::_functional_assert_scalar",
    ]
)
_HOST_READS = frozenset(
    ["aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal", "aten::nonzero_numpy"]
)


def base_name(target: Any) -> str:
    """The operator without its overload: "aten::add"."""
    return str(target._schema.name)


def operands(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[torch.Argument, Any]]:
    """Each given argument of a call with its place in the schema."""
    for index, argument in enumerate(target._schema.arguments):
        if index < len(args):
            yield argument, args[index]
        elif argument.name in kwargs:
            yield argument, kwargs[argument.name]


def argument_values(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, defaults included."""
    values = {a.name: a.default_value for a in target._schema.arguments if a.has_default_value()}
    values.update((argument.name, value) for argument, value in operands(target, args, kwargs))
    return values


def is_written(argument: torch.Argument) -> bool:
    """Whether the schema says that the operator writes this argument."""
    return argument.alias_info is not None and bool(argument.alias_info.is_write)


def written(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[str]:
    """The names of the parameters that a call writes, those of which the schema says nothing among them."""
    said = frozenset(argument.name for argument in target._schema.arguments if is_written(argument))
    name = base_name(target)
    return said.union(unsaid_writes(name, argument_values(target, args, kwargs))) if may_write(name) else said


def is_assert(target: Any) -> bool:
    """Whether an operator only checks something."""
    return base_name(target) in _ASSERTS


def is_idle_dropout(target: Any, values: dict[str, Any]) -> bool:
    """Whether this is a dropout that returns its operand: in evaluation mode, or with p = 0."""
    return base_name(target) in _DROPOUT and (values.get("train") is False or values.get("p") == 0)


def looks_at_metadata(target: Any) -> bool:
    """Whether an operator reads none of its operand's data."""
    return isinstance(target, torch._ops.OpOverload) and base_name(target) in _METADATA


def changes_only_metadata(target: Any) -> bool:
    """Whether an operator changes shape and strides of its operand in place, and no data: `unsqueeze_`."""
    return torch.Tag.inplace_view in target.tags or base_name(target) == "aten::detach_"


def is_random(target: Any, values: dict[str, Any]) -> bool:
    """Whether this call draws random numbers."""
    if torch.Tag.nondeterministic_seeded not in target.tags:
        return False
    return not any(name in values and values[name] == off for name, off in _RANDOM_SWITCHES.items())


def is_sized_by_data(size: Any) -> bool:
    """Whether a size is known only when the ops before have run."""
    return type(size) is not int and bool(free_unbacked_symbols(size))


def allocates(target: Any) -> bool:
    """Whether an operator allocates memory and launches nothing."""
    return base_name(target) in _ALLOCATE


def may_alias_or_copy(
    target: Any, values: dict[str, Any], before: torch.Tensor | None, after: Any, casts: bool = False
) -> bool:
    """Whether the result is a view of the operand or a copy, depending on the device's strides; or on the dtypes, where
    autocast `casts` what was computed before."""
    if base_name(target) not in _ALIAS_OR_COPY or values.get("copy") is True:
        return False
    if not isinstance(before, torch.Tensor) or not isinstance(after, torch.Tensor):
        return False
    return (casts or before.dtype == after.dtype) and before.device == after.device


def depends_on_data(target: Any) -> bool:
    """Whether an operator gives the host what only the data tells: a number, or a size."""
    tags = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
    return base_name(target) in _HOST_READS or any(tag in target.tags for tag in tags)


def makes_host_wait(target: Any, values: dict[str, Any], given: list[Operand], results: list[Any]) -> bool:
    """Whether the host waits for the result: to read it, or to know how large it is."""
    if base_name(target) in _HOST_READS or torch.Tag.data_dependent_output in target.tags:
        return True
    made = [result for result in results if isinstance(result, torch.Tensor)]
    taken = [operand.tensor for operand in given if isinstance(operand.tensor, torch.Tensor)]
    known = {str(size) for tensor in taken for size in tensor.shape}
    if any(is_sized_by_data(size) and str(size) not in known for tensor in made for size in tensor.shape):
        return True
    to_host = any(tensor.device.type == "cpu" for tensor in made) and values.get("non_blocking") is not True
    return to_host and any(tensor.device.type != "cpu" for tensor in taken)


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor among an operator's arguments. `out` tells that it is written and not read."""

    tensor: Any
    written: bool
    out: bool
    alias_set: frozenset[str]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a result lies: in the memory of some operands, in memory of its own, or either.

    `same` is the operand that the result is, as a Python object; None where it is a new one.
    """

    operands: tuple[int, ...]
    fresh: bool
    same: int | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call does: `placements` has one entry for each tensor of the result."""

    kind: OpKind
    random: bool
    host_sync: bool
    placements: tuple[Placement, ...]


def analyse(
    target: Any, values: dict[str, Any], given: list[Operand], results: list[Any], casts: bool = False
) -> Effect:
    """The effect of calling `target` with arguments `values`, of which `given` are the tensors, giving `results`;
    `casts` tells that autocast may have cast what was computed before, which the tensors do not show."""
    if is_idle_dropout(target, values):
        return Effect(OpKind.VIEW, False, False, (Placement((0,), False, 0),))
    placements = tuple(_place(target, values, given, index, result, casts) for index, result in enumerate(results))
    random = is_random(target, values)
    waits = makes_host_wait(target, values, given, results)
    writes = any(operand.written for operand in given) and not changes_only_metadata(target)
    idle = bool(placements) and not any(p.fresh for p in placements) and not (writes or random or waits)
    kind = OpKind.ALLOCATE if allocates(target) else OpKind.VIEW if idle else OpKind.KERNEL
    return Effect(kind, random, waits, placements)


def _place(
    target: Any, values: dict[str, Any], given: list[Operand], index: int, result: Any, casts: bool
) -> Placement:
    if not isinstance(result, torch.Tensor):
        return Placement((), False, None)
    shared = [i for i, operand in enumerate(given) if same_memory(operand.tensor, result)]
    returns = target._schema.returns
    info = returns[index].alias_info if index < len(returns) else None
    sets = frozenset(info.before_set) if info is not None and info.is_write else frozenset()
    same = next((i for i, operand in enumerate(given) if operand.written and operand.alias_set & sets), None)
    if same is not None:
        return Placement((same,), False, same)
    if given and may_alias_or_copy(target, values, given[0].tensor, result, casts):
        return Placement((0,), True, None)
    return Placement(tuple(shared), not shared, None)
