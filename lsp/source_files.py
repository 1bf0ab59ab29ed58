"""The files of a model: those beside the schedule and those of packages. They are read, never imported."""

from __future__ import annotations

import ast
import importlib.metadata
import os
from pathlib import Path

from streamsched.dsl.files import file_bytes
from streamsched.lsp.document import Document


def files(base: str) -> list[str]:
    """The Python files in the folder `base`."""
    try:
        names = sorted(os.listdir(base or "."))
    except OSError:
        return []
    return [name for name in names if name.endswith(".py") and not name.endswith("_scheduled.py")]


def names_in(base: str, file: str) -> list[tuple[str, int]]:
    """The classes, functions and variables of a file, each with its line; none of a file that cannot be read."""
    try:
        tree = ast.parse(file_bytes(Path(base, file)))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    found: list[tuple[str, int]] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((node.name, node.lineno))
        elif isinstance(node, ast.Assign):
            found += [(name.id, node.lineno) for name in node.targets if isinstance(name, ast.Name)]
    return found


def on_disk(document: Document, file: str) -> str:
    """Where a file that the trace or a finding names lies on this machine; empty where it is not installed."""
    source = document.sources.get(file)
    if source is None:
        return file
    if not source.package:
        return os.path.normpath(os.path.join(document.file.base, source.path))
    try:
        return str(importlib.metadata.distribution(source.package).locate_file(source.path))
    except importlib.metadata.PackageNotFoundError:
        return ""
