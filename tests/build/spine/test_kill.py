"""kill -9 and a full disk in the middle of answers: the same command makes the very same benchmark."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.build.answers.building import write_config
from tests.build.builds import calls, lines, run_build, write_build
from tests.faults.disks import remount, small_disk
from tests.faults.world import sentences
from tests.helpers import python_path

# Does what able does, notes every call, and where it is told to, dies at a call of a kind.
MORTAL = """
import os, signal
from pathlib import Path
from tests.build.answers.models import able

HERE = Path(__file__).parent

def noted(messages, answer):
    asked = messages[-1]["content"]
    kind = os.environ.get("DIE_IN", "")
    with (HERE / "calls.txt").open("a") as file:
        file.write(f"{'*' if kind and kind in asked else '-'}\\n")
    seen = (HERE / "calls.txt").read_text().count("*")
    if kind and seen >= int(os.environ["DIE_AT"]):
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(messages)

def writer(messages): return noted(messages, able)
"""
# Sends a signal when the pool takes back the connection a build has written with, at whatever call is to be interrupted.
INTERRUPTING = """
import os, signal, sys
from sqlalchemy.pool.base import _ConnectionFairy

reset, left = _ConnectionFairy._reset, [int(os.environ.get("SIGNAL_AT", 0))]

def interrupted(self, *given, **named):
    frame = sys._getframe()
    while frame is not None and not frame.f_code.co_filename.endswith("build/bench.py"):
        frame = frame.f_back
    if frame is not None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), int(os.environ["SIGNAL"]))
    return reset(self, *given, **named)

_ConnectionFairy._reset = interrupted
"""
FILES = ("people", "products", "items", "gold", "votes", "rejected", "makers")
ANSWERED = "They ask: "


def _run(folder: Path, out: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    path = f"{python_path(folder)}:{Path(__file__).parents[3]}"
    return subprocess.run(
        [sys.executable, "-m", "personafit", "build", "build.toml", "--out", out],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_kill_9_in_the_middle_of_answers_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "mortal.py").write_text(MORTAL, encoding="utf-8")
    studies = 'voters = "simulated"\nraters = 3\npairs = 2\nbalanced = false'
    config = write_config(tmp_path, studies=studies, people=4)
    text = config.read_text(encoding="utf-8")
    config.write_text(
        text.replace("python:tests.build.answers.models:able", "python:mortal:writer"), encoding="utf-8"
    )
    run_build(config, tmp_path / "whole")
    whole = calls(tmp_path)
    (tmp_path / "calls.txt").unlink()
    killed = _run(tmp_path, "killed", DIE_IN=ANSWERED, DIE_AT="20")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    steps = tmp_path / "killed" / "steps"
    assert (steps / "questions" / "done.json").is_file()
    assert not (steps / "answers" / "done.json").exists()
    before = calls(tmp_path)
    run_build(config, tmp_path / "killed")
    assert 0 <= calls(tmp_path) - whole < before, "only what was under way is asked again"
    for file in FILES:
        made, intact = (tmp_path / one / f"{file}.jsonl" for one in ("killed", "whole"))
        assert made.read_bytes() == intact.read_bytes(), file


def test_an_interrupt_in_the_midst_of_a_write_is_one_sentence(tmp_path: Path) -> None:
    sections = "[people]\nquota = 4\nsimilarity = 1.0\n"
    write_build(tmp_path, sections)
    with (tmp_path / "strong_writer.py").open("a", encoding="utf-8") as file:
        file.write(INTERRUPTING)
    for number, at in ((signal.SIGINT, "1"), (signal.SIGTERM, "4")):
        ended = _run(tmp_path, "out", SIGNAL=str(int(number)), SIGNAL_AT=at)
        (said,) = sentences(ended.stderr)
        assert (ended.returncode, said.startswith("interrupted; ")) == (130, True), ended.stderr
        assert not (tmp_path / "out" / "steps" / "people" / "done.json").exists()
    done = _run(tmp_path, "out")
    assert (done.returncode, sentences(done.stderr)) == (0, [])
    assert len(lines(tmp_path / "out" / "people.jsonl")) == 4


@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_the_build_goes_on_once_there_is_room(tmp_path: Path) -> None:
    sections = "[people]\nquota = 60\nsimilarity = 1.0\n"
    config = write_build(tmp_path, sections + "[memories]\nper_person = 4\nsampled = 3\nfeatures = 2\n")
    run_build(config, tmp_path / "whole")
    needed = sum(path.stat().st_size for path in (tmp_path / "whole").rglob("*") if path.is_file())
    asked = calls(tmp_path)
    for share in (0.3, 0.7):
        with small_disk(tmp_path / f"disk-{share}", str(int(needed * share))) as disk:
            (tmp_path / "calls.txt").unlink()
            full = _run(tmp_path, str(disk / "out"))
            (said,) = sentences(full.stderr)
            assert full.returncode == 1, said
            assert "disk is full" in said or "disk I/O error" in said
            assert "kept" in said
            assert "the same command goes on" in said
            remount(disk, f"size={needed * 10}")
            done = _run(tmp_path, str(disk / "out"))
            assert done.returncode == 0, done.stderr
            assert calls(tmp_path) < 2 * asked, "what was stored is not asked again"
            assert lines(disk / "out" / "people.jsonl") == lines(tmp_path / "whole" / "people.jsonl")
