"""Memory that is given back and taken anew under a tensor that lives on."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8, 8]"
FREES = [
    "full.untyped_storage().resize_(0)",
    "full._typed_storage()._resize_(0)",
    "full.data = torch.empty(0, device='cuda')",
]


def model(*lines: str) -> str:
    head = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.kept = torch.empty(8, 8, device="cuda")
        self.kept.untyped_storage().resize_(0)

    def forward(self, x):
        main = torch.cuda.current_stream()
        self.side.wait_stream(main)
"""
    return head + "".join(f"        {line}\n" for line in lines)


def gathered(*frees: str) -> str:
    return model(
        "with torch.cuda.stream(self.side):",
        "    full = torch.ones(8, 8, device='cuda')",
        "main.wait_stream(self.side)",
        "y = x @ full",
        *frees,
        "with torch.cuda.stream(self.side):",
        "    other = torch.zeros(8, 8, device='cuda')",
        "main.wait_stream(self.side)",
        "return y",
    )


@pytest.mark.parametrize("fake", [False, True])
@pytest.mark.parametrize("free", FREES)
def test_memory_of_a_storage_that_is_emptied_goes_to_others(found: Auditor, free: str, fake: bool) -> None:
    (finding,) = found(gathered(free), X, remarks=True, fake=fake)
    assert (finding.code, finding.at) == ("MEM101", "y = x @ full")
    assert free in finding.related


@pytest.mark.parametrize("free", FREES)
def test_record_stream_protects_it(found: Auditor, free: str) -> None:
    assert not found(gathered("full.record_stream(main)", free), X, remarks=True)


def test_memory_taken_anew_belongs_to_the_stream_that_takes_it(found: Auditor) -> None:
    unshard = (
        "with torch.cuda.stream(self.side):",
        "    self.kept.untyped_storage().resize_(256)",
        "    self.kept.copy_(x)",
    )
    reshard = "self.kept.untyped_storage().resize_(0)"
    reads = ("main.wait_stream(self.side)", "y = x + self.kept")
    assert not found(model(*unshard, *reads, reshard, "return y"), X)  # the next call's side waits for the read
    raced = found(model(*unshard, "y = x + self.kept", "main.wait_stream(self.side)", "return y"), X)
    assert ("ORD101", "y = x + self.kept") in [(each.code, each.at) for each in raced]
    again = model(*unshard, *reads, reshard, *unshard, "main.wait_stream(self.side)", "return y")
    assert [(each.code, each.at) for each in found(again, X)] == [("MEM101", "y = x + self.kept")]


def test_what_grows_is_copied(found: Auditor) -> None:
    grown = model(
        "with torch.cuda.stream(self.side):",
        "    full = torch.ones(8, 8, device='cuda')",
        "full.untyped_storage().resize_(512)",
        "main.wait_stream(self.side)",
        "return x + full",
    )
    (finding,) = found(grown, X)
    assert (finding.code, finding.at) == ("ORD101", "full.untyped_storage().resize_(512)")
