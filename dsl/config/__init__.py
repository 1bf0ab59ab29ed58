"""What a project says once for all its schedules: `[tool.streamsched]` in pyproject.toml."""
