"""Where the installed command begins: nothing is imported before an interruption can be met."""

from __future__ import annotations


def main() -> int:
    """Run the command line and return its exit code, also where it is interrupted while it is being loaded."""
    try:
        from streamsched.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        return 130
