"""Tracing itself: the one part of `dsl` that imports torch. Reached through `export.py`."""
