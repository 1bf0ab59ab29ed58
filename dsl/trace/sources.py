"""The files that a trace was made from: their names in the trace, and what to remember of them."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sysconfig
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from streamsched.dsl.files import file_bytes
from streamsched.dsl.trace.model import Source


def text_digest(text: bytes) -> str:
    """SHA-256 of a source text with universal newlines, in hex."""
    return hashlib.sha256(text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")).hexdigest()


def site_folders() -> tuple[str, ...]:
    """The folders where installed packages live, with a final separator."""
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return tuple(sorted(os.path.realpath(path) + os.sep for path in paths))


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution; None where it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


class Sources:
    """Names files for a trace made from a schedule in the folder `base`, and describes those that were named."""

    def __init__(self, base: str) -> None:
        self._base = os.path.realpath(base)
        self._sites = site_folders()
        self._keys: dict[str, str] = {}
        self._described: dict[str, Source] = {}
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._own: dict[str, bool] = {}

    def key(self, filename: str) -> str:
        """The name of a file in the trace."""
        key = self._keys.get(filename)
        if key is None:
            key = self._keys[filename] = self._add(filename)
            self._files[key] = filename
        return key

    def file(self, key: str) -> str:
        """The path on this machine of a file that was named."""
        return self._files[key]

    def is_own(self, filename: str) -> bool:
        """Whether a file lies in the schedule's folder, and is not an installed package there."""
        own = self._own.get(filename)
        if own is None:
            path = self._real(filename)
            own = self._own[filename] = self._site(path) is None and path.startswith(self._base + os.sep)
        return own

    def is_installed(self, key: str) -> bool:
        """Whether a named file belongs to an installed package."""
        return bool(self._described[key].package)

    def described(self) -> tuple[tuple[str, Source], ...]:
        """The files named so far, sorted by name."""
        return tuple(sorted(self._described.items()))

    def _real(self, filename: str) -> str:
        """As `os.path.realpath`, which looks at every folder on the way again for each of thousands of modules."""
        folder, name = os.path.split(filename)
        if name in ("", os.curdir, os.pardir):
            return os.path.realpath(filename)
        if folder not in self._folders:
            self._folders[folder] = os.path.realpath(folder)
        path = os.path.join(self._folders[folder], name)
        return os.path.realpath(path) if os.path.islink(path) else path

    def _site(self, path: str) -> str | None:
        return next((site for site in self._sites if path.startswith(site)), None)

    def _add(self, filename: str) -> str:
        path = self._real(filename)
        site = self._site(path)
        if site is None:
            key = Path(os.path.relpath(path, self._base)).as_posix()
            self._described[key] = Source(key, _file_digest(path))
            return key
        relative = Path(path[len(site) :]).as_posix()
        package, version = self._distribution(relative.split("/")[0])
        key = f"site-packages/{relative}"  # the prefix keeps a package's file apart from a user's of the same name
        self._described[key] = Source(relative, "", package, version)
        return key

    @cached_property
    def _distributions(self) -> dict[str, list[str]]:
        return dict(importlib.metadata.packages_distributions())

    def _distribution(self, top: str) -> tuple[str, str]:
        """Name and version of the distribution that installed the top-level name `top`."""
        top = top.removesuffix(".py")
        version = installed_version(top)
        if version is not None:
            return top, version
        # Reading which distribution installed what is slow, and seldom needed.
        name = min(self._distributions.get(top, [top]))
        return name, installed_version(name) or ""


def _file_digest(path: str) -> str:
    try:
        return text_digest(file_bytes(path))
    except OSError:
        return ""


def name_all(sources: Sources, files: Iterable[str]) -> None:
    """Describe each of `files` that lies in the schedule's folder, whether or not a position names it."""
    for file in sorted(files):
        if sources.is_own(file):
            sources.key(file)
