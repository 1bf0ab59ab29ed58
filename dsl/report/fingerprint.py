"""By what a finding is recognised in another run, however the lines around it have moved.

A fingerprint is made of the rule, of the ops, tensors, streams and statements that the message names in backticks, and
of an occurrence number among the findings of one file that share all of these. No line, no path and no word of the
message outside of backticks takes part.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

from streamsched.dsl.diagnostic import Diagnostic

_NAMED = re.compile(r"`([^`]*)`")
_POSITION = re.compile(r"(:\d+)+$")


def fingerprints(found: Iterable[Diagnostic]) -> dict[Diagnostic, str]:
    """The fingerprint of each finding, 32 hexadecimal digits; all that was found in a file must be given at once."""
    seen: Counter[tuple[str, ...]] = Counter()
    result: dict[Diagnostic, str] = {}
    for diagnostic in sorted(found, key=lambda diagnostic: diagnostic.span):
        parts = (diagnostic.code, *subjects(diagnostic))
        occurrence = seen[diagnostic.span.file, *parts]
        seen[diagnostic.span.file, *parts] += 1
        text = "\0".join((*parts, str(occurrence)))
        result[diagnostic] = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return result


def subjects(diagnostic: Diagnostic) -> tuple[str, ...]:
    """What the message names: ops, tensors, streams. A place in a file is named without its line."""
    return tuple(_POSITION.sub("", word) for word in _NAMED.findall(diagnostic.message))
