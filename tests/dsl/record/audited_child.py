"""Audits generated forwards for an NPU in a process of its own: `audited_child.py TARGET EXAMPLE...`, in a scratch
folder.

One line of JSON for each example that audits clean, and for each removal.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "helpers"))

from removed import audited, prepare, removals, told


def main() -> None:
    target, *names = sys.argv[1:]
    scratch = Path.cwd()
    for name in names:
        folder = scratch / name
        folder.mkdir()
        text, program = prepare(name, target, folder)
        os.chdir(folder)
        print("CLEAN" + json.dumps([name, told(audited(name, target))]), flush=True)
        for removal in removals(name, target, text, program):
            print("GONE" + json.dumps(dataclasses.asdict(removal)), flush=True)


if __name__ == "__main__":
    main()
