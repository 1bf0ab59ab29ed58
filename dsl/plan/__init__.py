"""From a schedule and a trace to a program."""
