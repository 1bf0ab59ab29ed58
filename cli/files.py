"""Finding schedules and writing results."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator

from streamsched.cli.console import Failure
from streamsched.dsl.files import STDIN, SUFFIX


def find_schedules(paths: Iterable[str], excluded: Callable[[str], bool] = lambda path: False) -> list[str]:
    """The schedules that `paths` name: files as they are, folders searched for `*.sched`, each file once, in order.

    No path stands for the current folder. Hidden folders are not searched, and files that are `excluded` are not found
    by searching. Fails where there is nothing to do.
    """
    named = list(paths) or ["."]
    found: dict[str, str] = {}
    for path in named:
        searched = (file for file in _search(path) if not excluded(file)) if os.path.isdir(path) else [path]
        for file in searched:
            found.setdefault(file if file == STDIN else os.path.realpath(file), file)
    if not found:
        raise Failure(f"no {SUFFIX} files under {', '.join(named)}")
    return list(found.values())


def _search(folder: str) -> Iterator[str]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.endswith(SUFFIX):
                yield os.path.normpath(os.path.join(root, name))


def check_output(schedule: str, output: str) -> None:
    """Fail, before any work is done, where the result of `schedule` cannot be written to `output`."""
    if schedule != STDIN and os.path.realpath(schedule) == os.path.realpath(output):
        raise Failure(f"{output} is the schedule itself; name another file with -o")
    if output != STDIN:
        _mode(output)


def write_text(path: str, text: str) -> None:
    """Write `text` to `path`, all of it or nothing."""

    def write(beside: str) -> None:
        with open(beside, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    replace_file(path, write)


def replace_file(path: str, write: Callable[[str], None]) -> None:
    """Have `write` write a file beside `path`, then put it in its place, so that nobody sees half a file.

    A link is followed; what is no regular file (`/dev/stdout`) is written itself. Fails with a message where the
    place cannot be written; the old file is then as it was.
    """
    mode = _mode(path)
    try:
        if mode is not None and not stat.S_ISREG(mode):
            write(path)
        else:
            _replace(os.path.realpath(path), mode, write)
    except OSError as error:
        raise Failure(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error


def _replace(path: str, mode: int | None, write: Callable[[str], None]) -> None:
    import tempfile  # slow to import, and `lint` writes nothing

    descriptor, beside = tempfile.mkstemp(prefix=".streamsched-", dir=os.path.dirname(path))
    os.close(descriptor)
    try:
        write(beside)
        os.chmod(beside, stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise


def _mode(path: str) -> int | None:
    """The mode of what is at `path` now, None for nothing; fails where a file cannot go there."""
    if os.path.isdir(path):
        raise Failure(f"cannot write {path}: it is a folder; name a file in it")
    if os.path.exists(path):
        if not os.access(path, os.W_OK):
            raise Failure(f"cannot write {path}: it is read-only")
        return os.stat(path).st_mode
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise Failure(f"cannot write {path}: there is no folder {os.path.dirname(path) or folder}")
    return None


def _umask() -> int:
    """The process's file mode mask; there is no way to read it but to set it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
