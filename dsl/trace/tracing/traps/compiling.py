"""What the user's Python is told when it asks whether it is being compiled."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import FrameType, FunctionType, ModuleType

import torch

from streamsched.dsl.trace.tracing.frames import Internals

Question = Callable[[], bool]


@contextlib.contextmanager
def answered(internals: Internals, compiling: bool, asked: Callable[[FrameType], None]) -> Iterator[None]:
    """As `told`, for a model of which torch.compile compiles parts: the branches of a torch.cond."""
    _settle()
    _forget_modules()
    torch._dynamo.reset()  # it would take the branches of a torch.cond for those of one that it has seen before
    try:
        with told(internals, compiling, asked):
            yield
    finally:
        torch._dynamo.reset()  # what it compiled with these answers
        _settle()
        _forget_modules()


@contextlib.contextmanager
def told(internals: Internals, compiling: bool, asked: Callable[[FrameType], None]) -> Iterator[None]:
    """Answer `compiling` to other people's code than torch's while the context lasts, and tell `asked` who asks."""
    from torch._dynamo.variables.functions import invoke_and_store_as_constant

    def replacement(question: Question) -> Question:
        def ask() -> bool:
            frame = sys._getframe(1)
            if frame.f_code is invoke_and_store_as_constant.__code__:
                return True  # torch.compile asks for what it traces: a branch of torch.cond
            if frame.f_code.co_filename in internals:
                return question()
            asked(frame)
            return compiling

        # What torch.compile does not look into: it would stumble over the frames.
        constant: Question = torch._dynamo.assume_constant_result(ask)  # type: ignore[no-untyped-call]
        return constant

    replaced = {question: replacement(question) for question in _questions()}
    places = list(_places(replaced))
    for module, name, question in places:
        setattr(module, name, replaced[question])
    try:
        yield
    finally:
        for module, name, question in places:
            setattr(module, name, question)


def _questions() -> tuple[Question, ...]:
    compiler = torch.compiler
    return (
        compiler.is_compiling,
        compiler.is_dynamo_compiling,
        compiler.is_exporting,
        torch._utils.is_compiling,
        torch._dynamo.external_utils.is_compiling,
    )


def _places(questions: dict[Question, Question]) -> Iterator[tuple[ModuleType, str, Question]]:
    """Where the functions can be found: in torch's public modules, and wherever they were imported from there."""
    public = ("torch.compiler", "torch._utils", "torch._dynamo")
    modules: dict[str, object] = dict(sys.modules)  # some stand for modules that are not there
    for path, module in modules.items():
        if isinstance(module, ModuleType) and (path in public or not path.startswith("torch.")):
            for name, value in list(vars(module).items()):
                if type(value) is FunctionType and value in questions:
                    yield module, name, value


def know_the_true_functions() -> None:
    """Let torch.compile learn torch's functions before there are stand-ins for some: it learns them only once.

    Later it could only learn them again, and would forget what torch_npu taught it when it was imported.
    """
    from torch._dynamo.trace_rules import get_torch_obj_rule_map, is_numpy
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable, tracing_state_functions
    from torch._dynamo.variables.user_defined import UserDefinedObjectVariable

    for learn in (get_torch_obj_rule_map, tracing_state_functions, TorchInGraphFunctionVariable._get_handlers):
        learn()
    UserDefinedObjectVariable._supported_random_functions()
    is_numpy(None)


def forget_stand_ins() -> None:
    """Let torch.compile learn torch's functions again where it met stand-ins for some.

    torch has it do so itself, whenever a process group is made; that may be while there are stand-ins.
    """
    from torch._dynamo import trace_rules

    if torch.cuda.current_stream not in trace_rules.get_torch_obj_rule_map():
        trace_rules.clear_lru_cache()


def _settle() -> None:
    """Let torch.compile know the true functions: it knows them by identity, and learns them only once."""
    from torch._dynamo.trace_rules import get_torch_obj_rule_map
    from torch._dynamo.variables.torch import TorchInGraphFunctionVariable, tracing_state_functions

    true = torch.compiler.is_dynamo_compiling
    for known in (get_torch_obj_rule_map, tracing_state_functions, TorchInGraphFunctionVariable._get_handlers):
        if true not in known():
            known.cache_clear()
            known()


def _forget_modules() -> None:
    """Let torch.compile look modules up anew: another model may live in a file of the same name.

    It keeps each module that it has met in a cache, and under an alias among the globals of the function that it was
    asked to compile, which for torch.cond is torch's own.
    """
    from torch._dynamo.symbolic_convert import _import_module

    _import_module.cache_clear()
    modules: dict[str, object] = dict(sys.modules)
    for path, module in modules.items():
        if path.startswith("torch.") and isinstance(module, ModuleType):
            for alias in [name for name in vars(module) if name.startswith("__import_")]:
                delattr(module, alias)
