"""Processes that are stopped, killed, frozen or doubled, ours and the endpoint's: nothing is lost, nothing is doubled.

What the store holds is counted against what the endpoint, a process with a log of its own, took and answered.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.endpoints import MortalEndpoint
from tests.faults.world import Answer, answers, asks, command, personafit, quiet, sentences, write_benchmark

ITEMS, ASKS = 60, 120
AT_ONCE = 2  # few at once, so that a run takes long enough to be disturbed
OPTIONS = f",concurrency={AT_ONCE},timeout=1"
RESUMABLE = "interrupted; what was done is kept and the same command goes on from there."


def _line(endpoint: MortalEndpoint, *more: str) -> tuple[str, ...]:
    return ("run", "village", "--rater", endpoint.spec(OPTIONS), "--context", "profile", "--json", *more)


@contextmanager
def _started(folder: Path, *line: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        command(*line), cwd=folder, env=quiet(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _judged(folder: Path) -> list[Answer]:
    return answers(folder / ".personafit" / "store.db")


def _check(folder: Path, endpoint: MortalEndpoint, expected: tuple[str, list[Answer]], stdout: str) -> None:
    """The same results as undisturbed; every prompt was answered, and every answer is there once."""
    found = _judged(folder)
    assert (stdout, found) == expected
    jobs = [row[:5] for row in found]
    assert len(jobs) == len(set(jobs))
    assert len(endpoint.served()) == ASKS == len([row for row in found if "openai" in row[1]])


@pytest.fixture(scope="module")
def calm(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[MortalEndpoint, tuple[str, list[Answer]]]]:
    """An endpoint, and what an undisturbed run against it gives."""
    folder = tmp_path_factory.mktemp("calm")
    write_benchmark(folder / "village", ITEMS)
    with MortalEndpoint(folder) as endpoint:
        done = personafit(*_line(endpoint), cwd=folder)
        assert (done.returncode, sentences(done.stderr)) == (0, [])
        assert endpoint.served("done").total() == ASKS
        yield endpoint, (done.stdout, _judged(folder))


@pytest.fixture
def world(
    calm: tuple[MortalEndpoint, tuple[str, list[Answer]]], tmp_path: Path
) -> tuple[Path, MortalEndpoint, tuple[str, list[Answer]]]:
    """A folder with the same benchmark, for a run that is disturbed."""
    write_benchmark(tmp_path / "village", ITEMS)
    calm[0].forget()
    return tmp_path, *calm


World = tuple[Path, MortalEndpoint, tuple[str, list[Answer]]]


@pytest.mark.slow
def test_an_endpoint_that_comes_and_goes(world: World) -> None:
    folder, endpoint, expected = world
    with _started(folder, *_line(endpoint)) as process:
        for requests in (10, 40, 80):
            endpoint.wait_for(requests, lambda: process.poll() is None)
            endpoint.kill()
            endpoint.start()
        stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, sentences(stderr)) == (0, [])
    _check(folder, endpoint, expected, stdout)
    assert endpoint.served().total() <= ASKS + 3 * AT_ONCE, "only what was under way is asked again"


@pytest.mark.slow
def test_an_endpoint_that_freezes(world: World) -> None:
    folder, endpoint, expected = world
    with _started(folder, *_line(endpoint)) as process:
        endpoint.wait_for(20, lambda: process.poll() is None)
        endpoint.send(signal.SIGSTOP)
        time.sleep(1.5)  # longer than the patience with one request
        endpoint.send(signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, sentences(stderr)) == (0, [])
    _check(folder, endpoint, expected, stdout)


@pytest.mark.slow
def test_a_run_that_is_frozen(world: World) -> None:
    folder, endpoint, expected = world
    with _started(folder, *_line(endpoint)) as process:
        for requests in (20, 60):
            endpoint.wait_for(requests, lambda: process.poll() is None)
            os.kill(process.pid, signal.SIGSTOP)
            time.sleep(1.5)
            os.kill(process.pid, signal.SIGCONT)
        stdout, stderr = process.communicate(timeout=120)
    assert (process.returncode, sentences(stderr)) == (0, [])
    _check(folder, endpoint, expected, stdout)
    assert endpoint.served().total() <= ASKS + 2 * AT_ONCE


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again(world: World) -> None:
    folder, endpoint, expected = world
    kills, progress = 3, [0]
    for number in range(kills):
        with _started(folder, *_line(endpoint)) as process:
            taken = endpoint.served().total()
            endpoint.wait_for(taken + 15 + 3 * number, lambda: process.poll() is None)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        progress.append(len(asks(folder / ".personafit" / "store.db", "ok")))
    assert progress == sorted(progress), "nothing judged is lost"
    done = personafit(*_line(endpoint), cwd=folder)
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    _check(folder, endpoint, expected, done.stdout)


@pytest.mark.slow
def test_a_run_that_is_told_to_end_twice(world: World) -> None:
    folder, endpoint, expected = world
    with _started(folder, *_line(endpoint)) as process:
        endpoint.wait_for(20, lambda: process.poll() is None)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    (said,) = sentences(stderr)
    assert said.lower() == RESUMABLE
    done = personafit(*_line(endpoint), cwd=folder)
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    _check(folder, endpoint, expected, done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_at_any_moment_is_no_traceback(tmp_path: Path, number: signal.Signals) -> None:
    """While it starts, reads, judges or reports: one sentence and 130, or it was over already."""
    write_benchmark(tmp_path / "village", 200, 20)
    line, codes = ("run", "village", "--rater", "rule:length"), set()
    began = time.monotonic()
    with _started(tmp_path, *line, "--store", "whole.db") as process:
        process.communicate(timeout=120)
        assert process.returncode == 0
    whole = time.monotonic() - began
    for step in range(4):
        with _started(tmp_path, *line, "--store", f"{step}.db") as process:
            time.sleep(whole * (step + 1) / 5)
            process.send_signal(number)
            _, stderr = process.communicate(timeout=60)
        codes.add(process.returncode)
        if process.returncode not in (-signal.SIGTERM, -signal.SIGINT):  # the interpreter was not up yet
            said = sentences(stderr)
            assert (process.returncode, len(said)) in ((130, 1), (0, 0)), stderr
            assert all("interrupted" in sentence.lower() for sentence in said)
    assert 130 in codes
    done = personafit(*line, "--store", "3.db", cwd=tmp_path)
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    assert answers(tmp_path / "3.db") == answers(tmp_path / "whole.db")


def test_the_same_command_twice_at_once(world: World) -> None:
    folder, endpoint, expected = world
    with _started(folder, *_line(endpoint)) as one, _started(folder, *_line(endpoint)) as two:
        ends = [process.communicate(timeout=120) for process in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0], ends
    assert [sentences(stderr) for _, stderr in ends] == [[], []]
    for stdout, _ in ends:
        _check(folder, endpoint, expected, stdout)
    assert endpoint.served().total() <= 2 * ASKS


def test_different_commands_at_once(world: World) -> None:
    folder, endpoint, expected = world
    write_benchmark(folder / "other", ITEMS, 6)
    other = ("run", "other", "--rater", "rule:overlap", "--json", "--out", "other-out")
    with _started(folder, *_line(endpoint)) as one, _started(folder, *other) as two:
        ends = [process.communicate(timeout=120) for process in (one, two)]
    assert [one.returncode, two.returncode] == [0, 0], ends
    assert [sentences(stderr) for _, stderr in ends] == [[], []]
    assert ends[0][0] == expected[0]
    assert endpoint.served().total() == ASKS
    alone = personafit(*other, "--store", "alone.db", cwd=folder)
    assert (alone.returncode, alone.stdout) == (0, ends[1][0])
