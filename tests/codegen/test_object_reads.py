"""What forward() reads otherwise than as `self.name`: of objects that modules hold, in functions, under other names."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from modelled import HEAD, plan_model

from streamsched.codegen.emitter import generate
from streamsched.verify.generated import load_generated

MODEL = """
import functools
import math

class Inside:
    def __init__(self):
        self.shift = 0.25

class Config:
    def __init__(self):
        self.gain, self.double, self.width, self.twice, self._rate = 1.5, True, 4, False, 0.5
        self.inside = Inside()

    @property
    def rate(self):
        return self._rate

def scaled(config, x):
    x = x * config.gain + config.inside.shift
    return x * config.rate

def cut(config, x):
    width = config.width
    return x[..., :width].sum(-1, keepdim=True)

def maybe_twice(forward):
    @functools.wraps(forward)
    def decorated(module, x):
        y = forward(module, x)
        return y + y if module.config.twice else y
    return decorated

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.config, self.rates, self.size, self.activation = Config(), [0.5, 0.25], 4, torch.relu
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)

    @maybe_twice
    def forward(me, x):
        right = me.right(x)
        half = me.size
        half = half // 2
        left = me.activation(scaled(me.config, me.left(x))) * sum(me.rates) + cut(me.config, x)
        if getattr(me.config, "double", False):
            left = left * 2
        return left[..., half:] + right[..., half:]
"""
SCHEDULE = 'input x: f32[8, 8]\nstream side\nsync auto\nmodule "right" on side\n'


def original() -> Any:
    torch.manual_seed(1)
    return load_generated(HEAD + MODEL)["Model"]().eval()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    return generate(plan_model(tmp_path_factory.mktemp("reads"), MODEL, SCHEDULE), "cpu")


def changed(model: Any, path: str, value: object) -> Any:
    *owners, name = path.split(".")
    owner = model
    for step in owners:
        owner = getattr(owner, step)
    assert hasattr(owner, name)
    setattr(owner, name, value)
    return model


CHANGED = {
    "config.gain": 3.0,
    "config.double": False,
    "config.width": 2,
    "config.twice": True,
    "config.inside.shift": 1.0,
    "config._rate": 2.0,
    "rates": [0.75, 0.5],
    "size": 6,
    "activation": torch.sigmoid,
}


@pytest.mark.parametrize("path", CHANGED)
def test_another_value_is_another_call(text: str, path: str) -> None:
    generated = load_generated(text)
    model = changed(original(), path, CHANGED[path])
    x = torch.randn(8, 8)
    with torch.no_grad():
        expected = model(x)
        assert not torch.equal(expected, original()(x))
        assert torch.equal(generated["apply"](copy.deepcopy(model))(x), expected)
        with pytest.raises(ValueError, match="traced with"):
            generated["apply"](copy.deepcopy(model), strict=True)(x)


def test_the_traced_call_fits(text: str) -> None:
    x = torch.randn(8, 8)
    with torch.no_grad():
        assert torch.equal(load_generated(text)["apply"](original(), strict=True)(x), original()(x))


def test_an_attribute_behind_a_property_is_told_once(text: str) -> None:
    assert "- self.config.rate = 0.5\n" in text and "_rate" not in text


def test_classes_are_as_before(tmp_path: Path) -> None:
    from streamsched.dsl.trace.tracing.state.object_reads import ObjectReads

    model = original()
    read: list[tuple[str, str]] = []
    with ObjectReads(model).noted(lambda expression, value: read.append((expression, value))):
        assert model.config.inside.shift == 0.25
    assert read == [("self.config.inside.shift", "0.25")]
    assert "__getattribute__" not in vars(type(model.config)) | vars(type(model.config.inside))
