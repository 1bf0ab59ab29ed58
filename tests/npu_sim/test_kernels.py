"""The host kernels against PyTorch on the CPU."""

from pathlib import Path
from typing import Any

import pytest

CASES_FILE = Path(__file__).with_name("kernel_cases.txt")
CASES = [line for line in CASES_FILE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def verdicts(run_child: Any) -> dict[str, str]:
    return dict(run_child("kernels_child.py", str(CASES_FILE)))


@pytest.mark.parametrize("expression", CASES)
def test_agrees_with_the_cpu(verdicts: dict[str, str], expression: str) -> None:
    assert verdicts[expression] == ""
