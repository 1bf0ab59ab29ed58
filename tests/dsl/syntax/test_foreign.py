"""A file of another kind is one finding, where a schedule with errors keeps all of its own."""

from __future__ import annotations

import pytest

from streamsched.dsl.syntax.parser import parse

PYTHON = "this is a Python file, not a schedule"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("import torch\nfrom torch import nn\n\n\nclass M(nn.Module):\n    pass\n", PYTHON, 1),
        ('#!/usr/bin/env python\n"""What it does."""\n\nx = 1\n', PYTHON, 2),
        ("from torch import nn\n", PYTHON, 1),
        ("@decorated\ndef build():\n    return 1\n", PYTHON, 1),
        ('{\n  "ops": []\n}\n', "this is JSON, not a schedule", 1),
        ('[{"ops": 1}]\n', "this is JSON, not a schedule", 1),
        ("<!DOCTYPE html>\n<html>\n", "this is HTML or XML, not a schedule", 1),
        ("PK\0\0", "this file is no text: it holds a NUL character", 1),
    ],
)
def test_one_finding(text: str, message: str, line: int) -> None:
    parsed = parse(text, "m.sched")
    (found,) = parsed.diagnostics
    assert (found.message, found.span.line, parsed.complete) == (message, line, False)


@pytest.mark.parametrize("text", ["schedule m\nimport torch\n", "schedul m\ngroup a =\n", "model 'm.py:M'\n", "[ ]\n"])
def test_a_schedule_with_errors_keeps_them(text: str) -> None:
    assert not any("not a schedule" in found.message for found in parse(text, "m.sched").diagnostics)
