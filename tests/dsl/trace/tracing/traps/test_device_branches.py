"""Conditions on a tensor's device: a warning where the tracing device answers otherwise than the target's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from streamsched.dsl.trace.export import Traced

Attempt = Callable[..., Traced]


def source_of(body: str) -> str:
    return f"class Model(nn.Module):\n    def forward(self, x):\n        {body}\n"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("if x.device.type == 'npu': x = x + 1\n        return x * 2", "x.device.type == 'npu'"),
        ("return x + 1 if x.device == torch.device('meta') else x * 2", "x.device == torch.device('meta')"),
        (
            "device_type = x.device.type\n        return x if device_type in ('npu', 'mps') else -x",
            "device_type in",
        ),
        ("assert not x.is_meta or True\n        return x * 2", "x.is_meta"),
        ("return x if x.is_meta else -x", "x.is_meta"),
        ("return x if str(x.device) != 'meta' else x * 2", "str(x.device) != 'meta'"),
    ],
)
def test_a_condition_that_the_target_answers_otherwise(attempt: Attempt, tmp_path: Path, body: str, text: str) -> None:
    [warning] = [found for found in attempt(source_of(body), x=(4,)).diagnostics if found.code == "TRC205"]
    assert text in warning.message.replace('"', "'")
    span = warning.related[0].span
    line = (tmp_path / "model.py").read_text().splitlines()[span.line - 1]
    assert line[span.column - 1 :].startswith(text)
    assert "leaf" in (warning.help or "")


@pytest.mark.parametrize(
    "body",
    [
        "return x if x.device.type == 'mps' else x * 2",
        "return x * 2 if x.is_cuda else x * 2",
        "return x + torch.ones(4, device=x.device)",
        "kind = x.device.type == 'npu'\n        return x * 2",
    ],
)
def test_what_is_answered_alike_or_decides_nothing(attempt: Attempt, body: str) -> None:
    assert attempt(source_of(body), x=(4,)).diagnostics == ()


def test_the_target_decides_what_matters(attempt: Attempt) -> None:
    body = source_of("return x if x.is_cuda else x * 2")
    assert attempt(body, {"device": "npu"}, x=(4,)).diagnostics == ()
    assert [found.code for found in attempt(body, {"device": "cuda"}, x=(4,)).diagnostics] == ["TRC205"]
