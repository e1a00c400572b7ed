"""Clocks that jump: a run whose wall clock is set back and forth while it works, and one that was stood still."""

import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from personafit import Store
from personafit.engine.limits import WorkClock
from tests.faults.world import answers, command, personafit, quiet, sentences, write_benchmark
from tests.stub_endpoint import StubEndpoint

# Back a day, ahead a year, right again: a few calls each, so that every run meets all of them many times.
JUMPS = """
import datetime, itertools, time
_real, _calls = time.time, itertools.count()
def _jumping():
    return _real() + (0.0, -86400.0, 31536000.0)[next(_calls) // 7 % 3]
time.time = _jumping
time.time_ns = lambda: int(_jumping() * 1e9)
"""


@pytest.mark.slow
def test_a_wall_clock_that_jumps_loses_nothing(tmp_path: Path, endpoint: StubEndpoint) -> None:
    for folder in ("calm", "jumping"):
        write_benchmark(tmp_path / folder / "village", 30)
    line = ("run", "village", "--rater", endpoint.spec(), "--context", "profile", "--json")
    calm = personafit(*line, cwd=tmp_path / "calm")
    assert calm.returncode == 0
    (tmp_path / "sitecustomize.py").write_text(JUMPS, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    endpoint._first.extend(["overloaded", "error", "overloaded_soon", "cut"])
    jumping = subprocess.run(
        command(*line),
        cwd=tmp_path / "jumping",
        env=quiet() | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (jumping.returncode, sentences(jumping.stderr)) == (0, [])
    stores = [tmp_path / folder / ".personafit" / "store.db" for folder in ("calm", "jumping")]
    assert answers(stores[1]) == answers(stores[0])
    assert jumping.stdout == calm.stdout
    with closing(sqlite3.connect(stores[1])) as connection:
        (shortest, longest) = connection.execute("SELECT min(seconds), max(seconds) FROM asks").fetchone()
        (first, last) = connection.execute("SELECT min(at), max(at) FROM asks").fetchone()
    assert 0 <= shortest <= longest < 120, "durations are not taken from the wall clock"
    assert last - first > 86400, "the clock did jump"


def test_the_last_run_is_the_last_used_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 2e9
    monkeypatch.setattr("time.time", lambda: now)
    with Store(tmp_path / "store.db") as store:
        store.begin_run("one", "d", {}, 1)
        now -= 1e6
        store.begin_run("two", "d", {}, 1)
        assert store.run("last").name == "two"
        store.begin_run("one", "d", {}, 1)
        assert store.run("last").name == "one"


def test_patience_is_measured_without_standstills(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    now = 1000.0
    monkeypatch.setattr("personafit.engine.limits.time.monotonic", lambda: now)

    async def work() -> tuple[float, float]:
        nonlocal now
        with WorkClock() as patience:
            began = patience.now()
            now += 3.0
            busy = patience.now() - began
            now += 600.0  # nobody looked at the clock meanwhile: we were stopped
            return busy, patience.now() - began

    assert asyncio.run(work()) == (3.0, 3.0)
