"""Python that draws random numbers or reads a clock: a trace holds what came of it once."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import random
import secrets
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import BuiltinMethodType, FrameType, ModuleType
from typing import Any

import torch

from streamsched.dsl.trace.tracing.frames import Internals
from streamsched.dsl.trace.tracing.leaves.ops import Leaves
from streamsched.dsl.trace.tracing.traps.asked import Asked

_METHODS = tuple((cls, name) for cls in (random.Random, random.SystemRandom) for name in ("random", "getrandbits"))
"""What all other methods of a generator draw with."""

_DRAWING = tuple(str(module.__file__) for module in (random, secrets, uuid))
"""The files of the standard library whose functions draw on behalf of their callers; others draw for themselves."""

_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_KEEPING = frozenset({"seed", "get_state", "set_state", "get_bit_generator", "set_bit_generator"})
"""Functions of numpy.random that draw nothing."""

_NUMPY_ALSO = frozenset({"ranf", "sample"})
"""Those that draw and are no methods of its generator of all. Generators of their own draw a seed of the system."""

_Function = Callable[..., Any]


@dataclass(slots=True)
class Chance:
    """Where random numbers were drawn and clocks read, and the names of numpy's generators that moved on."""

    drawn: Asked = field(default_factory=Asked)
    clock: Asked = field(default_factory=Asked)
    moved: list[str] = field(default_factory=list)


@contextlib.contextmanager
def watched(model: torch.nn.Module, leaves: Leaves, internals: Internals) -> Iterator[Chance]:
    """Note who draws and who reads a clock while the context lasts; what leaves do is their own affair."""
    chance = Chance()
    chance.drawn.begin(lambda: leaves.inside)
    chance.clock.begin(lambda: leaves.inside)

    def noting(asked: Asked) -> Callable[[FrameType], None]:
        def note(frame: FrameType) -> None:
            outer = _on_behalf_of(frame)
            # sympy, which torch reckons with sizes by, draws the order in which it looks at facts.
            if outer is not None and outer.f_globals.get("__name__", "").partition(".")[0] != "sympy":
                asked.note(outer, internals)

        return note

    draws = noting(chance.drawn)
    made = {function: _noting(function, draws) for function in _drawing_functions()}
    made |= {function: _noting(function, noting(chance.clock)) for function in clocks()}
    before = _states(model, leaves)
    with replaced(made), _methods(draws):
        yield chance
    after = _states(model, leaves)
    if not chance.drawn.places:
        chance.moved += [name for name, state in before.items() if after.get(name, state) != state]


def _on_behalf_of(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside of the files that draw for others; None for what Python calls by itself when it
    collects garbage, as those have it do who measure that."""
    collecting = [getattr(callback, "__code__", None) for callback in gc.callbacks]
    while frame is not None and frame.f_code not in collecting:
        if frame.f_code.co_filename not in _DRAWING:
            return frame
        frame = frame.f_back
    return None


def clocks() -> Iterator[_Function]:
    """The functions that read a clock."""
    for name in _CLOCKS:
        yield getattr(time, name)
        yield getattr(time, f"{name}_ns")


@contextlib.contextmanager
def replaced(functions: dict[_Function, _Function]) -> Iterator[None]:
    """Put other functions in place of these, wherever they can be found outside of torch, while the context lasts."""
    places = list(_places(functions))
    for module, name, function in places:
        setattr(module, name, functions[function])
    try:
        yield
    finally:
        for module, name, function in places:
            setattr(module, name, function)


def _places(functions: dict[_Function, _Function]) -> Iterator[tuple[ModuleType, str, _Function]]:
    kinds = {type(function) for function in functions}
    modules: dict[str, object] = dict(sys.modules)  # some stand for modules that are not there
    for path, module in modules.items():
        if isinstance(module, ModuleType) and not path.startswith("torch."):
            for name, value in list(vars(module).items()):
                if type(value) in kinds and value in functions:
                    yield module, name, value


def _noting(function: _Function, note: Callable[[FrameType], None]) -> _Function:
    tracing = threading.get_ident()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == tracing:
            note(sys._getframe(1))
        return function(*args, **kwargs)

    return call


@contextlib.contextmanager
def _methods(draws: Callable[[FrameType], None]) -> Iterator[None]:
    """Have each generator of Python's own tell `draws` who draws."""
    own = [(cls, name, vars(cls).get(name)) for cls, name in _METHODS]
    made = [_noting(getattr(cls, name), draws) for cls, name, _ in own]
    for (cls, name, _), noting in zip(own, made, strict=True):
        setattr(cls, name, noting)
    try:
        yield
    finally:
        for cls, name, function in own:
            if function is None:  # inherited
                delattr(cls, name)
            else:
                setattr(cls, name, function)


def _drawing_functions() -> Iterator[_Function]:
    """The functions that draw from a generator of all, Python's, the system's or numpy's."""
    bound = (value for value in vars(random).values() if type(value) is BuiltinMethodType)
    yield from (function for function in bound if function.__self__ is vars(random)["_inst"])
    yield os.urandom
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        of_all = numpy.mtrand._rand
        for name, value in vars(numpy).items():
            if name in _NUMPY_ALSO or (getattr(value, "__self__", None) is of_all and name not in _KEEPING):
                yield value


def _states(model: torch.nn.Module, leaves: Leaves) -> dict[str, str]:
    """The states of the generators of numpy's that modules and their files hold, by name."""
    numpy = sys.modules.get("numpy.random")
    if numpy is None:
        return {}
    kinds = (numpy.Generator, numpy.RandomState)
    holders: dict[str, dict[str, Any]] = {}
    for path, module in model.named_modules():
        if not leaves.holds(module):
            holders[f"self.{path}." if path else "self."] = vars(module)
            file = sys.modules.get(type(module).__module__)
            holders[""] = {**holders.get("", {}), **(vars(file) if file is not None else {})}
    found = ((f"{at}{name}", value) for at, held in holders.items() for name, value in held.items())
    return {name: repr(_state(value)) for name, value in found if isinstance(value, kinds)}


def _state(generator: Any) -> Any:
    return generator.get_state() if hasattr(generator, "get_state") else generator.bit_generator.state
