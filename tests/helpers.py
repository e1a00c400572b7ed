"""What many tests need: the command line as a real process, and its results."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from personafit import Store
from personafit.store import tables as t


class Later:
    """A module that is imported when it is first used, since every worker imports all test files and runs a few of them."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest looks at every name of a file for its own marks
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name), attribute)


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skip tests where a package is missing; looking for it does not import it."""
    missing = ", ".join(package for package in packages if find_spec(package) is None)
    return pytest.mark.skipif(bool(missing), reason=f"not installed, and so NOT tested: {missing}")


def python_path(folder: Path) -> str:
    """Where a process finds modules: in a folder, and then where this one does."""
    return os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))


def run_cli(
    *arguments: str, cwd: Path, code: int = 0, path: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `personafit` in a folder and insist on its exit code."""
    environment = {**os.environ, "COLUMNS": "150"}
    if path is not None:
        environment["PYTHONPATH"] = python_path(path)
    done = subprocess.run(
        [sys.executable, "-m", "personafit", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def results_of(folder: Path) -> list[dict[str, Any]]:
    """The results of the only run in a folder."""
    (path,) = (folder / ".personafit" / "runs").glob("*/results.json")
    results: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["results"]
    return results


def count_status(store: Store, run: int) -> dict[str, int]:
    """Count the asks of a run by status, retries included."""
    query = (
        select(t.asks.c.status, func.count())
        .select_from(t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run)
        .group_by(t.asks.c.status)
    )
    return {row[0]: row[1] for row in store.frame(query).iter_rows()}
