"""What cannot be compared ends with exit code 2 and says why; what differs ends with 1."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamsched.cli.main import main

HEAD = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.streamsched]\nignore = ["PRF"]\n')  # the models are one op long
    return tmp_path


def write(folder: Path, forward: str, head: str = HEAD, spec: str = "x: f32[4, 4]") -> None:
    (folder / "model.py").write_text(head + "".join(f"        {line}\n" for line in forward.splitlines()))
    (folder / "m.sched").write_text(
        f'schedule m\n\nmodel "model.py:Model"\ninput {spec}\nsync auto\nstream s\nvalue "b" on s\n'
    )


def run(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["verify", "m.sched", "--orders", "1", "--calls", "1", *arguments])
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err or "--verbose" in arguments
    return code, out, err


RAISING = 'if x.device.type == "cpu":\n    raise ValueError("no")\nb = x + 1\nreturn b'


def test_an_original_that_raises(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(folder, RAISING)
    code, out, err = run(capfd)
    assert (code, out) == (2, "")
    said = "error: cannot run: the original forward raises on random inputs: ValueError: no"
    assert err == f"{said}\n--verbose shows the traceback\n"
    code, _, err = run(capfd, "--verbose")
    assert code == 2
    assert 'model.py", line 8, in forward' in err


def test_a_real_difference(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(folder, 'b = x + (1 if x.device.type == "cpu" else 2)\nreturn b')  # another op than was traced
    code, out, _ = run(capfd)
    assert code == 1
    assert "cpu: DIFFERS: output of call 1 under the generated forward: 16 of 16 elements differ, by up to 1" in out


def test_an_index_out_of_range_asks_for_a_range(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    head = HEAD.replace("def forward(self, x)", "def forward(self, ids)")
    write(folder, "y = ids * 5\nb = torch.arange(20, device=ids.device)[y]\nreturn b", head, "ids: i64[16]")
    code, _, err = run(capfd)
    assert code == 2
    assert 'bound `ids` with --range "ids=LOW..HIGH"' in err
    code, out, err = run(capfd, "--range", "ids=0..3")
    assert (code, err) == (0, ""), out
    code, _, err = run(capfd, "--range", "idx=0..3")
    assert (code, err) == (2, "error: --range: there is no input `idx`; did you mean `ids`?\n")
    code, _, err = run(capfd, "--range", "ids:3")
    assert code == 2
    assert "write NAME=LOW..HIGH" in err


def test_an_index_is_bounded_by_what_it_indexes(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    head = HEAD.replace("def forward(self, x)", "def forward(self, ids)")
    write(folder, "b = torch.arange(3, device=ids.device)[ids]\nreturn b", head, "ids: i64[64]")
    code, out, err = run(capfd)
    assert (code, err) == (0, ""), out


@pytest.mark.parametrize("helper", [False, True], ids=["the model", "a helper"])
def test_a_model_for_the_npu_is_sent_to_its_engine(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, helper: bool
) -> None:
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    head = HEAD.replace(
        "import torch\n", "import torch\nimport helper\n" if helper else "import torch\nimport torch_npu\n"
    )
    (folder / "helper.py").write_text("import torch_npu\n")
    write(folder, "b = torch_npu.npu_swiglu(x)\nreturn b", head)
    code, out, err = run(capfd)
    assert (code, out) == (2, "")
    assert (
        err
        == "error: the model imports torch_npu, which does not run on a CPU: use --engine npu or --engine npugraph_ex\n"
    )
    code = main(["trace", "m.sched"])
    assert code == 1
    assert "it imports torch_npu, which is not installed here: pip install 'streamsched[npu]'" in capfd.readouterr().err


def test_findings_of_a_stand_in_show_the_option(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(folder, "b = x + 1\nreturn b")
    code, _, err = run(capfd, "--input", "x: f99[4]")
    assert code == 2  # wrong use, as any other value that an option does not take
    assert "Invalid value for --input" in err and "f99" in err
    code, _, err = run(capfd, "--model", "model.py:Modle")
    assert code == 1
    assert " --> --model:1:1\n" in err
    assert '1 | model "model.py:Modle"' in err
    code, _, err = run(capfd, "--input", "y: f32[4, 4]")
    assert code == 1
    assert "1 | input y: f32[4, 4]" in err


def test_other_findings_keep_the_lines_of_the_file(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(folder, "b = x + 1\nreturn b")
    with (folder / "m.sched").open("a") as schedule:
        schedule.write('value "c" on s\n')
    code, _, err = run(capfd, "--input", "x: f32[4,\n 4]".replace("\n", ""), "--model", "model.py:Model")
    assert code == 1
    assert " --> m.sched:8:1\n" in err or " --> m.sched:8:7\n" in err
    assert '8 | value "c" on s' in err


def test_a_stand_in_is_one_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(folder, "b = x + 1\nreturn b")
    code, _, err = run(capfd, "--input", "x: f32[4]\nstream t")
    assert code == 2
    assert "--input takes one line; repeat the option for more inputs" in err
    code, out, err = run(capfd, "--input", "x: f32[2, 3]")
    assert (code, err) == (0, ""), out


def test_the_help_tells_the_exit_codes(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--help"]) == 0
    out = capfd.readouterr().out
    assert "0  all outputs agree" in out
    assert "2  nothing could be compared" in out


def test_inputs_without_data(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(folder, "b = x + 1\nreturn b")
    with (folder / "model.py").open("a") as model:
        model.write('\n\ndef inputs():\n    return {"x": torch.ones(4, dtype=torch.long, device="meta")}\n')
    schedule = folder / "m.sched"
    schedule.write_text(schedule.read_text().replace("input x: f32[4, 4]", 'inputs from "model.py:inputs"'))
    code, out, err = run(capfd)
    assert (code, out) == (2, "")
    assert "input `x` is made on the meta device, which holds no data; name no device" in err
