"""Kernels and packages that torch does not see: declared and checked, or a finding."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from streamsched.dsl.audit import Audited, kernel

pytest.importorskip("torch")

from audits import Auditor

X = "x: f32[8, 8]"

BODY = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        main = torch.cuda.current_stream()
        out = torch.empty_like(x)
        self.side.wait_stream(main)
        with torch.cuda.stream(self.side):
            {launch}
        {join}
        return out + 1
"""
TRITON = """
import torch
import triton
import triton.language as tl

DTYPES = {torch.float32: tl.float32, torch.float16: tl.float16}

@triton.autotune(configs=[triton.Config({"BLOCK": 128}, num_warps=4)], key=["n"])
@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at) * 2)
"""
LAUNCH = "scale_kernel[(triton.cdiv(x.numel(), 128),)](x, out, x.numel(), BLOCK=128, num_warps=4)"
JOIN = "main.wait_stream(self.side)"
RACE = "`add` on `default` reads `out` that `scale_kernel` on `side` writes, and nothing orders them (RAW)"


def source(head: str, launch: str, join: str = JOIN) -> str:
    return head + BODY.replace("{launch}", launch).replace("{join}", join)


def write(name: str, text: str) -> str:
    Path(name).write_text(textwrap.dedent(text))
    return name


@pytest.fixture
def declarations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file that declares the Triton kernel."""
    monkeypatch.chdir(tmp_path)
    text = """
        from streamsched.dsl.audit import declare
        declare("scale_kernel", reads=("x_ptr",), writes=("out_ptr",))
    """
    return write("fakes.py", text)


@pytest.mark.parametrize("fake", [False, True])
def test_a_launch_that_nobody_declared(found: Auditor, fake: bool) -> None:
    (finding,) = found(source(TRITON, LAUNCH), X, fake=fake)
    assert finding.code == "AUD104"
    assert finding.message == "`scale_kernel` is launched, and what it reads and writes is not seen"
    assert finding.at == LAUNCH
    assert "--fakes" in finding.help


@pytest.mark.parametrize("fake", [False, True])
def test_a_launch_that_is_declared_by_name(found: Auditor, declarations: str, fake: bool) -> None:
    (race,) = found(source(TRITON, LAUNCH, "pass"), X, fakes=declarations, fake=fake)
    assert (race.code, race.message) == ("ORD101", RACE)
    assert race.related == (LAUNCH,)
    assert found(source(TRITON, LAUNCH), X, fakes=declarations, fake=fake) == []


def test_a_kernel_that_is_declared_where_it_stands(found: Auditor) -> None:
    head = TRITON.replace("@triton.autotune", '@kernel(reads=("x_ptr",), writes=("out_ptr",))\n@triton.autotune')
    head = "from streamsched.dsl.audit import kernel\n" + head
    (race,) = found(source(head, LAUNCH, "pass"), X)
    assert race.message == RACE
    assert found(source(head, LAUNCH), X) == []


def test_a_declaration_that_names_no_parameter(run: Callable[..., Audited], tmp_path: Path) -> None:
    fakes = str(tmp_path / "fakes.py")
    write(fakes, 'from streamsched.dsl.audit import declare\ndeclare("scale_kernel", reads=("x",))')
    audited = run(source(TRITON, LAUNCH), X, fakes=fakes)
    assert audited.program is None
    assert "names 'x', which is no parameter" in audited.diagnostics[0].message


@pytest.mark.parametrize(
    ("launch", "what"),
    [
        ("ctypes.c_void_p(out.data_ptr())", "out"),
        ("torch.utils.dlpack.to_dlpack(out)", "out"),
        ("out.__dlpack__()", "out"),
        ("out.untyped_storage().data_ptr()", "out"),
        ("out[2:].data_ptr()", "out"),
    ],
)
def test_the_address_of_a_tensor_goes_out_of_sight(found: Auditor, launch: str, what: str) -> None:
    (finding,) = found(source("import ctypes\nimport torch\n", f"{launch}; x + 1"), X)
    assert finding.code == "AUD104"
    assert finding.message == f"the address of `{what}` is taken, and what happens to it is not seen"


EXTENSION = "import torch\nimport absent_ext\nfrom absent_ext.inner import ops\n"


def test_a_package_that_is_not_installed(run: Callable[..., Audited], found: Auditor, tmp_path: Path) -> None:
    text = source(EXTENSION, "ops.scale(out, x)", "pass")
    (finding,) = run(text, X).diagnostics
    assert finding.message == "importing m.py fails: ModuleNotFoundError: No module named 'absent_ext'"
    assert finding.help == 'a --fakes file can stand in for it: `missing_module("absent_ext", ...)`'

    fakes = write(
        str(tmp_path / "fakes.py"),
        """
        from types import SimpleNamespace
        from streamsched.dsl.audit import kernel, missing_module

        @kernel(reads=("x",), writes=("out",))
        def scale(out, x):
            raise AssertionError("it is not called")

        missing_module("absent_ext.inner", ops=SimpleNamespace(scale=scale))
        """,
    )
    (race,) = found(text, X, fakes=fakes)
    assert race.code == "ORD101" and "`scale` on `side`" in race.message
    assert found(source(EXTENSION, "ops.scale(out, x)"), X, fakes=fakes) == []
    assert run(text, X).program is None, "the module is not there for the next audit"


def test_what_a_package_is_not_said_to_offer(found: Auditor, tmp_path: Path) -> None:
    fakes = str(tmp_path / "fakes.py")
    write(fakes, 'from streamsched.dsl.audit import missing_module\nmissing_module("absent_ext")')
    (finding,) = found(source("import torch\nimport absent_ext\n", "absent_ext.scale(out, x)"), X, fakes=fakes)
    assert finding.code == "AUD104"
    assert finding.message == "`absent_ext.scale` is launched, and what it reads and writes is not seen"


@pytest.mark.parametrize("fake", [False, True])
def test_an_operator_of_a_package_that_is_not_installed(
    run: Callable[..., Audited], found: Auditor, tmp_path: Path, fake: bool
) -> None:
    launch = "torch.ops.absent.scale(out, x)"
    (finding,) = run(source("import torch\n", launch), X).diagnostics
    assert finding.help == ('a --fakes file can register it: `@torch.library.custom_op("absent::scale", ...)`')
    fakes = write(
        str(tmp_path / "fakes.py"),
        """
        import torch

        @torch.library.custom_op("absent::scale", mutates_args=("out",))
        def scale(out: torch.Tensor, x: torch.Tensor) -> None:
            pass

        @scale.register_fake
        def _(out, x):
            pass
        """,
    )
    (race,) = found(source("import torch\n", launch, "pass"), X, fakes=fakes, fake=fake)
    assert race.message == "`add` on `default` reads `out` that `scale` on `side` writes, and nothing orders them (RAW)"
    assert found(source("import torch\n", launch), X, fakes=fakes, fake=fake) == []


def test_an_operator_of_torch_npu(found: Auditor, tmp_path: Path) -> None:
    fakes = write(
        str(tmp_path / "fakes.py"),
        """
        import torch

        @torch.library.custom_op("npu::npu_scale", mutates_args=())
        def npu_scale(x: torch.Tensor) -> torch.Tensor:
            return torch.empty_like(x)
        """,
    )
    text = source("import torch, torch_npu\n", "out = torch_npu.npu_scale(x)", "pass").replace("cuda", "npu")
    (race,) = found(text, X, fakes=fakes, target="npu")
    assert race.code == "ORD101" and "`npu_scale` on `side`" in race.message


DEFINED = """
import torch

torch.library.define("absent::twice", "(Tensor x) -> Tensor")

@torch.library.register_fake("absent::twice")
def twice(x):
    return torch.empty_like(x)
"""


def test_an_operator_that_computes_no_values(run: Callable[..., Audited], tmp_path: Path) -> None:
    text, fakes = source("import torch\n", "out = torch.ops.absent.twice(x)"), tmp_path / "fakes.py"
    fakes.write_text(DEFINED)
    (finding,) = run(text, X, fakes=str(fakes)).diagnostics
    assert finding.code == "TRC102"
    assert finding.message.endswith(": `absent::twice` has no implementation for the CPU")
    register = '@torch.library.impl("absent::twice", "cpu")'
    assert finding.help == f"run without values, with --fake, or register one: `{register}`"
    assert run(text, X, fakes=str(fakes), fake=True).program is not None
    fakes.write_text(f"{DEFINED}\n{register}\ndef values(x):\n    return x * 2\n")
    assert run(text, X, fakes=str(fakes)).program is not None


def test_a_list_of_tensors_is_declared_by_the_name_of_the_list(found: Auditor) -> None:
    head = """
import torch
from streamsched.dsl.audit import kernel

@kernel(reads=("xs",), writes=("outs",))
def fused(xs, outs):
    raise AssertionError("it is not called")
"""
    (race,) = found(source(head, "fused([x, x], (out,))", "pass"), X)
    assert race.message == "`add` on `default` reads `out` that `fused` on `side` writes, and nothing orders them (RAW)"


def test_without_an_audit_a_declared_function_is_called() -> None:
    @kernel(reads=("x",), writes=("out",))
    def scale(x: int, out: int = 3) -> int:
        return x + out

    class Launched:
        def __init__(self, fn: Callable[..., int]) -> None:
            self.fn = fn

        def __getitem__(self, grid: object) -> Callable[..., int]:
            return self.fn

    launched = kernel(reads=("x",))(Launched(lambda x: x * 2))  # type: ignore[type-var]
    assert scale(1) == 4
    assert launched[(1,)](4) == 8


def test_a_declaration_of_what_is_no_parameter() -> None:
    def scale(x: object, out: object) -> None: ...

    with pytest.raises(TypeError, match=r"scale\(\) has no parameter 'y': it has x, out"):
        kernel(reads=("y",))(scale)
    with pytest.raises(TypeError, match="tuples of names"):
        kernel(reads="x")(scale)  # type: ignore[arg-type]
