"""What the inputs of a verification hold: integers that fit what they index, and ranges that users give."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from streamsched.verify.bounds import index_bounds
from streamsched.verify.ranges import Range, parse_range
from streamsched.verify.samples import Input, bounded, fill_parameters, sample_inputs
from streamsched.verify.verdict import CannotRunError

IDS = Input("ids", torch.int64, (64, 8))


def test_a_range_is_read_with_both_ends() -> None:
    assert parse_range("ids=0..31999") == Range("ids", 0, 31999)
    assert parse_range(" state['k'] = -3 .. 4 ") == Range("state['k']", -3, 4)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("ids", 'write NAME=LOW..HIGH, such as "ids=0..31999"'),
        ("ids=4", "write NAME=LOW..HIGH"),
        ("=0..4", "write NAME=LOW..HIGH"),
        ("ids=4..0", "write the lower end first: ids=0..4"),
    ],
)
def test_a_text_that_is_no_range_is_told_what_to_type(text: str, advice: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        parse_range(text)
    assert advice in str(error.value)


def test_integers_are_drawn_from_the_whole_range_and_not_beyond() -> None:
    (entry,) = bounded((IDS,), [Range("ids", -2, 2)])
    (sample,) = sample_inputs((entry,), 0, {})
    assert sample.unique().tolist() == [-2, -1, 0, 1, 2]
    (largest,) = sample_inputs(bounded((Input("x", torch.int8, (4,)),), [Range("x", 127, 127)]), 0, {})
    assert largest.tolist() == [127] * 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Range("idss", 0, 4), "there is no input `idss`; did you mean `ids`?"),
        (Range("z", 0, 4), "the inputs are ids, x, small"),
        (Range("x", 0, 4), "input `x` is float32; only integers are drawn from a range"),
        (Range("small", 0, 300), "input `small` is int8, which holds -128..127"),
    ],
)
def test_a_range_that_fits_no_input_is_refused(given: Range, message: str) -> None:
    inputs = (IDS, Input("x", torch.float32, (2,)), Input("small", torch.int8, (2,)))
    with pytest.raises(CannotRunError) as error:
        bounded(inputs, [given])
    assert message in str(error.value)


def test_complex_inputs_and_parameters_have_imaginary_parts() -> None:
    (sample,) = sample_inputs((Input("z", torch.complex64, (8,)),), 0, {})
    assert sample.imag.abs().min() > 0
    module = nn.Module()
    module.weight = nn.Parameter(torch.zeros(8, dtype=torch.complex64))
    fill_parameters(module, 0)
    assert module.weight.imag.abs().min() > 0


class Indexing(nn.Module):
    """Looks up in tables of several sizes, in several ways."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(100, 4)
        self.places = nn.Embedding(30, 4)

    def forward(self, ids: torch.Tensor, at: torch.Tensor, row: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        y = self.words(ids.view(-1).int()) + self.places(ids.reshape(-1))
        y = y + x[:, at].sum() + torch.gather(x, 0, row).sum()
        return y + (ids + 1).sum()


def test_integers_are_bounded_by_the_smallest_thing_that_they_index() -> None:
    inputs = [torch.zeros(2, 3).long(), torch.zeros(4).long(), torch.zeros(1, 5).long(), torch.zeros(6, 9)]
    model = Indexing()
    assert index_bounds(lambda: model(*inputs), inputs) == [30, 9, 6, None]


def test_what_raises_keeps_the_bounds_found_so_far() -> None:
    ids = torch.zeros(2).long()

    def call() -> None:
        nn.functional.embedding(ids, torch.zeros(5, 2))
        raise RuntimeError

    assert index_bounds(call, [ids]) == [5]
