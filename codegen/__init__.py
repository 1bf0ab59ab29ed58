"""Everything that writes code or pictures from a program."""
