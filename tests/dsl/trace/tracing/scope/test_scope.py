"""Scopes over small models: which modules are one trace, and what is said of those that are not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from streamsched.dsl.diagnostic import Diagnostic, Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Literal, Ref, Trace
from streamsched.dsl.trace.request import ScopeRequest
from streamsched.dsl.trace.tracing.scope.match import Difference, Match, match
from streamsched.dsl.trace.tracing.scope.objects import with_objects

SCOPE_SPAN = Span("test.sched", 3, 1, 3, 20)


@pytest.fixture
def scoped(attempt: Callable[..., Traced]) -> Callable[..., Trace]:
    """The trace of the modules in scope, which must be one."""

    def run(source: str, glob: str, class_name: str = "", **inputs: Any) -> Trace:
        made = attempt(source, {"scope": ScopeRequest(glob, class_name, SCOPE_SPAN)}, **(inputs or {"x": (4, 8)}))
        assert made.trace is not None, made.diagnostics
        assert made.diagnostics == ()
        return made.trace

    return run


@pytest.fixture
def refused(attempt: Callable[..., Traced]) -> Callable[..., Diagnostic]:
    """The one finding that keeps the modules in scope from having a trace."""

    def run(source: str, glob: str, class_name: str = "", **inputs: Any) -> Diagnostic:
        made = attempt(source, {"scope": ScopeRequest(glob, class_name, SCOPE_SPAN)}, **(inputs or {"x": (4, 8)}))
        assert made.trace is None
        [found] = made.diagnostics
        return found

    return run


def model(forward: str, init: str = "self.w = nn.Linear(8, 8)", layers: int = 4, call: str = "x = layer(x)") -> str:
    """A model of layers; `init` and `forward` are statements of theirs, `i` is their number."""
    return f"""
class Layer(nn.Module):
    def __init__(self, i):
        super().__init__()
        {init}

    def forward(self, x, **kwargs):
        {forward}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer(i) for i in range({layers}))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            {call}
        return x
"""


def constants(trace: Trace, target: str) -> list[str]:
    return [
        argument.text
        for op in trace.ops
        if op.target == target
        for argument in op.args
        if isinstance(argument, Literal)
    ]


def test_one_trace_serves_all(scoped: Callable[..., Trace]) -> None:
    trace = scoped(model("return self.w(x).relu()"), "layers.*")
    assert trace.scope is not None
    assert trace.scope.instances == ("layers.0", "layers.1", "layers.2", "layers.3")
    assert [op.target for op in trace.ops] == ["aten.linear.default", "aten.relu.default"]
    assert [v.expression for v in trace.values if v.expression] == ["x", "self.w.weight", "self.w.bias"]
    assert [call.path for call in trace.calls] == ["", "w"]
    assert trace.root == "model:Layer"


def test_an_attribute_that_differs_is_spelled(scoped: Callable[..., Trace]) -> None:
    trace = scoped(model("return x * self.scale", "self.scale = 1 / (i + 1)"), "layers.*")
    assert constants(trace, "aten.mul.Tensor") == ["self.scale"]


def test_an_attribute_of_a_submodule_is_spelled(scoped: Callable[..., Trace]) -> None:
    init = "self.part = nn.Identity(); self.part.sizes = {'eps': [0, i + 0.5]}"
    trace = scoped(model("return x + self.part.sizes['eps'][1]", init), "layers.*")
    assert constants(trace, "aten.add.Tensor") == ['self.part.sizes["eps"][1]']


def test_a_constant_of_all_stays_one(scoped: Callable[..., Trace]) -> None:
    trace = scoped(model("return x * 2 + self.i", "self.i = i"), "layers.*")
    assert constants(trace, "aten.mul.Tensor") == ["2"]
    assert constants(trace, "aten.add.Tensor") == ["self.i"]


def test_of_one_type_and_value_in_every_module(refused: Callable[..., Diagnostic]) -> None:
    """`self.flag` is 1 and True, the constants are 1 and 1.0: equal for Python, and not the same."""
    found = refused(
        model("return x + float(i + 1)", "self.flag = i + 1; self.i = i").replace("(i +", "(self.i +"), "layers.*"
    )
    assert found.code == "SEL110"
    assert found.message == "modules in scope differ: a constant is 1.0 in `layers.0` and 2.0 in `layers.1`"


def test_a_constant_computed_on_the_way_is_refused(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return x * (1 / (1 + self.i))", "self.i = i", layers=3), "layers.*")
    assert found.message == "modules in scope differ: a constant is 1.0 in `layers.0` and 0.5 in `layers.1`"
    assert found.span == SCOPE_SPAN
    assert "no attribute that forward() reads holds it" in found.notes[0]
    assert [related.message for related in found.related] == ["op 1 of `layers.0`: `aten.mul.Tensor`"]


def test_an_attribute_that_is_equal_by_chance_is_refused(refused: Callable[..., Diagnostic]) -> None:
    """Nothing that runs reads `self.other`: not even the forward() that the class overrides."""
    source = model("return x * self.other", "self.i = i; self.other = (i + 1) * 0.5", layers=2) + (
        "\nclass Own(Layer):\n    def forward(self, x):\n        return x * ((self.i + 1) * 0.5)\n"
    )
    found = refused(source.replace("(Layer(i)", "(Own(i)"), "layers.*")
    assert found.message == "modules in scope differ: a constant is 0.5 in `layers.0` and 1.0 in `layers.1`"


@pytest.mark.parametrize(
    "forward",
    [
        pytest.param("return x * helper(self)", id="a function"),
        pytest.param("return x * TABLE['helper'](self)", id="a table of functions"),
        pytest.param("return x * self.doubled()", id="a method"),
        pytest.param("return x * self.share", id="a property"),
        pytest.param("return x * getattr(self, 'other')", id="a text"),
        pytest.param("return x * self.bound(self)", id="an attribute that is a function"),
    ],
)
def test_an_attribute_is_read_by_what_forward_calls(scoped: Callable[..., Trace], forward: str) -> None:
    helpers = "\ndef helper(layer):\n    return layer.other\nTABLE = {'helper': helper}\n" + (
        "Layer.doubled = lambda self: self.other\nLayer.share = property(lambda self: self.other)\n"
    )
    source = model(forward, "self.i = i; self.other = (i + 1) * 0.5; self.bound = helper", layers=2) + helpers
    assert constants(scoped(source, "layers.*"), "aten.mul.Tensor") == ["self.other"]


def test_objects_that_one_trace_alone_reaches(scoped: Callable[..., Trace]) -> None:
    """What the layers before have left in a cache is no difference; a class that is another one is."""
    trace = scoped(model("return x.relu()"), "layers.*")
    first, second, other = (
        dataclasses.replace(trace, objects=objects)
        for objects in (
            (("cache", "Cache"),),
            (("cache", "Cache"), ("cache[0]", "Entry")),
            (("cache[0]", "Window"),),
        )
    )
    assert isinstance(match(first, second), Match) and isinstance(match(second, first), Match)
    assert with_objects(first, [second]).objects == second.objects
    assert match(second, other) == Difference("the class of `cache[0]` is `Entry` and `Window`")


def test_an_attribute_that_fits_some_is_not_taken(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return x + self.i // 2", "self.i = i; self.half = 5 if i == 3 else i // 2"), "layers.{0..3}")
    assert found.code == "SEL110"


def test_a_branch_on_the_number_is_refused(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return x.relu() if self.i < 2 else x.sigmoid().relu()", "self.i = i", layers=5), "layers.*")
    assert found.code == "SEL110"
    assert found.message == (
        "modules in scope differ: `layers.0` and `layers.2` at op 1: `aten.relu.default` and `aten.sigmoid.default`"
    )
    assert [related.message for related in found.related] == [
        "op 1 of `layers.0`: `aten.relu.default`",
        "op 1 of `layers.2`: `aten.sigmoid.default`",
    ]
    assert [related.span.line for related in found.related] == [11, 11]
    assert found.notes == ("alike: `layers.{0..1}` (2)", "alike: `layers.{2..4}` (3)")
    assert found.fix is not None and [edit.text for edit in found.fix.edits] == ['scope "layers.{2..4}"']
    assert found.fix.edits[0].span == SCOPE_SPAN


def test_more_ops_at_the_end_are_refused(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("x = x.relu()\n        return x if self.i else x + 1", "self.i = i", layers=2), "layers.*")
    assert "at op 2: there are 2 ops and 1 ops" in found.message
    assert found.fix is None, "neither is the larger group"
    assert found.help == 'select modules that are alike: `scope "layers.0"` or `scope "layers.1"`'


def test_other_sizes_are_refused(refused: Callable[..., Diagnostic]) -> None:
    source = model("return x + self.w(x).sum()", "self.w = nn.Linear(8, 4 if i == 1 else 8)", layers=3)
    found = refused(source, "layers.*")
    assert "at op 1: `self.w.weight` is float32[8, 8] and float32[4, 8]" in found.message
    assert found.fix is not None and found.fix.edits[0].text == 'scope "layers.{0,2}"'


def test_two_classes_are_refused_and_one_is_offered(refused: Callable[..., Diagnostic], scoped: Any) -> None:
    source = (
        model("return self.w(x)") + "\nclass Wide(Layer):\n    def forward(self, x):\n        return self.w(x).relu()\n"
    )
    source = source.replace("(Layer(i) for i in range(4))", "((Wide if i else Layer)(i) for i in range(4))")
    found = refused(source, "layers.*")
    assert found.fix is not None and found.fix.edits[0].text == 'scope "layers.*" class Wide'
    assert scoped(source, "layers.*", "Wide").scope.instances == ("layers.1", "layers.2", "layers.3")


def test_two_classes_of_the_same_ops_are_refused(refused: Callable[..., Diagnostic]) -> None:
    """They have two forward()s, though these do the same."""
    source = model("return self.w(x)", layers=2) + "\nclass Twin(Layer):\n    pass\n"
    found = refused(source.replace("(Layer(i)", "((Twin if i else Layer)(i)"), "layers.*")
    assert "their classes" in found.message


def test_arguments_that_differ_are_refused(refused: Callable[..., Diagnostic]) -> None:
    source = model("m = kwargs['m']\n        return x if m is None else x + 1", call="x = layer(x, m=x if i else None)")
    found = refused(source, "layers.*")
    assert found.code == "SEL110"
    source = model("return x.relu()", call="x = layer(x, m=None if i == 2 else True)")
    message = "modules in scope differ: a constant is True in `layers.0` and None in `layers.2`"
    assert refused(source, "layers.*").message == message


def test_the_same_tensor_twice_stays_one(scoped: Callable[..., Trace]) -> None:
    trace = scoped(model("return x.relu_() + kwargs['y']", call="y = x * 1; x = layer(y, y=y)"), "layers.*")
    first, second = (trace.values[value] for value in trace.inputs)
    assert {first.expression, second.expression} == {"x", 'kwargs["y"]'}
    assert first.storages == second.storages


def test_a_container_is_taken_as_it_was(scoped: Callable[..., Trace]) -> None:
    call = "seen = []; x = layer(x, seen=seen); seen.append(x)"
    trace = scoped(model("return x + len(kwargs['seen'])", call=call), "layers.*")
    assert constants(trace, "aten.add.Tensor") == ["0"]


def test_layers_of_a_cache_are_told_by_the_attribute(scoped: Callable[..., Trace]) -> None:
    source = (
        model(
            "kept = cache[self.number]\n        kept.add_(x)\n        return x + kept",
            "self.number = i",
            call="x = layer(x, cache)",
        )
        .replace("def forward(self, x, **kwargs)", "def forward(self, x, cache)")
        .replace("def forward(self, x):", "def forward(self, x, a, b, c, d):\n        cache = [a, b, c, d]")
    )
    trace = scoped(source, "layers.*", "", **dict.fromkeys("xabcd", (4, 8)))
    assert [trace.values[value].expression for value in trace.inputs] == ["x", "cache[self.number]"]
    [update] = [op for op in trace.ops if op.target == "aten.add_.Tensor"]
    assert trace.values[1].storages[0] in update.writes


def test_layers_of_a_cache_that_no_attribute_tells(refused: Callable[..., Diagnostic]) -> None:
    source = model("return x + kwargs['cache'][kwargs['i']]", layers=2, call="x = layer(x, cache=[a, b], i=i)").replace(
        "def forward(self, x):", "def forward(self, x, a, b):"
    )
    found = refused(source, "layers.*", "", **dict.fromkeys("xab", (4, 8)))
    assert found.code == "SEL110"
    assert "is 0 in `layers.0` and 1 in `layers.1`" in found.message


def test_attributes_are_compared_before_tracing_is_skipped(attempt: Callable[..., Traced]) -> None:
    """Ops that an attribute deep inside decides on: the third of four modules has another."""
    init = "self.w = nn.Linear(8, 8); self.w.options = [dict(gate=i == 2)]"
    source = model("return self.w(x).relu() if self.w.options[0]['gate'] else self.w(x)", init)
    request = {"scope": ScopeRequest("layers.*", "", SCOPE_SPAN)}
    made = attempt(source, request, x=(4, 8))
    assert [d.code for d in made.diagnostics] == ["SEL110"]
    assert made.diagnostics[0].notes == ("alike: `layers.{0,1,3}` (3)", "alike: `layers.2`")


def test_nothing_matches(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return x.relu()"), "layer.*")
    assert (found.code, found.message) == ("SEL108", '`scope "layer.*"` matches no module')
    assert found.help == "did you mean `layers.*`?"
    found = refused(model("return x.relu()"), "part.layers.w")
    assert found.code == "SEL108"
    found = refused(model("return self.w(x)"), "w*")
    assert found.help == "did you mean `layers.*.w*`?"
    found = refused(model("return x.relu()"), "layers.*", "Layers")
    assert found.message == 'no module that matches "layers.*" is a `Layers`'
    assert found.help == "did you mean `Layer`?"


def test_a_module_that_is_not_called(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return self.w(x)"), "layers")
    assert (found.code, found.message) == ("SEL109", "`layers` is never called while the model runs")
    found = refused(model("return self.w(x)", call="x = layer(x) if i != 2 else x"), "layers.*")
    assert found.message == "1 of 4 modules in scope are never called while the model runs"
    assert found.notes == ("never called: `layers.2`",)
    assert found.fix is not None and found.fix.edits[0].text == 'scope "layers.{0,1,3}"'


def test_a_module_in_another(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return self.w(x)"), "layers.**")
    assert (found.code, found.message) == (
        "SEL111",
        "`layers.0.w` is in scope, and so is `layers.0`, which it lies in",
    )


def test_a_module_called_twice(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return self.w(x)", call="x = layer(layer(x))"), "layers.*")
    assert (found.code, found.message) == ("SEL112", "`layers.0` is called 2 times while the model runs")


def test_a_model_that_does_not_run(refused: Callable[..., Diagnostic]) -> None:
    found = refused(model("return self.w(x)", call="x = layer(x) if x.sum() > 0 else x"), "layers.*")
    assert found.code == "TRC107"
    assert found.related[0].span.line == 20
    found = refused(model("return self.w(x[:, :3])"), "layers.*")
    assert found.code == "TRC106"


def test_a_module_that_does_not_trace_is_named(refused: Callable[..., Diagnostic]) -> None:
    source = model("return [x, object()][0] if object() in [kwargs] else object()", call="layer(x)")
    found = refused(source, "layers.*")
    assert found.notes[-1] == "while `layers.0` was traced, which is in scope"


def test_the_run_leaves_the_model_as_it_was(scoped: Callable[..., Trace]) -> None:
    """What the first call would store is not there when the module is traced."""
    source = model("return x + self.calls", "self.calls = 0", call="layer.calls += 0; x = layer(x); layer.calls += 5")
    assert constants(scoped(source, "layers.*"), "aten.add.Tensor") == ["0"]


def test_a_model_that_traces_and_does_not_run(scoped: Callable[..., Trace]) -> None:
    """What lies outside of the scope may be sized by data, as long as the modules' inputs are not."""
    source = model("return self.w(x).relu_() + kwargs['y']", call="x = layer(x, y=x.t().t())").replace(
        "        for i,", "        x = x + x.nonzero().sum()\n        for i,"
    )
    trace = scoped(source, "layers.*")
    assert trace.scope is not None and len(trace.scope.instances) == 4
    first, second = (trace.values[value] for value in trace.inputs)
    assert (first.shape, second.shape, second.stride) == ((4, 8), (4, 8), (8, 1))
    assert first.storages == second.storages


def test_what_is_tried_again_has_inputs_of_its_own(attempt: Callable[..., Traced]) -> None:
    """The run without data fails behind what it has put into its inputs, which the trace must not find there."""
    source = model("return self.w(x) + kwargs['y']", call="x = layer(x, y=seen[0])").replace(
        "(self, x):\n        for i,",
        "(self, x, seen):\n        seen.append(x)\n        assert len(seen) == 1\n"
        "        x = x + x.nonzero().sum()\n        for i,",
    )
    source += "\ndef inputs(): return (torch.ones(4, 8), [])"
    scope = ScopeRequest("layers.*", "", SCOPE_SPAN)
    made = attempt(source, {"scope": scope, "inputs_from": ("model.py", "inputs")})
    assert made.trace is not None, made.diagnostics


def test_what_does_not_run_is_told_the_same_of_compiling(attempt: Callable[..., Traced]) -> None:
    before = "        x = x + x.nonzero().sum()\n        x = x[:2] if torch.compiler.is_compiling() else x\n"
    source = model("return self.w(x)").replace("        for i,", before + "        for i,")
    scope = ScopeRequest("layers.*", "", SCOPE_SPAN)
    for compiled, shape in ((True, (2, 8)), (False, (4, 8))):
        made = attempt(source, {"scope": scope, "compiled": compiled}, x=(4, 8))
        assert made.trace is not None, made.diagnostics
        assert made.trace.values[made.trace.inputs[0]].shape == shape


def test_the_run_before_the_trace_is_told_where_it_raised_something_else(refused: Callable[..., Diagnostic]) -> None:
    source = model("return self.w(x)").replace(
        "        for i,",
        "        if not isinstance(x, torch._subclasses.FakeTensor):\n            raise KeyError('first')\n"
        "        x = x[:, :3]\n        for i,",
    )
    found = refused(source, "layers.*")
    assert found.code == "TRC106"
    assert "before it was traced, forward() was run, and raised KeyError: 'first'" in found.notes


def test_inputs_sized_by_data_are_refused(refused: Callable[..., Diagnostic]) -> None:
    source = model("return x.relu()").replace("        for i,", "        x = x[x.nonzero()[:, 0]]\n        for i,")
    found = refused(source, "layers.*")
    assert (found.code, found.message) == (
        "TRC108",
        "the arguments of `layers.0` cannot be kept for its own trace: the size of a tensor depends on data",
    )


def test_another_input_is_refused(refused: Callable[..., Diagnostic]) -> None:
    source = model("return (x if self.i else kwargs['y']) + 1", "self.i = i", call="x = layer(x, y=x * 2)")
    found = refused(source, "layers.*")
    assert found.message.endswith('at op 1: a tensor that is `kwargs["y"]` and `x`')


SCALE = """
class Scale:
    def __init__(self, on):
        self.on = on

    def __call__(self, x):
        return x * 2 if self.on else x + 1
"""
HOOK = "self.w.register_forward_hook(lambda m, a, r: r + 1) if i == 2 else 0"


@pytest.mark.parametrize(
    "init",
    [
        pytest.param(f"self.w = nn.Linear(8, 8); {HOOK}", id="a hook"),
        pytest.param(
            "self.w = nn.Linear(8, 8); setattr(self.w, 'forward', torch.relu) if i == 2 else 0", id="a method"
        ),
        pytest.param("self.w = nn.Identity() if i == 2 else nn.Linear(8, 8)", id="a class"),
        pytest.param("self.w = nn.Linear(8, 8, bias=i != 2)", id="a parameter"),
        pytest.param("self.w = nn.Sequential(*[nn.Linear(8, 8)] * (2 if i == 2 else 1))", id="a part"),
        pytest.param("self.w = Scale(i == 2)", id="an object"),
    ],
)
def test_what_tells_modules_apart(attempt: Callable[..., Traced], init: str) -> None:
    """The third module is unlike the others; no one else's trace stands for its own."""
    source = SCALE + model("return self.w(x)", init)
    made = attempt(source, {"scope": ScopeRequest("layers.*", "", SCOPE_SPAN)}, x=(4, 8))
    [found] = made.diagnostics
    assert (found.code, found.notes[:1]) == ("SEL110", ("alike: `layers.{0,1,3}` (3)",))


# Dynamic dims

DYNAMIC = ("batch", "seq", 8)


@pytest.mark.parametrize(
    ("call", "second"),
    [
        ("x = layer(x, pos=x * 2)", ("batch", "seq", 8)),
        ("x = layer(x, other=None, scale=2, pos=x[:, :, :1])", ("batch", "seq", 1)),
        ("x = layer(x, pos=x.flatten(0, 1)[:1, :])", (1, 8)),
        ("x = layer(x, kwargs=3, pos=x * 2)", ("batch", "seq", 8)),
    ],
)
def test_named_dims_of_what_kwargs_take(scoped: Callable[..., Trace], call: str, second: tuple[int | str, ...]) -> None:
    trace = scoped(model('return self.w(x) + kwargs["pos"]', call=call), "layers.*", x=("f32", DYNAMIC))
    assert [dim.name for dim in trace.dims] == ["batch", "seq"]
    assert [trace.values[value].shape for value in trace.inputs] == [DYNAMIC, second]
    assert trace.values[trace.inputs[1]].expression == 'kwargs["pos"]'
    assert isinstance(trace.result, Ref) and trace.values[trace.result.value].shape == DYNAMIC


def test_named_dims_of_what_args_take(scoped: Callable[..., Trace]) -> None:
    source = model("return self.w(x) + more[1]", call="x = layer(x, None, x * 2, last=1)")
    source = source.replace("x, **kwargs", "x, *more, last, **kwargs")
    trace = scoped(source, "layers.*", x=("f32", DYNAMIC))
    assert [trace.values[value].shape for value in trace.inputs] == [DYNAMIC, DYNAMIC]


def test_memory_beside_the_tensors_tells_no_traces_apart(scoped: Callable[..., Trace]) -> None:
    trace = scoped(model("return self.w(x)"), "layers.*", x=("f32", DYNAMIC))
    larger = tuple([dataclasses.replace(storage, nbytes=1 << 20) for storage in trace.storages])
    assert isinstance(match(trace, dataclasses.replace(trace, storages=larger)), Match)
