"""Diagnostics as text, one renderer per file."""
