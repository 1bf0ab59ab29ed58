"""Module calls: arguments, results, nesting, occurrences, accessors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Instance, Literal, Mapping, Opaque, Ref, Sequence, Trace


def call_of(traced: Callable[..., Trace], forward: str, call: str = "x + 1") -> Trace:
    """The trace of a model that calls `self.sub`, whose forward is given, with `call`."""
    return traced(
        f"""
        import collections
        import dataclasses

        Pair = collections.namedtuple("Pair", "first second")

        @dataclasses.dataclass
        class Output:
            last: torch.Tensor
            extra: object = None

        class Config:
            pass

        class Sub(nn.Module):
            def forward(self, {forward.partition(":")[0]}):
                {forward.partition(":")[2].strip()}

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.sub = Sub()
                self.config = Config()

            def forward(self, x):
                y = self.sub({call})
                return x * 2
        """,
        x=(4, 4),
    )


def test_arguments_and_tuple_result(traced: Callable[..., Trace]) -> None:
    trace = call_of(
        traced, "a, b=None, *, c=1: return a + 1, None, (a, c)", "x, [x, 2, 'k'], c={'d': x, 0: slice(1, None)}"
    )
    call = trace.calls[1]
    [x] = trace.inputs
    assert call.args == (Ref(x), Sequence("list", (Ref(x), Literal("2"), Literal("'k'"))))
    chosen = Sequence("slice", (Literal("1"), Literal("None"), Literal("None")))
    assert call.kwargs == (("c", Mapping(("'d'", "0"), (Ref(x), chosen))),)
    [add] = trace.ops[call.begin : call.end]
    assert isinstance(call.result, Sequence)
    assert call.result.items[0] == add.result
    assert call.result.items[1] == Literal("None")


def test_result_may_be_the_argument_a_view_or_none(traced: Callable[..., Trace]) -> None:
    trace = call_of(traced, "a: return a", "x")
    assert trace.calls[1].result == Ref(trace.inputs[0])
    assert trace.calls[1].begin == trace.calls[1].end == 0
    view = call_of(traced, "a: return a[0]", "x")
    assert view.calls[1].result == view.ops[0].result
    assert call_of(traced, "a: a.add_(1)", "x").calls[1].result == Literal("None")


def test_arguments_are_those_at_entry(traced: Callable[..., Trace]) -> None:
    trace = call_of(traced, "a, b: return a.add_(1), b.mul_(2)", "x + 1, b=x - 1")
    add, sub, add_, mul_ = trace.ops[:4]
    assert trace.calls[1].args == (add.result,)
    assert trace.calls[1].kwargs == (("b", sub.result),)
    assert trace.calls[1].result == Sequence("tuple", (add_.result, mul_.result))


def test_instances_and_opaque_objects(traced: Callable[..., Trace]) -> None:
    trace = call_of(traced, "a, p, config: return Output(a + p.first)", "x, Pair(x, torch.float16), self.config")
    _, pair, config = trace.calls[1].args
    assert pair == Instance("model:Pair", ("first", "second"), (Ref(trace.inputs[0]), Literal("torch.float16")))
    assert config == Opaque("a model:Config")
    assert trace.calls[1].result == Instance("model:Output", ("last",), (trace.ops[0].result,))


NESTED = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.act = nn.ReLU()
    def forward(self, x):
        return self.act(self.linear(x))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), nn.Sequential(Block())])
        self.heads = nn.ModuleDict({"a.b"[:1]: nn.Linear(4, 4), "class": nn.Linear(4, 4)})
        self.add_module("odd name", nn.ReLU())

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.blocks[0](x)
        x = self.heads["class"](self.heads["a"](x))
        return getattr(self, "odd name")(x)
"""


def test_nesting_occurrences_and_accessors(traced: Callable[..., Trace]) -> None:
    trace = traced(NESTED, x=(4, 4))
    calls = {call.label: call for call in trace.calls}
    assert list(calls) == [
        "",
        "blocks.0",
        "blocks.0.linear",
        "blocks.0.act",
        "blocks.1",
        "blocks.1.0",
        "blocks.1.0.linear",
        "blocks.1.0.act",
        "blocks.0@1",
        "blocks.0.linear@1",
        "blocks.0.act@1",
        "heads.a",
        "heads.class",
        "odd name",
    ]
    assert calls["blocks.1.0.act"].accessor == ".blocks[1][0].act"
    assert calls["heads.class"].accessor == '.heads["class"]'
    assert calls["odd name"].accessor == '.get_submodule("odd name")'
    assert calls["blocks.0@1"].accessor == ".blocks[0]"
    assert calls["blocks.1.0"].type == "model:Block"


def test_calls_hold_their_ops(traced: Callable[..., Trace]) -> None:
    trace = traced(NESTED, x=(4, 4))
    for index, call in enumerate(trace.calls):
        if index:
            parent = trace.calls[call.parent]
            assert parent.begin <= call.begin <= call.end <= parent.end
    for position, op in enumerate(trace.ops):
        call = trace.calls[op.call]
        assert call.begin <= position < call.end
        inner = [c for c in trace.calls if c.parent == op.call and c.begin <= position < c.end]
        assert inner == []


def test_asking_whether_compiling(attempt: Callable[..., Traced]) -> None:
    trace = attempt(
        """
        class Asks(nn.Module):
            def forward(self, x):
                return x + 1 if torch.compiler.is_compiling() else x

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.asks = Asks()
                self.plain = nn.ReLU()

            def forward(self, x):
                return self.plain(self.asks(x))
        """,
        x=(4,),
    ).trace
    assert trace is not None
    assert [call.branches_on_compiling for call in trace.calls] == [True, True, False]
    assert len(trace.warnings) == 1


def test_module_under_two_names_has_one_path(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = self.b = nn.Linear(4, 4)

            def forward(self, x):
                return self.b(self.a(x))
        """,
        x=(4, 4),
    )
    assert [call.label for call in trace.calls] == ["", "a", "a@1"]


CACHE = """
class Cache:
    def __init__(self, keys):
        self.keys = keys

torch.utils._pytree.register_pytree_node(
    Cache,
    lambda c: ([c.keys], None),
    lambda children, _: Cache(*children),
    flatten_with_keys_fn=lambda c: ([(torch.utils._pytree.GetAttrKey("keys"), c.keys)], None),
)

class Attend(nn.Module):
    def forward(self, x, cache):
        UPDATE
        return x + cache.keys

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = Attend()

    def forward(self, x, cache):
        return self.attend(x, cache), cache

def inputs():
    return torch.empty(4), Cache(torch.empty(4))
"""


def test_cache_is_passed_on_and_returned_by_name(traced: Callable[..., Trace]) -> None:
    trace = traced(CACHE.replace("UPDATE", "cache.keys.add_(x)"), {"inputs_from": ("model.py", "inputs")})
    assert [trace.values[v].expression for v in trace.inputs] == ["x", "cache.keys"]
    assert trace.calls[1].args == (Ref(trace.inputs[0]), Literal("cache"))
    assert isinstance(trace.result, Sequence)
    assert trace.result.items[1] == Literal("cache")


def test_cache_that_gets_another_tensor(traced: Callable[..., Trace]) -> None:
    source = CACHE.replace("UPDATE", "cache.keys = cache.keys + x")
    trace = traced(source, {"inputs_from": ("model.py", "inputs")})
    [assignment] = trace.assignments
    assert isinstance(assignment.value, Ref)
    assert trace.values[assignment.value.value].producer == 0
    assert (assignment.target, assignment.calls, assignment.since, assignment.until) == ("cache.keys", (1,), 2, 2)
    assert assignment.value.value in trace.outputs()


HOOKED = """
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(4, 4), nn.Linear(4, 4)
        self.l1.register_forward_hook(lambda m, i, o: o * 2)
        self.l2.register_forward_pre_hook(lambda m, i: (i[0] + 1,))

    def forward(self, x):
        return self.l2(self.l1(x))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)
"""


def test_a_call_with_hooks_of_its_own_is_marked(traced: Callable[..., Trace]) -> None:
    trace = traced(HOOKED, x=(4, 4))
    assert {call.label: call.hooked for call in trace.calls} == {
        "": False,
        "inner": False,
        "inner.l1": True,
        "inner.l2": False,
    }
    # The hook's op comes after the call, the pre-hook's is in it.
    ops = {call.label: [op.target for op in trace.ops[call.begin : call.end]] for call in trace.calls}
    assert ops["inner.l1"] == ["aten.linear.default"]
    assert ops["inner.l2"] == ["aten.add.Tensor", "aten.linear.default"]


@pytest.mark.parametrize(
    ("register", "kind"),
    [
        ("register_forward_hook(lambda m, i, o: o * 2)", "forward hook"),
        ("register_forward_pre_hook(lambda m, i: (i[0] * 2,))", "forward pre-hook"),
    ],
)
def test_hooks_of_the_model_itself_are_refused(attempt: Callable[..., Traced], register: str, kind: str) -> None:
    source = f"""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.{register}

        def forward(self, x):
            return x + 1
    """
    [diagnostic] = attempt(source, x=(4,)).diagnostics
    assert diagnostic.code == "TRC108"
    assert f"the model itself has a {kind} (`Model.__init__.<locals>.<lambda>`)" in diagnostic.message
    assert diagnostic.related[0].span.line == 8


def test_a_pre_hook_of_the_model_that_computes_nothing_is_fine(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_forward_pre_hook(lambda m, i: None)

            def forward(self, x):
                return x + 1
        """,
        x=(4,),
    )
    assert [op.target for op in trace.ops] == ["aten.add.Tensor"]


def test_a_part_of_a_split_that_is_cast_inside(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        class Sub(nn.Module):
            def forward(self, part):
                return part.to(torch.float64) * 2

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.sub = Sub()

            def forward(self, x):
                left, right = torch.split(x, [1, 3])
                return self.sub(right)
        """,
        x=(4, 4),
    )
    [argument] = trace.calls[1].args
    assert isinstance(argument, Ref) and trace.values[argument.value].local == "right"
