"""Generated files as modules that torch.compile can look up."""

from __future__ import annotations

import sys

from streamsched.verify.generated import load_generated


def test_the_same_text_twice_is_two_modules() -> None:
    """torch.compile fails where a module's name stands for another module than when it compiled the same function."""
    first, second = (load_generated("def forward(self):\n    return VALUE\n\n\nVALUE = 1\n") for _ in range(2))
    assert first["__name__"] != second["__name__"]
    assert all(vars(sys.modules[each["__name__"]]) is each for each in (first, second))
    second["VALUE"] = 2
    assert first["forward"](None) == 1
