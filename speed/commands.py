"""What one command took, from its start to its end: by the clock, of the processor, and at its peak of memory."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path


def peak_memory() -> float:
    """The peak memory of this process in MB. Unlike `ru_maxrss`, it does not begin with that of the process that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1000


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    seconds: float
    processor_seconds: float
    peak_mib: float


def personafit(*arguments: str) -> Spent:
    """Run a command of ours in a process of its own; what it prints is not looked at."""
    command = [sys.executable, "-m", "personafit", *arguments]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"personafit {arguments[0]} ended with {process.returncode}")
    return Spent(time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)
