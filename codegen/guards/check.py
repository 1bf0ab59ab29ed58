"""One comparison of a generated forward's guard, and the ways to make one."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CLASS = ".__class__.__name__"


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: `found` and `traced` are Python expressions. `what` names the part for people, `said` is the line
    about it in the head of the file, and `by` the function of the file that compares.
    """

    what: str
    found: str
    traced: str
    said: str
    by: str = "_differs"


def is_constant(expression: str, text: str) -> Check:
    """That an expression is a constant."""
    return Check(expression, expression, text, f"{expression} = {text}")


def is_of_class(expression: str, name: str) -> Check:
    """That an object's class has a name."""
    return Check(f"the class of {expression}", f"{expression}{_CLASS}", f'"{name}"', f"{expression}: {name}")


def last_name(type_: str) -> str:
    """The bare name of a class given as "package.module:Class"."""
    return re.split(r"[.:]", type_)[-1]
