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
INTERRUPTED = "interrupted; what was done is kept and the same command goes on from there."
UNSAFE = (
    "<frozen importlib._bootstrap>",
    weakref.__file__,
    os.path.join("sqlalchemy", "pool", "base.py"),
    os.path.join("asyncio", "runners.py"),
)
"""Files in which an exception would leave a half-initialized extension module behind, be printed and ignored, or be logged.

Each entry is the end of a file's name. A store rolls back unfinished writes if the program exits at once, as after kill -9.
"""

_signals: list[int] = []
"""Interrupts received so far."""


def main() -> None:
    """Run the command line, which is imported here so that Ctrl-C during the import prints no traceback."""
    _open_closed_streams()
    with contextlib.suppress(ValueError):  # not on the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
    # A loop that is interrupted while it closes leaves a coroutine behind, which is harmless.
    warnings.filterwarnings("ignore", message="coroutine .* was never awaited", category=RuntimeWarning)
    try:
        from personafit.cli.app import main as run

        try:
            run()
        finally:
            sys.stdout.flush()  # here, where a full disk can still be reported, and not when the interpreter exits
    except (KeyboardInterrupt, SystemExit) as left:
        if isinstance(left, SystemExit) and not _interrupted(left.__context__):
            raise
        _leave(INTERRUPTED)
    except OSError as error:
        if error.errno not in (*FULL, errno.EPIPE):
            if error.filename is None:
                raise
            # An error that no command handled: no permission, a folder instead of a file, an invalid name.
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
    """Connect closed standard streams to the null device: else the next file opened would get their number and our output."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
            setattr(sys, name, stream)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, as Ctrl-C does; at the second signal, or where the exception would be lost, exit at once.

    Within an event loop the runner has already received the first signal.
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
    """Print the sentence and exit at once, without the interpreter's cleanup, which could print more."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(f"personafit: {sentence}", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(130)


def _interrupted(error: BaseException | None) -> bool:
    """Return whether an exit hides Ctrl-C or SIGTERM, which typer turns into a silent one."""
    hidden = None if error is None else error.__cause__ or error.__context__
    return not isinstance(error, KeyboardInterrupt) and isinstance(hidden, KeyboardInterrupt)


__all__ = ["main"]
