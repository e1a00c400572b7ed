"""The `personafit` command: one thin file per subcommand."""

import sys


def main() -> None:
    """Run the command line; it is imported here so that Ctrl-C during the import is no traceback."""
    try:
        from personafit.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("personafit: Interrupted; the same command goes on from there.", file=sys.stderr)
        sys.exit(130)


__all__ = ["main"]
