"""Seeing what changes beside an open schedule: its saved trace and the settings of its project."""

from __future__ import annotations

import os

from lsprotocol import types

from streamsched.dsl.config.find import NAME, settings_text
from streamsched.dsl.files import TRACE_SUFFIX, ScheduleFile

POLL = 1.0
"""How often, in seconds, the files are looked at where the editor does not watch them."""

Beside = tuple[tuple[int, int] | None, str]
"""The state of what lies beside a schedule; while it is the same, so is what is read of that."""


def beside(file: ScheduleFile) -> Beside:
    """What lies beside a schedule now."""
    return state(file.trace_path), settings_text(file.base)


def state(path: str) -> tuple[int, int] | None:
    """When a file was last written, and its size; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size


def watches(capabilities: types.ClientCapabilities) -> bool:
    """Whether an editor can be asked to watch files."""
    watched = capabilities.workspace.did_change_watched_files if capabilities.workspace else None
    return bool(watched and watched.dynamic_registration)


def registration() -> types.RegistrationParams:
    """What asks an editor to watch the files that lie beside schedules."""
    patterns = (f"**/*{TRACE_SUFFIX}", f"**/{NAME}")
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(p) for p in patterns])
    watcher = types.Registration("beside", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    return types.RegistrationParams([watcher])
