"""The `personafit` command: one thin file per subcommand."""

import contextlib
import errno
import os
import signal
import sys

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main() -> None:
    """Run the command line; it is imported here so that Ctrl-C during the import is no traceback."""
    with contextlib.suppress(ValueError):  # not on the main thread
        signal.signal(
            signal.SIGTERM, signal.default_int_handler
        )  # ends as Ctrl-C does: a sentence, resumable
    try:
        from personafit.cli.app import main as run

        try:
            run()
        finally:
            sys.stdout.flush()  # here, where a full disk can still be said, and not when the interpreter ends
    except (KeyboardInterrupt, SystemExit) as left:
        if isinstance(left, SystemExit) and not _interrupted(left.__context__):
            raise
        print(
            "personafit: Interrupted; what was judged is kept and the same command goes on from there.",
            file=sys.stderr,
        )
        sys.exit(130)
    except OSError as error:
        if error.errno not in (*FULL, errno.EPIPE):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # the reader of our output left, as `| head` does
            sys.exit(0)
        print(f"personafit: The output could not be written ({error.strerror}).", file=sys.stderr)
        sys.exit(1)


def _interrupted(error: BaseException | None) -> bool:
    """Whether an exit hides Ctrl-C or SIGTERM: typer makes one of it that says nothing."""
    hidden = None if error is None else error.__cause__ or error.__context__
    return not isinstance(error, KeyboardInterrupt) and isinstance(hidden, KeyboardInterrupt)


__all__ = ["main"]
