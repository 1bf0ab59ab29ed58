from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from modelled import Planned, plan_model


@pytest.fixture
def planned(tmp_path: Path) -> Planned:
    """`planned(model, schedule)`: the program of a schedule over a traced model."""
    pytest.importorskip("torch")
    return partial(plan_model, tmp_path)
