"""The conditions in a forward() that plain attributes decide, and the objects that inputs are reached through."""

from __future__ import annotations

from collections.abc import Callable

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.model import Trace
from streamsched.dsl.trace.request import ScopeRequest


def test_conditions_of_forward_and_of_the_methods_that_it_calls(traced: Callable[..., Trace]) -> None:
    trace = traced(
        """
        class Config:
            kind = "eager"
            count = None

        class Sub(nn.Module):
            def __init__(self):
                super().__init__()
                self.deep, self.bias = 3, None

            def forward(self, x):
                return x + 1 if self.deep and self.bias is None else x

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.sub, self.config, self.extra = Sub(), Config(), nn.Linear(2, 2)
                self.first = self.unused = True
                self.layer, self.low, self.high = 7, 1, 2

            def helper(self, x):
                while self.layer < 2:
                    x = x + 1
                return x

            def other(self, x):
                return x if self.unused else x + 1

            def forward(self, x):
                if not self.first or (self.config.kind != "eager" and self.training):
                    x = x + 1
                if self.low < self.high and x.shape[0] > self.layer and self.extra is not None:
                    x = x + 1
                if self.extra and self.absent if False else True:
                    pass
                return self.helper(self.sub(x)) * 2 if self.config.count is None else x
        """,
        x=(4, 4),
    )
    root, sub = trace.calls[:2]
    assert dict(root.flags) == {
        "self.first": "True",
        "self.config.kind != 'eager'": "False",
        "self.low < self.high": "True",
        "self.layer": "7",
        "self.layer < 2": "False",
        "self.config.count is None": "True",
        "self.config.kind": "'eager'",  # what is read of it by anybody
        "self.config.count": "None",
    }
    assert dict(sub.flags) == {"self.sub.deep": "3", "self.sub.bias is None": "True"}


def test_objects_that_inputs_are_reached_through(traced: Callable[..., Trace]) -> None:
    source = """
        import torch.utils._pytree as pytree

        class Layer:
            def __init__(self, keys):
                self.keys = keys

        class Cache:
            def __init__(self, layers):
                self.layers = layers

        pytree.register_pytree_node(
            Cache,
            lambda cache: ([layer.keys for layer in cache.layers], None),
            lambda keys, _: Cache([Layer(k) for k in keys]),
            flatten_with_keys_fn=lambda cache: (
                [(pytree.SequenceKey(i), layer.keys) for i, layer in enumerate(cache.layers)], None
            ),
        )

        class Model(nn.Module):
            def forward(self, cache, pair):
                return cache.layers[0].keys + cache.layers[1].keys + pair[0]

        def inputs():
            return Cache([Layer(torch.zeros(2, 2)), Layer(torch.zeros(2, 2))]), (torch.zeros(2), 1)
        """
    trace = traced(source, request={"inputs_from": ("model.py", "inputs")})
    assert trace.objects == (
        ("cache", "Cache"),
        ("cache.layers", "list"),
        ("cache.layers[0]", "Layer"),
        ("cache.layers[1]", "Layer"),
        ("pair", "tuple"),
    )


def test_modules_in_scope_keep_the_flags_that_all_of_them_have(attempt: Callable[..., Traced]) -> None:
    source = """
        class Layer(nn.Module):
            def __init__(self, index):
                super().__init__()
                self.index = index + 1

            def forward(self, x):
                if self.index > 0 and self.index:
                    x = x + 1
                return x

        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.ModuleList(Layer(i) for i in range(3))

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        """
    made = attempt(source, {"scope": ScopeRequest("layers.*", "", Span("test.sched", 3, 1, 3, 20))}, x=(4,))
    assert made.trace is not None, made.diagnostics
    assert made.trace.calls[0].flags == (("self.index > 0", "True"),)
