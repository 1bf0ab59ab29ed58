"""What one host thread issues, in order: the hub of the project."""
