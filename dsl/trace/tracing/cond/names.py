"""What the user calls the branches of `torch.cond`, and their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

_CODE = torch.cond.__code__


@dataclass(frozen=True, slots=True)
class Names:
    """What the user calls a branch, and its parameters by the place of the operand that they are given."""

    function: str
    parameters: Mapping[int, str]


UNKNOWN = (Names("true_fn", {}), Names("false_fn", {}))
"""The names in a branch of another."""


def names(frame: FrameType | None, operands: tuple[Any, ...]) -> tuple[Names, Names]:
    """The names of both branches of the running `torch.cond`, which `operands` are lifted from."""
    while frame is not None and frame.f_code is not _CODE:
        frame = frame.f_back
    if frame is None:
        return UNKNOWN
    held = frame.f_locals
    return _names("true_fn", held, operands), _names("false_fn", held, operands)


def _names(argument: str, held: Mapping[str, Any], operands: tuple[Any, ...]) -> Names:
    function = held[argument]
    name = getattr(function, "__name__", "")
    code = getattr(function, "__code__", None)
    words = code.co_varnames[: code.co_argcount] if code is not None else ()
    if hasattr(function, "__self__"):
        words = words[1:]
    places = {id(operand): place for place, operand in enumerate(operands)}
    given = {places[id(each)]: word for word, each in zip(words, held["operands"], strict=False) if id(each) in places}
    return Names(name if name.isidentifier() else argument, given)
