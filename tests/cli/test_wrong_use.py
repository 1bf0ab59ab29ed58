"""Wrong uses of the command line: each gets a message and an exit code, and leaves the files as they were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Use:
    """A command line, how it ends, and words of its message on stderr."""

    arguments: str
    message: str
    code: int = 2


USES = [
    Use("", "Usage: streamsched"),
    Use("lnt good.sched", "there is no verb lnt; did you mean lint?"),
    Use("compile good.sched", "there is no verb compile"),
    Use("lint --fast", "No such option"),
    Use("lint missing.sched", "error: cannot read missing.sched: no such file or directory"),
    Use("lint sub", "error: no .sched files under sub"),
    Use("lint good.sched --output-format xml", "'xml' is not one of 'text', 'concise', 'json'"),
    Use("fmt sub", "error: no .sched files under sub"),
    Use("fmt missing.sched", "error: cannot read missing.sched: no such file or directory"),
    Use("gen", "Missing argument 'FILE'"),
    Use("gen good.sched good.sched", "Got unexpected extra argument"),
    Use("gen sub", "error: cannot read sub: is a directory"),
    Use("gen good.sched --target tpu", "tpu"),
    Use("gen good.sched --check", "--check compares with a file; say which with -o FILE"),
    Use("gen good.sched -o", "Option '-o' requires an argument"),
    Use("gen good.sched -o good.sched", "error: good.sched is the schedule itself; name another file with -o"),
    Use("gen good.sched -o missing/out.py", "error: cannot write missing/out.py: there is no folder missing"),
    Use("gen good.sched -o sub", "error: cannot write sub: it is a folder; name a file in it"),
    Use("gen good.sched -o model.py/out.py", "error: cannot write model.py/out.py: there is no folder model.py"),
    Use("gen good.sched -o out.py --check", "out.py is missing", code=1),
    Use("gen good.sched -o model.py --check", "model.py is stale", code=1),
    Use("show", "Missing argument 'FILE'"),
    Use("show good.sched model.py", "Got unexpected extra argument"),
    Use("explain NOPE999", "error: there is no rule NOPE999"),
    Use("explain ORD11", "did you mean ORD1"),
    Use("explain mising-edge", "did you mean ORD101 (missing-edge)"),
    Use("explain ORD101 ORD102", "Got unexpected extra argument"),
    Use("trace", "Missing argument 'FILE...'"),
    Use("trace good.sched model.py -o out", "-o takes one trace; name one schedule, or leave -o out"),
    Use("trace -", "a schedule from standard input has no place for its trace; say where with -o FILE"),
    Use("trace good.sched -o good.sched", "error: good.sched is the schedule itself"),
    Use("trace missing.sched", "error: cannot read missing.sched: no such file or directory"),
]


@pytest.mark.parametrize("use", USES, ids=lambda use: use.arguments or "nothing")
def test_wrong_use(use: Use, project: Path, run: Callable[..., Any]) -> None:
    before = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    result = run(*use.arguments.split())
    assert (result.code, result.out) == (use.code, ""), result
    assert use.message in result.err
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == before
