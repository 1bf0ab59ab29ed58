"""Generated forwards of random models that rebind and share names compute what the models compute."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from modelled import HEAD, plan_model

from streamsched.codegen.emitter import generate

torch = pytest.importorskip("torch")

NAME = st.sampled_from(["x", "y", "h", "residual"])
RIGHT = st.one_of(
    NAME,
    st.builds("{} @ {}".format, NAME, NAME),
    st.builds("{} + {}.t()".format, NAME, NAME),
    st.builds("{}.view(9).view(3, 3)".format, NAME),
    st.builds("torch.relu({} - {})".format, NAME, NAME),
)
STATEMENT = st.one_of(
    st.builds("{} = {}".format, NAME, RIGHT),
    st.builds("{} = {}".format, NAME, NAME),
    st.builds("{} += 0.5".format, NAME),
)


def model_of(statements: list[str]) -> str:
    lines = ["h, residual = x - 1, y", *statements, "return h + residual, x * y"]
    body = "".join(f"        {line}\n" for line in lines)
    return f"class Model(nn.Module):\n    def forward(self, x, y):\n{body}"


def run(model: Any) -> list[Any]:
    """What a model returns, and what it makes of its inputs."""
    x, y = torch.linspace(-1, 1, 9).view(3, 3), torch.linspace(2, 0, 9).view(3, 3)
    return [*model(x, y), x, y]


def numbers(source: str) -> tuple[list[Any], list[Any], str]:
    """What the original and the generated forward compute, and the text of the latter."""
    with tempfile.TemporaryDirectory() as folder:
        program = plan_model(Path(folder), source, "target cpu\ninput x, y: f32[3, 3]\n")
    text = generate(program, "cpu")
    made: dict[str, Any] = {}
    scope: dict[str, Any] = {}
    exec(HEAD + source, scope)
    exec(text, made)
    original, other = scope["Model"]().eval(), made["apply"](scope["Model"]().eval(), strict=True)
    return run(original), run(other), text


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(STATEMENT, min_size=2, max_size=7))
def test_random_models(statements: list[str]) -> None:
    expected, found, text = numbers(model_of(statements))
    assert all(map(torch.equal, found, expected)), text


def test_a_residual_is_written_as_in_the_source() -> None:
    body = ["residual = h", "h = h @ x", "h = residual + h", "residual = h", "h = torch.relu(h - y)"]
    expected, found, text = numbers(model_of(body))
    assert all(map(torch.equal, found, expected)), text
    lines = [line.strip() for line in text[text.index("def forward") : text.index("def apply")].splitlines()]
    start = lines.index("residual = h")
    assert lines[start : start + 3] == ["residual = h", "h = h @ x", "h = residual + h"]
