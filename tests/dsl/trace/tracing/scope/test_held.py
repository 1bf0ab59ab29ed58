"""Layers that differ because of what a cache holds for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.request import ScopeRequest

MODEL = """
import torch.utils._pytree as pytree

class Layer:
    def __init__(self, keys):
        self.keys, self.filled = keys, keys is not None

class Cache:
    def __init__(self, *layers):
        self.layers = list(layers)

pytree.register_pytree_node(
    Layer, lambda o: ([o.keys], None), lambda c, _: Layer(*c), serialized_type_name="Layer",
    flatten_with_keys_fn=lambda o: ([(pytree.GetAttrKey("keys"), o.keys)], None))
pytree.register_pytree_node(
    Cache, lambda o: (o.layers, None), lambda c, _: Cache(*c), serialized_type_name="Cache",
    flatten_with_keys_fn=lambda o: ([(pytree.SequenceKey(i), c) for i, c in enumerate(o.layers)], None))

class Attention(nn.Module):
    def __init__(self, index):
        super().__init__()
        self.index = index

    def forward(self, x, cache):
        y = x * 2
        layer = cache.layers[self.index]
        if CONDITION:
            y = torch.cat([layer.keys, y], -2)
        return y.sum()

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Attention(0), Attention(1), Attention(2)])

    def forward(self, x, cache):
        return sum(layer(x, cache) for layer in self.layers)

def inputs():
    return {"x": torch.zeros(4, 4), "cache": Cache(LAYERS)}
"""
FILLED, EMPTY = "Layer(torch.zeros(2, 4))", "Layer(None)"


@pytest.fixture
def differ(attempt: Callable[..., Traced]) -> Callable[..., str]:
    """What is said of the three layers with these caches."""

    def run(condition: str, *layers: str) -> str:
        source = MODEL.replace("CONDITION", condition).replace("LAYERS", ", ".join(layers))
        scope = ScopeRequest("layers.*", "", Span("test.sched", 3, 1, 3, 9))
        request: dict[str, Any] = {"scope": scope, "inputs_from": ("model.py", "inputs")}
        made = attempt(source, request)
        return made.diagnostics[0].message if made.diagnostics else ""

    return run


@pytest.mark.parametrize("condition", ["layer.filled", "layer.keys is not None"])
def test_the_cache_is_named(differ: Callable[..., str], condition: str) -> None:
    assert differ(condition, FILLED, FILLED, EMPTY) == (
        "modules in scope differ: `layers.0` and `layers.2` at op 2: `aten.cat.default` and `aten.sum.default`; "
        "`cache.layers[0].keys` is a tensor for `layers.0`, and `cache.layers[2].keys` is None for `layers.2`"
    )
    assert differ(condition, EMPTY, FILLED, EMPTY).endswith(
        "; `cache.layers[1].keys` is a tensor for `layers.1`, and `cache.layers[0].keys` is None for `layers.0`"
    )


def test_layers_that_find_the_same_are_alike(differ: Callable[..., str]) -> None:
    assert differ("layer.filled", FILLED, FILLED, FILLED) == ""


def test_what_the_cache_does_not_cause_is_not_said_of_it(differ: Callable[..., str]) -> None:
    message = differ("layer.filled and self.index", FILLED, FILLED, FILLED)
    assert "at op 2" in message and "cache" not in message
