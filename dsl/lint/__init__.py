"""Linting: what of all findings is told, what is suppressed or known already, what is fixed, and what is kept."""
