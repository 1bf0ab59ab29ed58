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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamsched.dsl.audit import Audited, audit, audit_script


@dataclass(frozen=True)
class Wanted:
    """A source to audit, by the options of `audit`; of `audit_script` where `model` is a script's name."""

    source: str
    model: str
    options: Mapping[str, Any]

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.model.partition(":")[0]

    def audited(self) -> Audited:
        """What an audit finds in the current folder, where the file lies."""
        run = audit if ":" in self.model else audit_script
        return run(self.model, **self.options, in_process=True)


def audit_all(
    sources: Mapping[str, str], *, target: str, inputs: Sequence[str] = ("x: f32[8, 8]",), attribute: str = "M"
) -> dict[str, Audited]:
    """What an audit of each source finds; each is `m.py` in a folder of its own."""
    options = {"inputs": tuple(inputs), "target": target}
    return audit_each({name: Wanted(source, f"m.py:{attribute}", options) for name, source in sources.items()})


def audit_each(wanted: Mapping[str, Wanted], beside: Sequence[Path] = ()) -> dict[str, Audited]:
    """What an audit of each finds, all for one target; each lies in a folder of its own, with links to `beside`."""
    paths = os.pathsep.join([str(Path(__file__).parent), *(path for path in sys.path if path)])
    words = [sys.executable, "-c", "import audit_batch; audit_batch.answer()"]
    given = pickle.dumps((dict(wanted), tuple(beside)))
    done = subprocess.run(
        words, input=given, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": paths}, check=True
    )
    found = pickle.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def answer() -> None:
    """In the process of its own: audit what is given on stdin, and write what is found to stdout."""
    wanted, beside = pickle.load(sys.stdin.buffer)
    found: dict[str, Audited] = {}
    with contextlib.redirect_stdout(sys.stderr):
        for name, each in wanted.items():
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                for path in beside:
                    Path(path.name).symlink_to(path)
                Path(each.file).write_text(textwrap.dedent(each.source))
                found[name] = each.audited()
    sys.stdout.buffer.write(pickle.dumps(found))
