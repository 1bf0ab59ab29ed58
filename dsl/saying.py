"""What objects of the user's code say of themselves, who may raise at that, too."""

from __future__ import annotations


def said(value: object) -> str:
    """`str(value)`; of an exception its message. Empty where its `__str__` raises or gives no text."""
    try:
        return str(value)
    except (Exception, SystemExit):
        return ""


def exit_code(code: object) -> str:
    """The code that a `SystemExit` carries, as it is told; by its class where it says nothing."""
    return said(code) or f"a {type(code).__name__}"
