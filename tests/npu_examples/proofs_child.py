"""What programs prove of taking out each sync line, nothing run: `proofs_child.py ENGINE EXAMPLE...`."""

from __future__ import annotations

import json
import sys

from syncs import proved, syncs
from tiny import loaded

from streamsched.codegen.emitter import generate


def main() -> None:
    engine = sys.argv[1]
    for name in sys.argv[2:]:
        program = loaded(name, engine).program
        assert program is not None
        for sync in syncs(generate(program, engine), program):
            row = name, engine, sync.words(program), *proved(program, sync)
            print("RESULT" + json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
