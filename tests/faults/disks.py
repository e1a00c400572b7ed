"""Small disks to fill and to write-protect: a tmpfs of its own, for tests that run as root."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of so many bytes at the folder; skipped where one may not be mounted, but never in CI as root."""
    if os.getuid() != 0:
        pytest.skip("SKIPPED: a small disk can be mounted by root only; run these tests as root, as CI does")
    folder.mkdir(parents=True, exist_ok=True)
    done = _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
    if done.returncode:
        reason = f"root may not mount a tmpfs here: {done.stderr.strip()}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(f"SKIPPED: {reason}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    """Change the disk while it is in use, as `size=64m`, `ro` or `rw`."""
    done = _mount("-o", f"remount,{options}", folder)
    assert done.returncode == 0, done.stderr


def _mount(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
