"""From torch's graph, and what was noted while it was made, to a trace."""
