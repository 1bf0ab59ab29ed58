"""Traced ATen ops as torch-level Python expressions."""
