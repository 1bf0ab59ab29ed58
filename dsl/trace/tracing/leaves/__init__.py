"""Leaf modules: which they are, the ops that stand for them, and what a leaf would cure."""
