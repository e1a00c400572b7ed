"""The `personafit` command: one thin file per subcommand."""

import contextlib
import errno
import os
import signal
import sys
import warnings
from typing import NoReturn

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main() -> None:
    """Run the command line; it is imported here so that Ctrl-C during the import is no traceback."""
    with contextlib.suppress(ValueError):  # not on the main thread
        signal.signal(
            signal.SIGTERM, signal.default_int_handler
        )  # ends as Ctrl-C does: a sentence, resumable
    # A loop that is interrupted while it closes leaves a coroutine behind: nobody's business but its own.
    warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
    try:
        from personafit.cli.app import main as run

        try:
            run()
        finally:
            sys.stdout.flush()  # here, where a full disk can still be said, and not when the interpreter ends
    except (KeyboardInterrupt, SystemExit) as left:
        if isinstance(left, SystemExit) and not _interrupted(left.__context__):
            raise
        _leave("Interrupted; what was judged is kept and the same command goes on from there.")
    except OSError as error:
        if error.errno not in (*FULL, errno.EPIPE):
            if error.filename is None:
                raise
            # A file that no command saw to: no permission, a folder in its place, an impossible name.
            print(
                f"personafit: {str(error.filename)[:200]} cannot be used ({error.strerror}).", file=sys.stderr
            )
            sys.exit(2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # the reader of our output left, as `| head` does
            sys.exit(0)
        print(f"personafit: The output could not be written ({error.strerror}).", file=sys.stderr)
        sys.exit(1)


def _leave(sentence: str) -> NoReturn:
    """Say it and be gone at once: what the interpreter tidies up at its end could say more than the sentence."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(f"personafit: {sentence}", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(130)


def _interrupted(error: BaseException | None) -> bool:
    """Whether an exit hides Ctrl-C or SIGTERM: typer makes one of it that says nothing."""
    hidden = None if error is None else error.__cause__ or error.__context__
    return not isinstance(error, KeyboardInterrupt) and isinstance(hidden, KeyboardInterrupt)


__all__ = ["main"]
