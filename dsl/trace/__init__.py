"""The traced model."""
