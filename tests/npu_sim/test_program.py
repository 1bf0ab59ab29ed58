"""`python -m streamsched.npu_sim`: programs as they are, under an order, with a log."""

import subprocess
import sys
from pathlib import Path

import pytest

from streamsched.npu_sim.log import read

PROGRAM = Path(__file__).with_name("program_child.py")


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "streamsched.npu_sim", *options, str(PROGRAM)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.usefixtures("simulated")
@pytest.mark.parametrize(("order", "wrong"), [("serial", 0), ("side_first", 1)])
def test_order(order: str, wrong: int) -> None:
    done = run("--order", order)
    assert done.stdout.splitlines()[-1] == f"RESULT {wrong}", done.stderr


@pytest.mark.usefixtures("simulated")
def test_log_says_what_is_written_only_sometimes(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    run("--log", str(path))
    training, evaluation = (record for record in read(path) if record.operator == "aclnnBatchNorm")
    directions = [{operand.name: operand.direction for operand in record.operands} for record in (training, evaluation)]
    assert [names["running_mean"] for names in directions] == ["inout", "in"]


def test_no_such_order() -> None:
    done = run("--order", "fastest")
    assert done.returncode == 2 and "no stream order: 'fastest'" in done.stderr
