"""The `personafit` command: one thin file per subcommand."""

import contextlib
import errno
import os
import signal
import sys
import warnings
import weakref
from types import FrameType
from typing import NoReturn

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
INTERRUPTED = "Interrupted; what was judged is kept and the same command goes on from there."
UNSAFE = (
    "<frozen importlib._bootstrap>",
    weakref.__file__,
    os.path.join("sqlalchemy", "pool", "base.py"),
    os.path.join("asyncio", "runners.py"),
)
"""Where an exception would leave a half-made extension module behind, be printed and forgotten, or be logged as a traceback.

Each is the end of a file's name. What a store is writing when the program is left at once is rolled back, as after kill -9.
"""

_signals: list[int] = []
"""Interrupts received so far."""


def main() -> None:
    """Run the command line; it is imported here so that Ctrl-C during the import is no traceback."""
    _open_closed_streams()
    with contextlib.suppress(ValueError):  # not on the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
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
        _leave(INTERRUPTED)
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


def _open_closed_streams() -> None:
    """Let streams that the caller closed lead nowhere: else the next file that is opened gets their number and our output."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, as Ctrl-C does; at the second signal, or where the exception would be lost, leave at once.

    Within an event loop the runner has had the first signal already.
    """
    if _signals:
        _leave(INTERRUPTED)
    _signals.append(number)
    while frame is not None:
        if frame.f_code.co_filename.endswith(UNSAFE):
            _leave(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


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
