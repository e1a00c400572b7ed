"""Ten times the items do not take ten times the memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from speed.scale import write_synthetic

SMALL, LARGE = 2_000, 20_000
ROOM = 1.35  # a run that held its items would be far beyond this


def peak(folder: Path, size: int) -> int:
    """The most memory that a run over so many items took, in bytes."""
    write_synthetic(folder / "items", size)
    process = subprocess.Popen(
        [sys.executable, "-m", "personafit", "run", "items", "--context", "profile", "--json"],
        cwd=folder,
        env=os.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_memory_is_flat_as_the_items_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [tmp_path / "small", tmp_path / "large"]
    for run in runs:
        run.mkdir()
    small, large = peak(runs[0], SMALL), peak(runs[1], LARGE)
    assert large < ROOM * small, f"{small / 2**20:.0f} MiB for {SMALL:,}, {large / 2**20:.0f} for {LARGE:,}"
