"""Rules that read a program."""
