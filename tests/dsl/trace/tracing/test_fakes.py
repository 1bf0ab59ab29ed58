"""`fakes`: torch_npu's ops by what the user says that they return."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from streamsched.dsl.diagnostic import Span
from streamsched.dsl.pipeline import load, load_trace
from streamsched.dsl.trace.export import Traced
from streamsched.dsl.trace.store import load as load_saved
from streamsched.dsl.trace.store import save

EXAMPLE = Path(__file__).parents[4] / "examples" / "w8a8_shared_expert"
AT = Span("test.sched", 3, 1, 3, 17)

FAKES = (EXAMPLE / "fakes.py").read_text()


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the W8A8 example whose schedule names a file of fakes."""
    shutil.copy(EXAMPLE / "model.py", tmp_path)
    text = (EXAMPLE / "w8a8_shared_expert.sched").read_text()
    path = tmp_path / "w8a8_shared_expert.sched"
    path.write_text(text.replace('model "model.py:build"', 'model "model.py:build"\nfakes "fakes.py"'))
    (tmp_path / "fakes.py").write_text(FAKES)
    return path


def test_the_trace_is_the_one_made_under_the_simulated_npu(example: Path) -> None:
    saved = load_saved(EXAMPLE / "w8a8_shared_expert.trace.json.gz", AT)
    made = load_trace(str(example))
    assert made.trace is not None and saved.trace is not None, made.diagnostics
    assert made.trace.digest == saved.trace.digest
    assert "torch_npu" not in sys.modules


def test_a_trace_is_stale_when_the_fakes_change(example: Path) -> None:
    made = load_trace(str(example))
    assert made.trace is not None
    assert "fakes.py" in dict(made.trace.sources)
    save(made.trace, example.with_suffix(".trace.json.gz"))
    assert load(str(example)).diagnostics == ()
    (example.parent / "fakes.py").write_text(FAKES + "\n# edited\n")
    (found,) = load(str(example)).diagnostics
    assert found.code == "SEL105" and "fakes.py has changed" in found.message


MODEL = """
import torch_npu

class Model(nn.Module):
    def forward(self, x):
        return torch_npu.npu_rms_norm(x, x[0])[0]
"""


def test_an_op_without_a_fake_is_named(attempt: Callable[..., Traced], tmp_path: Path) -> None:
    (tmp_path / "fakes.py").write_text(FAKES)
    (found,) = attempt(MODEL, {"fakes": "fakes.py", "fakes_span": AT}, x=(4, 4)).diagnostics
    assert found.code == "TRC114"
    assert "torch_npu.npu_rms_norm has no fake" in found.message
    assert found.help == "register one for the op `npu::npu_rms_norm` there"


def test_a_file_of_fakes_that_is_not_there(attempt: Callable[..., Traced]) -> None:
    (found,) = attempt(MODEL, {"fakes": "fakes.py", "fakes_span": AT}, x=(4, 4)).diagnostics
    assert (found.code, found.span) == ("TRC101", AT)


def test_libraries_still_see_no_npu(attempt: Callable[..., Traced], tmp_path: Path) -> None:
    (tmp_path / "fakes.py").write_text(FAKES)
    source = """
    from transformers.utils import is_torch_npu_available

    class Model(nn.Module):
        def forward(self, x):
            assert not is_torch_npu_available()
            return x + 1
    """
    pytest.importorskip("transformers")
    assert attempt(source, {"fakes": "fakes.py", "fakes_span": AT}, x=(4, 4)).diagnostics == ()
