"""What somebody may have meant by a word that is not there."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, if any is like it. Letter case does not count."""
    from difflib import get_close_matches  # needed only when something is wrong

    by_lower = {candidate.lower(): candidate for candidate in sorted(known)}
    if word.lower() in by_lower:
        return by_lower[word.lower()]
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A help line with the nearest known word; None where none is like it."""
    guess = nearest(word, known)
    return f"did you mean `{guess}`?" if guess else None


def nearest_paths(path: str, known: Iterable[str]) -> list[str]:
    """Up to three dotted paths most like `path`, best first; those that end in the same segment count too."""
    from difflib import get_close_matches  # needed only when something is wrong

    pool = sorted(set(known))
    tail = path.rsplit(".", 1)[-1].strip("*")
    same_tail = [name for name in pool if tail and name.rsplit(".", 1)[-1] == tail]
    return list(dict.fromkeys(get_close_matches(path, pool, 3, 0.5) + same_tail))[:3]
