"""An endpoint that can be killed and comes back on the same port, and what it remembers of what it served."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]


class MortalEndpoint:
    """A process of its own on a fixed port; use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "endpoint.log"
        self._log.touch()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    def spec(self, options: str = "") -> str:
        """A spec of this endpoint."""
        return f"openai:stub@http://127.0.0.1:{self.port}/v1{options}"

    def start(self) -> None:
        """Serve, from now until it is killed."""
        arguments = [sys.executable, "-m", "tests.faults.endpoint_process", str(self.port), str(self._log)]
        self._process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def kill(self) -> None:
        """Die at once, with whatever is under way."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def send(self, number: signal.Signals) -> None:
        """Signal the process."""
        assert self._process is not None
        os.kill(self._process.pid, number)

    def served(self, event: str = "got") -> Counter[str]:
        """How often each prompt was taken (`got`) or answered (`done`)."""
        lines = self._log.read_text(encoding="utf-8").splitlines()
        return Counter(line.split()[1] for line in lines if line.startswith(f"{event} "))

    def forget(self) -> None:
        """Remember nothing of what was served so far."""
        self._log.write_text("", encoding="utf-8")

    def wait_for(self, requests: int, still: Callable[[], bool]) -> None:
        """Wait until it has taken so many requests."""
        while self.served().total() < requests:
            assert still(), "the run ended before the fault could be played"
            time.sleep(0.005)

    def __enter__(self) -> "MortalEndpoint":
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self.kill()
