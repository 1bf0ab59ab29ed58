"""Generated files, run from their text."""

from __future__ import annotations

from typing import Any


def load_generated(text: str) -> dict[str, Any]:
    """What the generated file `text` defines: `forward`, `apply`, and `compile` where its target has one."""
    namespace: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, "<generated>", "exec"), namespace)  # the product's own output
    return namespace
