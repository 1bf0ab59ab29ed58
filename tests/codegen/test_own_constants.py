"""Attributes that forward() computes with: another value in the live model is another call, however it is read."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from modelled import HEAD, plan_model

from streamsched.codegen.emitter import generate
from streamsched.dsl.trace.model import Trace
from streamsched.verify.generated import load_generated

MODEL = """
import math

class Config:
    def __init__(self):
        self.epsilon, self.kind = 0.125, "tanh"

class Base(nn.Module):
    def forward(self, x):
        return x + self.bias_of_base

def looked_up(module, x):
    return x - module.offset

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.own = nn.Linear(8, 8), 7.0

    def forward(self, x, gain):
        return self.linear(x) * gain + self.own

class Model(Base):
    def __init__(self):
        super().__init__()
        self.left, self.right, self.inner = nn.Linear(8, 8), nn.Linear(8, 8), Inner()
        self.config, self.table, self.steps = Config(), {"k": 1.5}, (1.75, 2.25)
        self.scale, self.rate, self.width, self.gain, self.offset = 0.3, 11, 8, 3.5, 0.7
        self.keep, self.size, self.bias_of_base, self.of_method, self._hidden = True, (2, 4), 0.9, 1.1, 5
        self.unused, self.written, self.only_trained, self.doubled, self.base = 17.5, 0, 0.45, 6, 4

    @property
    def hidden(self):
        return self._hidden + 1

    def method(self, x):
        return x * self.of_method

    def forward(self, x):
        right = self.right(x)
        left = self.left(x) * self.scale / math.sqrt(self.rate)
        left = left + left[..., : self.width // 8] * self.hidden
        left = self.method(looked_up(self, left)) + self.config.epsilon
        for step in self.steps:
            left = left * step
        left = left * self.table["k"] + left.sum(-1, keepdim=self.keep)
        left = left.view(*self.size, -1).flatten(0, 1) + getattr(self, "doubled", 1) * 2
        left = F.gelu(self.inner(left, self.gain), approximate=self.config.kind)
        self.written = 3
        left = left * self.written + self.base ** 2
        return super().forward(left + right + (self.only_trained if self.training else 0.45))
"""
SCHEDULE = 'input x: f32[8, 8]\nstream side\nsync auto\nmodule "right" on side\n'


@pytest.fixture(scope="module")
def trace_and_text(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, str]:
    program = plan_model(tmp_path_factory.mktemp("constants"), MODEL, SCHEDULE)
    assert program.trace is not None
    return program.trace, generate(program, "cpu")


@pytest.fixture
def generated(trace_and_text: tuple[Trace, str]) -> Iterator[dict[str, Any]]:
    with torch.no_grad():
        yield load_generated(trace_and_text[1])


def model() -> Any:
    torch.manual_seed(1)
    return load_generated(HEAD + MODEL)["Model"]().eval()


CHANGED: dict[str, tuple[str, Any]] = {
    "scale": ("scale", 0.4),
    "in a function of math": ("rate", 12),
    "divided": ("width", 16),
    "of a property": ("_hidden", 6),
    "in a method": ("of_method", 1.2),
    "by a function that is given the module": ("offset", 0.8),
    "in a loop": ("steps", (1.75, 2.5)),
    "an item": ("table", {"k": 2.5}),
    "a truth value": ("keep", False),
    "sizes": ("size", (4, 2)),
    "by getattr": ("doubled", 7),
    "given to a module that is called": ("gain", 4.5),
    "a power": ("base", 5),
    "in the forward of a base class": ("bias_of_base", 0.8),
}


@pytest.mark.parametrize("name", CHANGED)
def test_another_value_runs_the_original(name: str, generated: dict[str, Any]) -> None:
    attribute, value = CHANGED[name]
    original = model()
    setattr(original, attribute, value)
    x = torch.rand(8, 8)
    try:
        expected = original(x)
    except RuntimeError:
        expected = None
    scheduled = generated["apply"](copy.deepcopy(original))
    if expected is not None:
        assert torch.equal(scheduled(x), expected)
    with pytest.raises(ValueError, match=rf"self\.{attribute}.* is .*, traced with "):
        generated["apply"](scheduled, strict=True)(x)


@pytest.mark.parametrize(("name", "value"), [("epsilon", 0.25), ("kind", "none")])
def test_so_does_another_value_in_an_object_of_the_module(name: str, value: Any, generated: dict[str, Any]) -> None:
    original = model()
    setattr(original.config, name, value)
    x = torch.rand(8, 8)
    assert torch.equal(generated["apply"](copy.deepcopy(original))(x), original(x))
    with pytest.raises(ValueError, match=rf"self\.config\.{name} is "):
        generated["apply"](original, strict=True)(x)


def test_what_is_not_printed_may_be_another(generated: dict[str, Any]) -> None:
    """What nothing reads, what is read in training alone, what is written first, what a module reads that is called."""
    original = model()
    original.unused, original.only_trained, original.written, original.inner.own = 1.0, 0.1, 9, 8.0
    scheduled = generated["apply"](copy.deepcopy(original), strict=True)
    for _ in range(2):
        x = torch.rand(8, 8)
        assert torch.equal(scheduled(x), original(x))


def test_the_head_of_the_file_says_what_is_checked(trace_and_text: tuple[Trace, str]) -> None:
    head = trace_and_text[1].split('"""')[1]
    for line in ("- self.scale = 0.3", "- self.steps = (1.75, 2.25)", '- self.table["k"] = 1.5', "- self.rate = 11"):
        assert line in head.splitlines()
    for name in ("unused", "only_trained", "written", "own", "left", "method"):
        assert f"self.{name} " not in head
