"""Every generated forward of the examples audits clean, also against its schedule; and of each sync that is taken out
the hazard is told, or, where it carries a declared order only, the edge.

Of scoped examples, whose models are larger, the default run takes out two syncs, and on an NPU it has few examples;
`STREAMSCHED_VERIFY=all` takes out all of all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from removed import Removal, audited, prepare, removals, told
from tiny import SCOPED, SIZES

ALL = os.environ.get("STREAMSCHED_VERIFY") == "all"
NAMES = sorted(SIZES | SCOPED)
ON_NPU = NAMES if ALL else ["multi_stream", "tp_moe", "w8a8_shared_expert"]


@pytest.mark.parametrize("name", NAMES)
def test_on_cuda(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, program = prepare(name, "cuda", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert told(audited(name, "cuda")) == ()
    some = (1, -1) if name in SCOPED and not ALL else None
    assert [removal for removal in removals(name, "cuda", text, program, some) if removal.wrong] == []


@pytest.mark.parametrize("target", ["npu", "npugraph_ex"])
def test_on_an_npu(target: str, tmp_path: Path) -> None:
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = [sys.executable, str(Path(__file__).with_name("audited_child.py")), target, *ON_NPU]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=os.environ | paths, check=False)
    assert done.returncode == 0, done.stderr
    clean = [json.loads(line.removeprefix("CLEAN")) for line in done.stdout.splitlines() if line.startswith("CLEAN")]
    assert clean == [[name, []] for name in ON_NPU]
    gone = [json.loads(line.removeprefix("GONE")) for line in done.stdout.splitlines() if line.startswith("GONE")]
    found = [Removal(**row) for row in gone]
    assert {removal.example for removal in found} == set(ON_NPU)
    assert [removal for removal in found if removal.wrong] == []
    if target == "npugraph_ex":  # it forks and joins by itself, so that some syncs carry nothing but an edge
        waits = [removal for removal in found if "wait" in removal.line and [*removal.lost] == ["ORD103"]]
        assert waits and all([*removal.told] == ["AUD301"] for removal in waits)
