"""Generated files, run from their text."""

from __future__ import annotations

import hashlib
import sys
from types import ModuleType
from typing import Any


def load_generated(text: str) -> dict[str, Any]:
    """What the generated file `text` defines: `forward`, `apply`, and `compile` where its target has one.

    It is a module that can be imported: torch.compile looks up by its module's name what a function uses.
    """
    module = ModuleType(f"streamsched_generated_{hashlib.sha256(text.encode()).hexdigest()[:16]}")
    sys.modules[module.__name__] = module
    exec(compile(text, "<generated>", "exec"), vars(module))  # the product's own output
    return vars(module)
