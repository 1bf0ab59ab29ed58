"""Audits of many sources in one process of its own: torch never forgets the name of an NPU, and is slow to start."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamsched.dsl.audit import Audited, audit


def audit_all(
    sources: Mapping[str, str], *, target: str, inputs: Sequence[str] = ("x: f32[8, 8]",), attribute: str = "M"
) -> dict[str, Audited]:
    """What an audit of each source finds; each is `m.py` in a folder of its own."""
    given = pickle.dumps((dict(sources), target, tuple(inputs), attribute))
    paths = os.pathsep.join([str(Path(__file__).parent), *(path for path in sys.path if path)])
    words = [sys.executable, "-c", "import audit_batch; audit_batch.answer()"]
    done = subprocess.run(
        words, input=given, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}, check=True
    )
    found = pickle.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def answer() -> None:
    """In the process of its own: audit what is given on stdin, and write what is found to stdout."""
    sources, target, inputs, attribute = pickle.load(sys.stdin.buffer)
    found: dict[str, Audited] = {}
    with contextlib.redirect_stdout(sys.stderr):
        for name, source in sources.items():
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                Path("m.py").write_text(textwrap.dedent(source))
                found[name] = audit(f"m.py:{attribute}", inputs, target=target, in_process=True)
    sys.stdout.buffer.write(pickle.dumps(found))
