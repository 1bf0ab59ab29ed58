"""Outputs held against each other, whatever their dtype and whatever holds them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from streamsched.verify.compare import differences
from streamsched.verify.verdict import Difference

DTYPES = (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.float8_e8m0fnu, torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.int8, torch.int16,
    torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64,
)  # fmt: skip


def compared(found: object, expected: object) -> list[Difference]:
    return list(differences(found, expected, "an order", 0))


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_element_that_differs_is_found_in_every_dtype(dtype: torch.dtype) -> None:
    ones = torch.ones(3, 2).to(dtype)
    other = torch.ones(3, 2).index_fill(0, torch.tensor([1]), 0.0).to(dtype)
    assert compared(ones, ones.clone()) == []
    (found,) = compared(other, ones)
    assert (found.differing, found.total) == (2, 6)
    assert found.largest == pytest.approx(1.0)
    assert compared(ones[0, 0], ones[0, 0].clone()) == []


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.is_floating_point], ids=str)
def test_nan_equals_nan_and_nothing_else(dtype: torch.dtype) -> None:
    nan = torch.full((2,), float("nan")).to(dtype)
    assert compared(nan, nan.clone()) == []
    assert len(compared(nan, torch.ones(2).to(dtype))) == 1


def test_a_complex_number_is_compared_in_both_its_parts() -> None:
    one = torch.tensor([1 + 2j, complex(float("nan"), 1)])
    assert compared(one, one.clone()) == []
    (imaginary,) = compared(one, torch.tensor([1 + 5j, complex(float("nan"), 1)]))
    assert (imaginary.differing, imaginary.largest) == (1, 3.0)
    assert len(compared(one, torch.tensor([1 + 2j, complex(float("nan"), 2)]))) == 1
    assert compared(one[:1].conj(), torch.tensor([1 - 2j])) == []


def test_bits_count_so_zero_has_a_sign() -> None:
    assert len(compared(torch.tensor([0.0]), torch.tensor([-0.0]))) == 1
    assert compared(torch.tensor([7.0]), torch.tensor([7.0]).to_sparse().to_dense()) == []


def test_int64_differences_beyond_what_a_double_holds_are_found() -> None:
    (found,) = compared(torch.tensor([2**60]), torch.tensor([2**60 + 1]))
    assert found.differing == 1


@dataclass
class Output:
    logits: torch.Tensor
    cache: object = None


class Cache:
    """An object that says nothing of what equals it."""

    def __init__(self, keys: torch.Tensor) -> None:
        self.layers = [{"keys": keys}]


def test_dataclasses_and_objects_are_compared_inside() -> None:
    def output(value: float) -> Output:
        return Output(torch.ones(2), Cache(torch.full((2,), value)))

    assert compared(output(1.0), output(1.0)) == []
    (found,) = compared(output(2.0), output(1.0))
    assert found.where == "output.cache.layers[0]['keys']"


def test_what_has_another_form_differs_as_a_whole() -> None:
    one = torch.ones(2)
    assert compared([one], (one,)) == []
    assert [d.where for d in compared(Output(one), {"logits": one})] == ["output"]
    assert [d.where for d in compared([one, one], [one])] == ["output"]
    assert [d.where for d in compared({"a": one}, {"b": one})] == ["output"]
    assert compared((float("nan"), None, "x"), (float("nan"), None, "x")) == []
    assert len(compared((1, None), (2, one))) == 2
