"""The virtual device: hand-written code is run on it, and what it issues becomes a program for the same checks."""
