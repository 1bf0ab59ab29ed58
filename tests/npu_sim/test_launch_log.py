"""The launch log's lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from streamsched.npu_sim.log import Operand, Record, parse_line, read

SHAPE = {"bytes": 24, "dtype": "f32", "shape": [2, 3], "strides": [3, 1]}
LAUNCH = json.dumps(
    {"order": 7, "call": "launch", "stream": 3, "operator": "aclnnAdds", "node": 2, "graph": 1, "aic": 24, "aiv": 48}
    | {
        "operands": [
            {"name": "self", "direction": "in", "address": 4096} | SHAPE,
            {"name": "out", "direction": "out", "address": 8192} | SHAPE,
        ]
    }
)


def test_launch() -> None:
    record = parse_line(LAUNCH)
    assert (record.order, record.stream, record.graph, record.node, record.aic, record.aiv) == (7, 3, 1, 2, 24, 48)
    assert record.outputs == (Operand("out", "out", 8192, 24, "f32", (2, 3), (3, 1)),)
    assert [operand.reads for operand in record.operands] == [True, False]
    assert record.describe() == "s3 Adds"


def test_wait_for_nothing() -> None:
    record = parse_line('{"order": 1, "call": "wait", "stream": 3, "event": 4, "note": "never recorded"}')
    assert record.describe() == "s3 wait e4 (never recorded)"


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(LAUNCH + "\n" + '{"order": 8, "call": "replay", "stream": 1, "graph": 1}' + "\n")
    assert [record.call for record in read(path)] == ["launch", "replay"]


def test_unknown_call_is_refused() -> None:
    with pytest.raises(AssertionError):
        Record(order=0, call="sing")


def test_what_the_device_writes(scenarios: dict[str, Any]) -> None:
    assert scenarios["log_lines"] == [
        [
            "aclnnCat",
            [
                ["tensors[0]", "in", 1024, [16, 16], "f32"],
                ["tensors[1]", "in", 1024, [16, 16], "f32"],
                ["out", "out", 2048, [32, 16], "f32"],
            ],
        ],
        ["aclnnInplaceAdds", [["self", "inout", 2048, [32, 16], "f32"]]],
    ]
