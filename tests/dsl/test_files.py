from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from streamsched.dsl.files import ReadError, read_schedule


def test_byte_order_mark_and_carriage_returns_are_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.sched"
    path.write_bytes(b"\xef\xbb\xbfschedule a\r\n# caf\xc3\xa9\r\n")
    file = read_schedule(str(path))
    assert file.text == "schedule a\n# café\n"
    assert file.newline == "\r\n"


def test_the_trace_lies_beside_the_schedule(tmp_path: Path) -> None:
    path = tmp_path / "multi_stream.sched"
    path.write_text("schedule a\n")
    file = read_schedule(str(path))
    assert file.trace_path == str(tmp_path / "multi_stream.trace.json.gz")
    assert file.base == str(tmp_path)
    assert file.newline == "\n"


def test_a_trace_never_lies_where_the_schedule_is(tmp_path: Path) -> None:
    path = tmp_path / "overlap.txt"
    path.write_text("schedule a\n")
    assert read_schedule(str(path)).trace_path == str(tmp_path / "overlap.txt.trace.json.gz")


def test_standard_input_has_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"schedule a\n")))
    file = read_schedule("-")
    assert (file.path, file.text, file.base, file.trace_path) == ("<stdin>", "schedule a\n", "", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read {}: no such file or directory"),
        (b"schedule a\n\xff\xfe", "cannot read {}: it is not UTF-8 text (byte 0xff on line 2)"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "a.sched"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        read_schedule(str(path))
    assert str(caught.value) == message.format(path)


def test_a_folder_is_no_schedule(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="is a directory"):
        read_schedule(str(tmp_path))


def test_a_name_that_no_file_can_have() -> None:
    with pytest.raises(ReadError, match="null"):
        read_schedule(f"a{os.sep}\0.sched")
