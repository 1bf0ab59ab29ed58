"""Generated files, run from their text."""

from __future__ import annotations

import hashlib
import itertools
import sys
from types import ModuleType
from typing import Any


def load_generated(text: str) -> dict[str, Any]:
    """What the generated file `text` defines: `forward`, `apply`, and `compile` where its target has one.

    It is a module that can be imported: torch.compile looks up by its module's name what a function uses. The name is
    its own, though the text be the same: torch.compile keeps an alias of each module among the globals of the function
    that it compiles, such as the forward of a library's model, and fails where the name stands for another one later.
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    names = (f"streamsched_generated_{digest}_{number}" for number in itertools.count())
    module = ModuleType(next(name for name in names if name not in sys.modules))
    sys.modules[module.__name__] = module
    exec(compile(text, "<generated>", "exec"), vars(module))  # the product's own output
    return vars(module)
