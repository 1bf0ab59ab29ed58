"""An exception in one line: what its first lines say, and what is behind it."""

from __future__ import annotations

import pytest

from streamsched.npu_sim import orders
from streamsched.verify.causes import in_words
from streamsched.verify.render import render
from streamsched.verify.unsupported import original_raises
from streamsched.verify.verdict import Verdict


class BackendCompilerFailed(Exception):  # noqa: N818
    """Named as torch's, and holding what the backend raised as it does."""

    def __init__(self, inner: Exception) -> None:
        super().__init__(f"backend='npugraph_ex' raised:\n{inner}")
        self.inner_exception = inner


def caused(outer: Exception, inner: Exception) -> Exception:
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (ValueError("\n\nboom:\n\n  the gate is shut\n  and more"), "ValueError: boom: the gate is shut"),
        (BackendCompilerFailed(ImportError("No module named 'packaging'")), "ImportError: No module named 'packaging'"),
        (caused(ValueError("no weights"), KeyError("gate")), "ValueError: no weights, caused by KeyError: 'gate'"),
        (
            BackendCompilerFailed(caused(RuntimeError("no"), OSError("full"))),
            "RuntimeError: no, caused by OSError: full",
        ),
    ],
)
def test_in_words(error: Exception, words: str) -> None:
    assert in_words(error) == words


def test_a_cause_that_is_suppressed_is_not_told() -> None:
    error = ValueError("no")
    error.__context__ = KeyError("gate")
    assert in_words(error) == "ValueError: no, caused by KeyError: 'gate'"
    error.__suppress_context__ = True
    assert in_words(error) == "ValueError: no"


def test_who_is_to_blame() -> None:
    said = str(original_raises(BackendCompilerFailed(ValueError("no"))))
    assert said == "cannot run: npugraph_ex cannot compile the original: ValueError: no"
    said = str(original_raises(ValueError("no")))
    assert said == "cannot run: the original forward raises on random inputs: ValueError: no"
    said = str(original_raises(IndexError("index 9 is out of range"), ("ids", "mask")))
    assert said.endswith('; bound one of `ids`, `mask` with --range "ids=LOW..HIGH"')


class TorchDynamoException(Exception):  # noqa: N818
    """Named as torch's."""


def test_what_torch_compile_meets_in_the_model_is_the_models_own() -> None:
    seen = TorchDynamoException("raised exception ValueError('boom:\\n  the gate is shut')")
    said = str(original_raises(caused(TorchDynamoException("Observed exception"), seen)))
    assert said == "cannot run: the original forward raises on random inputs: ValueError: boom: the gate is shut"
    said = str(original_raises(TorchDynamoException("a graph break")))
    assert said == "cannot run: torch.compile cannot trace the original: TorchDynamoException: a graph break"


def test_orders_have_one_spelling_and_a_short_one() -> None:
    chosen = (orders.SIDE_FIRST, orders.SIDE_LAST, *map(orders.random_order, (3, 4, 5, 9)))
    text = render(Verdict("npu", "this against that", tuple(order.words for order in chosen), 1))
    assert "1 call each: side streams first, side streams last, random orders 3..5, random order 9\n" in text
