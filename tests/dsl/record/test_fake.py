"""Audits without values: the same program as with values, and an end where somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from streamsched.dsl.audit import Audited
from streamsched.dsl.program.steps import Program

pytest.importorskip("torch")

X = "x: f32[8, 8]"

EVERYTHING = """
import torch
import torch.nn.functional as F
import torch.distributed._functional_collectives as funcol

@torch.library.custom_op("tried::scale_", mutates_args=("x",))
def scale_(x: torch.Tensor, by: float) -> None:
    x.mul_(by)

@scale_.register_fake
def _(x, by):
    pass

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.done = torch.cuda.Event()
        self.up = torch.nn.Linear(8, 8)
        self.norm = torch.nn.RMSNorm(8)
        self.register_buffer("cache", torch.zeros(4, 8, 8))
        self.host = torch.empty(8, 8, pin_memory=True)

    def forward(self, x):
        main = torch.cuda.current_stream()
        h = self.norm(self.up(x))
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            out = torch.empty_like(h)
            torch.mm(h, h.t(), out=out)
            self.cache[1].copy_(out)
            h.record_stream(self.side)
            self.done.record()
        a = h.view(2, 4, 8)
        a = F.scaled_dot_product_attention(a, a, a).reshape(8, 8)
        a[0, 1:3].fill_(2.0)
        a.add_(1)
        scale_(a, 2.0)
        b = funcol.all_reduce(a, "sum", torch.distributed.group.WORLD)
        b = b + 1
        torch.distributed.all_reduce(a)
        self.host.copy_(b, non_blocking=True)
        c = self.cache[0].to("cuda", non_blocking=True) + torch.tensor([1.0], device="cuda")
        self.done.wait()
        left, right = c.chunk(2)
        del b, c
        return left + right, out + torch.where(a > 0, a, 0.0), {"kept": a.t()}
"""


def steps(program: Program) -> list[object]:
    """What was issued, with the names of what it touches and where it stands."""
    names = [storage.name for storage in program.storages]

    def step(each: object) -> object:
        return (
            each.kind.value,
            program.streams[each.stream].name if each.stream >= 0 else each.stream,
            each.name,
            [names[number] for number in each.reads],
            [names[number] for number in each.writes],
            each.storage,
            each.source,
            each.via,
        )

    return [step(each) for each in program.steps]


def test_a_run_without_values_is_the_same_program(run: Callable[..., Audited]) -> None:
    real, fake = run(EVERYTHING, X, world=4), run(EVERYTHING, X, world=4, fake=True)
    assert real.program is not None and fake.program is not None, (real.diagnostics, fake.diagnostics)
    assert steps(fake.program) == steps(real.program)
    assert fake.diagnostics == real.diagnostics
    assert fake.program.storages == real.program.storages


LARGE = """
import torch

class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(1 << 20, 1 << 20) for _ in range(4))

    def forward(self, x):
        main = torch.cuda.current_stream()
        assert x.device == torch.device("cuda", 0) and x.is_cuda and not x.is_meta and not x.is_cpu
        assert self.layers[0].weight.device.type == "cuda"
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            y = self.layers[0](x)
        {join}
        for layer in self.layers:
            y = layer(y)
        return y

built = M()
"""


@pytest.mark.parametrize("attribute", ["M", "built"])
def test_a_model_of_any_size(run: Callable[..., Audited], attribute: str) -> None:
    large = "x: bf16[65536, 1048576]"
    if attribute == "built":  # what is made by the import lies on the CPU, and is small here
        source = LARGE.replace("1 << 20", "8")
        large = "x: f32[8, 8]"
    else:
        source = LARGE.replace("built = M()\n", "")
    racy = run(source.format(join="pass"), large, fake=True, attribute=attribute)
    assert [each.code for each in racy.diagnostics] == ["ORD101"]
    clean = run(source.format(join="main.wait_stream(self.side)"), large, fake=True, attribute=attribute)
    assert clean.program is not None and not clean.diagnostics


HOST = """
import torch

@torch.library.custom_op("tried::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2

def forward(x):
    host = torch.empty(8, 8)
    pinned = torch.empty(8, 8, pin_memory=True)
    {line}
    return x + 1
"""


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("x.sum().item()", "item"),
        ("float(x.sum())", "item"),
        ("x.cpu()", "cpu"),
        ("x.to('cpu')", "cpu"),
        ("x.cpu().numpy()", "cpu"),
        ("x.tolist()", "tolist"),
        ("pinned.numpy()", "numpy"),
        ("x[x > 0]", "index"),
        ("torch.nonzero(x)", "nonzero"),
        ("torch.unique(x)", "unique"),
        ("torch.equal(x, x)", "equal"),
        ("host.copy_(x)", "copy_"),
        ("x = x if x.sum() > 0 else -x", "bool"),
        ("pinned.copy_(x); torch.cuda.synchronize(); pinned[0, 0].item()", "item"),
    ],
)
def test_who_looks_at_values_ends_the_run(run: Callable[..., Audited], line: str, what: str) -> None:
    source = HOST.format(line=line)
    audited = run(source, X, attribute="forward", fake=True)
    assert audited.program is None
    (finding,) = audited.diagnostics
    assert finding.code == "AUD201"
    assert finding.message == f"`{what}` needs the values of a tensor, and a run with --fake has none"
    assert source.splitlines()[finding.span.line - 1].strip() == line
    assert finding.help == "leave out --fake: the code then runs on small values"
    assert run(source, X, attribute="forward").program is not None


def test_who_hides_that_he_looked_at_values_ends_the_run(run: Callable[..., Audited]) -> None:
    swallowed = "\n    ".join(("try:", "    n = int(x.sum())", "except Exception:", "    n = 1"))
    audited = run(HOST.format(line=swallowed), X, attribute="forward", fake=True)
    assert audited.program is None
    assert [(each.code, each.span.line) for each in audited.diagnostics] == [("AUD201", 12)]


def test_what_lies_on_the_host_has_values(run: Callable[..., Audited]) -> None:
    line = "assert torch.arange(4).tolist() == [0, 1, 2, 3] and host.fill_(2.0).sum().item() == 128"
    assert run(HOST.format(line=line), X, attribute="forward", fake=True).program is not None


def test_an_operator_without_a_fake(run: Callable[..., Audited]) -> None:
    audited = run(HOST.format(line="x = twice(x)"), X, attribute="forward", fake=True)
    (finding,) = audited.diagnostics
    assert finding.code == "AUD202"
    assert finding.message == "`tried::twice` has no fake implementation, which a run with --fake needs"
    assert finding.span.line == 11
    assert "register_fake" in (finding.help or "")
