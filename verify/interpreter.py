"""The ops of a program run one by one on the CPU, in an order that the device might have chosen.

Each op runs as the trace has it. A value that is read before the op that makes it has run is garbage (NaN), and so is a
block that got a new owner while somebody still used it: where the plan lacks a sync, numbers differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch

from streamsched.dsl.program.steps import Program, StepKind
from streamsched.dsl.trace import model
from streamsched.dsl.trace.model import COND, LEAF, NONE, Op, OpKind, Trace, refs
from streamsched.verify.environment import (
    Environment,
    bind,
    buffers,
    by_storage,
    copied,
    fixed,
    garbage,
    literal,
    spoil,
)
from streamsched.verify.orders import StreamOrder, execution
from streamsched.verify.sizes import sizes_of
from streamsched.verify.tasks import Task


class Interpreter:
    """Runs the tasks of several calls. State that outlives a call (inputs' buffers, parameters) is shared by all.

    `root` is the module that the trace is of; `arguments` are those of each call, by the names of its forward().
    """

    def __init__(self, program: Program, root: torch.nn.Module, arguments: Sequence[Mapping[str, Any]] = ()) -> None:
        assert program.trace is not None
        self.program = program
        self.trace: Trace = program.trace
        self._root = root
        self._arguments = arguments
        self._fixed = fixed(self.trace, root)
        self._reached = {
            index: value.expression
            for index, value in enumerate(self.trace.values)
            if value.producer == NONE and index not in {*self._fixed, *self.trace.inputs}
        }
        self.buffers: list[Environment] = []  # by call
        self.sizes: list[dict[str, int]] = []  # of the dynamic dims, by call
        self.environments: dict[int, Environment] = {}
        self.outputs: dict[int, Any] = {}
        self.by_storage = by_storage(self.trace)

    def run(self, tasks: Sequence[Task], order: StreamOrder, inputs: Sequence[Environment]) -> list[Any]:
        """Run `tasks` in the order `order`; `inputs[call]` are the inputs of each call. Returns each call's outputs."""
        torch.manual_seed(0)  # random ops keep program order, so that they draw what the reference draws
        self.buffers = buffers(inputs)
        self.sizes = [sizes_of(self.trace, given) for given in inputs]
        self.environments = {call: self._held(call) | held for call, held in enumerate(self.buffers)}
        for index in execution(tasks, order):
            task = tasks[index]
            for call, free in task.overwrites:
                self._overwrite(call, self.program.steps[free].storage)
            step = self.program.steps[task.step]
            if step.kind is StepKind.ENTRY:
                for value, tensor in inputs[task.call].items():
                    self.buffers[task.call][value].copy_(tensor)
            elif step.kind is StepKind.EXIT:
                self.outputs[task.call] = copied(self._argument(self.trace.result, task.call))
            elif step.op != NONE and step.runs:
                self._launch(step.op, task.call)
        return [self.outputs[call] for call in range(len(inputs))]

    def run_serially(self, inputs: Sequence[Environment]) -> list[Any]:
        """Run every call's ops in program order, nothing freed: the reference."""
        torch.manual_seed(0)
        self.sizes = [sizes_of(self.trace, given) for given in inputs]
        self.environments = {
            call: self._held(call) | {value: tensor.clone() for value, tensor in given.items()}
            for call, given in enumerate(inputs)
        }
        found = []
        for call in range(len(inputs)):
            for index, op in enumerate(self.trace.ops):
                if op.kind is not OpKind.VIEW:
                    self._launch(index, call)
            found.append(copied(self._argument(self.trace.result, call)))
        return found

    def _held(self, call: int) -> Environment:
        """What is there before the first op: parameters and buffers, and what lies in objects that the caller gives."""
        names = self._names(call)
        given = {value: eval(text, names).clone() for value, text in self._reached.items()}  # the tracer's own
        return {**self._fixed, **given}

    def _launch(self, op: int, call: int) -> None:
        node = self.trace.ops[op]
        if node.target == LEAF:
            module = self.trace.calls[node.call]
            bind(module.result, self._leaf(module, call), self.environments[call])
        else:
            bind(node.result, self._call(node, call), self.environments[call])

    def _call(self, op: Op, call: int) -> Any:
        args = [self._argument(argument, call) for argument in op.args]
        if op.target == COND:
            predicate, when, otherwise, given = args
            return self._branch(when if predicate else otherwise, given, call)
        kwargs = {name: self._argument(argument, call) for name, argument in op.kwargs}
        return _function(op.target)(*args, **kwargs)

    def _branch(self, branch: model.Branch, given: Sequence[torch.Tensor], call: int) -> Any:
        """What a branch of `torch.cond` returns."""
        environment: Environment = dict(enumerate(given))
        for op in branch.ops:
            args = [self._argument(argument, call, environment) for argument in op.args]
            kwargs = {name: self._argument(argument, call, environment) for name, argument in op.kwargs}
            if op.target == COND:
                made = self._branch(args[1] if args[0] else args[2], args[3], call)
            else:
                made = _function(op.target)(*args, **kwargs)
            bind(op.result, made, environment)
        return self._argument(branch.result, call, environment)

    def _leaf(self, module: model.ModuleCall, call: int) -> Any:
        """What the module of a leaf returns."""
        args = [self._argument(argument, call) for argument in module.args]
        kwargs = {name: self._argument(argument, call) for name, argument in module.kwargs}
        return self._root.get_submodule(module.path)(*args, **kwargs)

    def _value(self, value: int, call: int) -> torch.Tensor:
        """What a value holds now; a view is taken of what its base holds now."""
        environment = self.environments[call]
        if value not in environment and self._is_held(value, environment):
            self._launch(self.trace.values[value].producer, call)
        if value not in environment:
            environment[value] = garbage(self.trace.values[value], self.sizes[call])
        return environment[value]

    def _is_held(self, value: int, environment: Environment) -> bool:
        """Whether a value is there, or a view of one that is."""
        producer = self.trace.values[value].producer
        if value in environment or producer == NONE or self.trace.ops[producer].kind is not OpKind.VIEW:
            return value in environment
        return any(self._is_held(v, environment) for arg in self.trace.ops[producer].args for v in refs(arg))

    def _argument(self, argument: model.Argument, call: int, inside: Environment | None = None) -> Any:
        """What an argument stands for; in a branch, whose values are `inside`."""
        match argument:
            case model.Ref(value):
                return self._value(value, call) if inside is None else inside[value]
            case model.Branch():
                return argument
            case model.Literal(text):
                return literal(text, self._names(call))
            case model.Sequence(kind, items):
                made = [self._argument(item, call, inside) for item in items]
                return slice(*made) if kind == "slice" else tuple(made) if kind == "tuple" else made
            case model.Mapping(keys, items):
                return {literal(k): self._argument(item, call, inside) for k, item in zip(keys, items, strict=True)}
            case model.Instance(_, fields, items):
                return {f: self._argument(item, call, inside) for f, item in zip(fields, items, strict=True)}
            case model.Opaque(text):
                raise NotImplementedError(f"an argument that has no value on the CPU: {text}")

    def _names(self, call: int) -> dict[str, Any]:
        """What a constant may be spelled with: the module's attributes, arguments that are passed on, dynamic dims."""
        given = self._arguments[call] if self._arguments else {}
        return {**given, **self.sizes[call], "torch": torch, "self": self._root}

    def _overwrite(self, call: int, storage: int) -> None:
        """The block of `storage` has a new owner, who has written to it."""
        for value in self.by_storage.get(storage, ()):
            tensor = self.environments[call].get(value)
            if tensor is not None and self.trace.values[value].storages == (storage,):
                spoil(tensor)


def _function(target: str) -> Callable[..., Any]:
    """The operator of that name, or what stands in for it where the CPU has no kernel for its dtypes."""
    if target == "aten.histc.default":
        return _histc
    namespace, packet, overload = target.split(".", 2)
    return cast("Callable[..., Any]", getattr(getattr(getattr(torch.ops, namespace), packet), overload))


def _histc(values: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return torch.histc(values.double(), *args, **kwargs).to(values.dtype)
