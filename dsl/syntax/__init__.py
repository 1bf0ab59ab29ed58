"""The syntax of schedules: text to tree and back."""
