"""The version of streamsched, for reports that name their maker."""

from __future__ import annotations


def version() -> str:
    """The installed version, `0.1.0`; empty where streamsched is run without being installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("streamsched")
    except PackageNotFoundError:
        return ""
