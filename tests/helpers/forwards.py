"""The text of generated forwards."""

from __future__ import annotations


def forward_lines(text: str) -> list[str]:
    """The lines of the forward in a generated file, without indentation, behind the check of the call."""
    lines = text[text.index("def forward") : text.index("def apply")].splitlines()[1:]
    stripped = list(filter(None, map(str.strip, lines)))
    fallback = next((i for i, line in enumerate(stripped) if line.startswith("return self.scheduled_before[")), -1)
    return stripped[fallback + 1 :]
