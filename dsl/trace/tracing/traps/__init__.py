"""Where a trace may silently be another model's than the one that runs: each is told."""
