"""Schedules that are written for the user: a first one for a plain model, and that of code that uses streams."""
