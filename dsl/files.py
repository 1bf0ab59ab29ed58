"""Schedules as they lie on disk: where the text is, how it is read, and where its trace lies."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
from dataclasses import dataclass

STDIN = "-"
STDIN_NAME = "<stdin>"
SUFFIX = ".sched"
TRACE_SUFFIX = ".trace.json.gz"
_HANDED_OVER = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def file_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file.

    Raises OSError, also for what is no regular file and would be waited for: a pipe, a device. Those that a shell
    hands over by a name of its own, as for `<(command)`, are read.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and not os.fspath(path).startswith(_HANDED_OVER):
        raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
    with open(path, "rb") as file:
        return file.read()


def readable_name(path: str) -> str:
    """A file's name as it may be printed: what is no text, or moves the cursor of a terminal, is escaped."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in path)


class ReadError(Exception):
    """A file that cannot be read as text. Its message names the file and says why, for people."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"cannot read {readable_name(file)}: {why}")
        self.file = file
        self.why = why


@dataclass(frozen=True, slots=True)
class ScheduleFile:
    """The text of a schedule and where it comes from.

    `path` is as the user typed it, `<stdin>` for standard input. `text` has neither byte order mark nor carriage
    returns; `newline` is the line end to write back, `mark` the byte order mark, empty for none. `base` is the folder
    that paths in the schedule are relative to. `trace_path` is where the saved trace lies, empty for standard input.
    """

    path: str
    text: str
    base: str
    trace_path: str
    newline: str = "\n"
    mark: str = ""

    def on_disk(self, text: str) -> str:
        """`text` as it is to be written in place of this file: with its byte order mark, if it has one, and line ends.

        Mixed line ends all become `newline`.
        """
        return self.mark + text.replace("\n", self.newline)


def read_schedule(path: str) -> ScheduleFile:
    """The schedule at `path` (`-` for standard input).

    Raises `ReadError` where there is no such file, it is a folder, or its bytes are no UTF-8.
    """
    if path == STDIN:
        if sys.stdin is None:
            raise ReadError(STDIN_NAME, "standard input is closed")
        text, newline, mark = _decode(sys.stdin.buffer.read(), STDIN_NAME)
        return ScheduleFile(STDIN_NAME, text, "", "", newline, mark)
    text, newline, mark = _read(path)
    stem = path.removesuffix(SUFFIX)
    return ScheduleFile(path, text, os.path.dirname(path), stem + TRACE_SUFFIX, newline, mark)


def read_text(path: str) -> str:
    """The text of any file, as `ScheduleFile.text` is. Raises `ReadError`."""
    return _read(path)[0]


def _read(path: str) -> tuple[str, str, str]:
    try:
        data = file_bytes(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReadError(path, why[:1].lower() + why[1:]) from error
    return _decode(data, path)


def _decode(data: bytes, file: str) -> tuple[str, str, str]:
    """The text of some bytes, its line end, and its byte order mark."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError(file, f"it is not UTF-8 text (byte 0x{data[error.start]:02x} on line {line})") from error
    newline = "\r\n" if "\r\n" in text else "\n"
    mark = "\ufeff" if data.startswith(codecs.BOM_UTF8) else ""
    return text.replace("\r\n", "\n").replace("\r", "\n"), newline, mark
