"""A baseline: the findings that a project knows of and has yet to mend, so that only new ones are told.

A JSON file, to be committed: for each file, by its path from the baseline's folder, the findings with their code,
their fingerprint and, for readers, their message. Sorted, so that merges are small.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from streamsched.dsl.diagnostic import Diagnostic
from streamsched.dsl.files import ReadError, read_text
from streamsched.dsl.lint.told import Told
from streamsched.dsl.report.fingerprint import fingerprints

VERSION = 1


@dataclass(frozen=True, slots=True)
class Baseline:
    """The fingerprints of known findings by file; paths are absolute."""

    known: Mapping[str, frozenset[str]]

    def without_known(self, told: Told) -> Told:
        """What is told but for the known findings. Errors that kept the rest from being checked are told always."""
        prints = fingerprints(told.found)
        left = (d for d in told.left if d in told.stops or not self._knows(d, prints[d]))
        return replace(told, left=tuple(left))

    def mended(self, tolds: Sequence[Told], checked: Iterable[str]) -> int:
        """How many of the known findings of the files `checked`, one for each of `tolds`, are no longer found.

        Of a file that could not be checked to the end nobody knows.
        """
        found = {
            (os.path.abspath(diagnostic.span.file), fingerprint)
            for told in tolds
            for diagnostic, fingerprint in fingerprints(told.found).items()
        }
        files = {os.path.abspath(file) for told, file in zip(tolds, checked, strict=True) if not told.stops}
        return sum((file, each) not in found for file in files for each in self.known.get(file, ()))

    def _knows(self, diagnostic: Diagnostic, fingerprint: str) -> bool:
        return fingerprint in self.known.get(os.path.abspath(diagnostic.span.file), ())


def is_baseline(data: bytes) -> bool:
    """Whether a file's bytes look like a baseline, be it of another version, or one that a merge has left broken."""
    return data.lstrip().startswith(b"{") and b'"version"' in data and b'"findings"' in data


def read_baseline(path: str) -> Baseline:
    """The baseline at `path`. Raises `ReadError`, also where the file is no baseline."""
    folder = os.path.dirname(os.path.abspath(path))
    text = read_text(path)
    try:
        data = json.loads(text)
        known = {
            os.path.normpath(os.path.join(folder, file)): frozenset(str(each["fingerprint"]) for each in those)
            for file, those in data["findings"].items()
        }
        version = data["version"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ReadError(path, "it is no baseline; write one with --write-baseline") from error
    if version != VERSION:
        raise ReadError(path, f"it is a baseline of version {version!r}; write it anew with --write-baseline")
    return Baseline(known)


def baseline_of(tolds: Iterable[Told], path: str) -> str:
    """The text of a baseline of all that is told, as it is to lie at `path`."""
    folder = os.path.dirname(os.path.abspath(path))
    by_file: dict[str, list[dict[str, str]]] = {}
    for told in tolds:
        prints = fingerprints(told.found)
        for diagnostic in told.left:
            if diagnostic not in told.stops:
                file = os.path.relpath(diagnostic.span.file, folder).replace(os.sep, "/")
                words = {"code": diagnostic.code, "fingerprint": prints[diagnostic], "message": diagnostic.message}
                by_file.setdefault(file, []).append(words)
    findings = {file: sorted(those, key=lambda words: tuple(words.values())) for file, those in sorted(by_file.items())}
    return json.dumps({"version": VERSION, "findings": findings}, indent=2, ensure_ascii=False) + "\n"
