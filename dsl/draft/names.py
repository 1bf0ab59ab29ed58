"""Names for what the user has not named: identifiers of the language, each used once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_INSTEAD = {"on": "on_", "before": "before_", "default": "default_", "return": "result"}
"""Other names for those that the language has taken, or that say nothing."""


def identifier(text: str) -> str:
    """An identifier that looks like `text`; empty where nothing of it can be one."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return f"_{name}" if name[:1].isdigit() else name


def snake_case(name: str) -> str:
    """A class's name as the name of a schedule: `TwoTower` is `two_tower`."""
    return identifier(re.sub(r"(?<=[a-z0-9])(?=[A-Z].)|(?<=[A-Z])(?=[A-Z][a-z]{2})", "_", name).lower())


@dataclass
class Names:
    """The names given away so far."""

    taken: set[str] = field(default_factory=set)

    def new(self, *wanted: str) -> str:
        """The first of `wanted` that is an identifier, with a number behind it where it is taken."""
        stem = next(filter(None, map(identifier, wanted)), "group")
        stem = _INSTEAD.get(stem, stem)
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name
