"""The command line as a real process that a hand comes in on while it works on a cluster."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.world import sentences

PATIENCE = 240.0  # seconds for a command to get as far as is waited for


class Command:
    """`personafit` at work, with a session of its own, so that a signal reaches it as from a keyboard."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.pid = process.pid
        self.printed = ""
        """What it said on standard output, once it has ended."""

    def wait_until(self, come: Callable[[], bool]) -> None:
        """Wait for something it does; that it ends before is an error."""
        deadline = time.monotonic() + PATIENCE
        while not come():
            assert self._process.poll() is None, "it ended before:\n" + "".join(self._process.communicate())
            assert time.monotonic() < deadline, "it never got so far"
            time.sleep(0.05)

    def signalled(self, number: int) -> None:
        """Send a signal to it and to all that it started."""
        os.killpg(self.pid, number)

    def end(self, code: int = 0) -> list[str]:
        """Wait for its end and insist on the exit code; what it said on standard error, where nobody else says a word."""
        self.printed, errors = self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == code, f"exit {self._process.returncode}\n{self.printed}\n{errors}"
        return sentences(errors)


@contextmanager
def at_work(*arguments: str, cwd: Path) -> Iterator[Command]:
    """Start `personafit` with these arguments; it does not outlive the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "personafit", *arguments],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Command(process)
    finally:
        process.kill()
        process.wait()
