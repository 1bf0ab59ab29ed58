"""What is behind an exception: the one that started it, in few words."""

from __future__ import annotations

from streamsched.dsl.saying import said

LINES = 3
"""How many lines of a message are joined at most, where each announces the next with a colon."""


def root_cause(error: BaseException) -> BaseException:
    """The innermost exception that `error` wraps or was raised from; `error` itself where there is none.

    What torch's compiler wraps is found as its `inner_exception`. One that was merely being handled counts unless it
    was suppressed by `from None`.
    """
    seen = {id(error)}
    while (inner := _inner(error)) is not None and id(inner) not in seen:
        seen.add(id(inner))
        error = inner
    return error


def is_wrapped(error: BaseException, name: str) -> bool:
    """Whether `error`, or one of those behind it, is of a class `name` or of one derived from it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        if any(kind.__name__ == name for kind in type(current).__mro__):
            return True
        seen.add(id(current))
        current = _inner(current)
    return False


def in_words(error: BaseException) -> str:
    """An exception in one line, and the one that caused it where that says something else.

    A wrapper of torch's compiler says nothing of its own, and gives way to what it wraps.
    """
    while isinstance(wrapped := getattr(error, "inner_exception", None), BaseException) and wrapped is not error:
        error = wrapped
    said, cause = _said(error), root_cause(error)
    behind = _said(cause)
    return said if cause is error or behind in said else f"{said}, caused by {behind}"


def _inner(error: BaseException) -> BaseException | None:
    wrapped = getattr(error, "inner_exception", None)
    if isinstance(wrapped, BaseException):
        return wrapped
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _said(error: BaseException) -> str:
    """The class and the first lines that are not empty: one, and those that it announces."""
    lines = [line.strip() for line in said(error).splitlines() if line.strip()]
    kept: list[str] = []
    for line in lines[:LINES]:
        kept.append(line)
        if not line.endswith(":"):
            break
    return f"{type(error).__name__}: {' '.join(kept)}" if kept else type(error).__name__
