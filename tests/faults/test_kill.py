"""Runs that are killed, interrupted or starved of disk: the same command finishes them, and nothing shows afterwards.

Real processes, real signals. The stub rater takes a few milliseconds an ask and touches a file when it is first called,
so that kills fall into the work, and a run can never be over before its last kill.
"""

import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.world import Answer, answers, command, personafit, quiet, sentences, write_benchmark

ITEMS, PEOPLE, KILLS = 300, 20, 20
JOBS = ITEMS * 3 * 3  # three raters, three contexts
SLOW, FAST = 0.06, 0.001  # seconds the rater takes for an ask while it is disturbed, and while it is not
AT_ONCE = 4
LEAST = ITEMS * 3 * SLOW / AT_ONCE  # seconds of work that no machine can undercut
LONGEST_LEG = 0.8 * LEAST / KILLS  # of work between two kills: all together stay below that
STARTUP = 1.0  # of the kills, one in five falls somewhere into this time after the start

RATER = f"python:slow_rater:rate,concurrency={AT_ONCE}"
MODULE = """
import hashlib, pathlib, time

def rate(person, question, answers):
    pathlib.Path("called").touch()
    time.sleep(float(pathlib.Path("pace").read_text()))
    return [int(hashlib.sha256((person + question + answer).encode()).hexdigest()[:6], 16) for answer in answers]
"""


def _prepare(folder: Path) -> Path:
    (folder / "slow_rater.py").write_text(MODULE, encoding="utf-8")
    write_benchmark(folder / "village", ITEMS, PEOPLE)
    return folder


@contextmanager
def _started(
    folder: Path, pace: float, prepare: Callable[[], None] | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """The command under way in a process group of its own; whatever happens, it does not outlive the test."""
    (folder / "called").unlink(missing_ok=True)
    (folder / "pace").write_text(str(pace), encoding="utf-8")
    process = subprocess.Popen(
        command("run", "village", "--rater", RATER),
        cwd=folder,
        env=quiet(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=prepare,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _wait_for_work(folder: Path, process: "subprocess.Popen[str]") -> None:
    while not (folder / "called").exists():
        assert process.poll() is None, f"it ended before it began: {process.communicate()[1]}"
        time.sleep(0.002)


def _finish(folder: Path) -> list[Answer]:
    (folder / "pace").write_text(str(FAST), encoding="utf-8")
    done = personafit("run", "village", "--rater", RATER, cwd=folder)
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    return answers(folder / ".personafit" / "store.db")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[Answer]:
    """What a run that nothing happens to gives."""
    found = _finish(_prepare(tmp_path_factory.mktemp("undisturbed")))
    assert len(found) == JOBS
    assert {row[5] for row in found} == {"ok"}
    assert {row[7] for row in found} == {"0", "1", "tie"}
    return found


@pytest.mark.slow
def test_twenty_kills_leave_no_trace(tmp_path: Path, undisturbed: list[Answer]) -> None:
    folder, moments, progress = _prepare(tmp_path), random.Random(20), [0]
    store = folder / ".personafit" / "store.db"
    for number in range(KILLS):
        with _started(folder, SLOW) as process:
            if number % 5 == 0:
                time.sleep(moments.uniform(0, STARTUP))
            else:
                _wait_for_work(folder, process)
                time.sleep(moments.uniform(0, LONGEST_LEG))
            assert process.poll() is None, "the run was over before it could be killed"
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        if number:  # the first kill may come before there is a store
            progress.append(len(answers(store)))
    assert progress == sorted(progress), "nothing judged is lost"
    assert 0 < progress[-1] < JOBS
    assert len(set(progress)) > 2, "the kills are spread over the work"  # how far depends on the machine
    found = _finish(folder)
    assert found == undisturbed
    assert len({row[:5] for row in found}) == len(found) == JOBS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_so_and_goes_on(
    tmp_path: Path, undisturbed: list[Answer], number: signal.Signals
) -> None:
    folder = _prepare(tmp_path)
    store = folder / ".personafit" / "store.db"
    with _started(folder, SLOW) as process:
        _wait_for_work(folder, process)
        while not answers(store):
            time.sleep(0.1)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 130, stderr
    (said,) = sentences(stderr)
    assert said == "interrupted; what was done is kept and the same command goes on from there."
    kept = answers(store)
    assert 0 < len(kept) < JOBS
    assert set(kept) <= set(undisturbed)
    assert _finish(folder) == undisturbed


def test_a_full_disk_is_one_sentence_and_nothing_is_lost(tmp_path: Path, undisturbed: list[Answer]) -> None:
    folder = _prepare(tmp_path)

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))  # no file may grow beyond that

    with _started(folder, FAST, small_disk) as process:
        _, stderr = process.communicate(timeout=60)
        assert process.returncode == 1, stderr
    (said,) = sentences(stderr)
    assert said.startswith("The store could not be read or written (")
    assert said.endswith("what was judged before is kept and the same command goes on from there.")
    assert set(answers(folder / ".personafit" / "store.db")) < set(undisturbed)
    assert _finish(folder) == undisturbed
