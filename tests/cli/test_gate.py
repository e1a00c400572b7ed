"""The gate: counterfeits do not pass it, and the example repository, in real processes, is judged as its README says."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import personafit as pf
from personafit.benchmarks import starter
from personafit.testing import assert_lift, assert_metric
from tests.conftest import Command
from tests.helpers import python_path, run_cli
from tests.preference_world import write_preferences
from tests.stub_endpoint import BEHAVIOURS, StubEndpoint, completion, saying

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "ci"
PEOPLE = {person.id: person for person in starter().people()}
GATED = ("--rater", "python:judge:fits", "--limit", "60", "--fail-under", "lift=0.05")


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The test's folder as a copy of the example repository."""
    left_out = shutil.ignore_patterns(".personafit", "__pycache__")
    return shutil.copytree(EXAMPLE, tmp_path, ignore=left_out, dirs_exist_ok=True)


@pytest.fixture
def gate(example: Path, personafit: Command) -> Callable[..., dict[str, Any]]:
    """What `run answers --json` prints in the example, with the exit code insisted on."""

    def call(*arguments: str, code: int = 0) -> dict[str, Any]:
        printed = personafit("run", "answers", *arguments, "--json", code=code)
        body: dict[str, Any] = json.loads(printed.out) | {"said": printed.err}
        return body

    return call


# -- counterfeits ------------------------------------------------------------------------------------------------------


def test_code_broken_one_import_deeper_does_not_pass_on_stored_answers(
    example: Path, gate: Callable[..., dict[str, Any]]
) -> None:
    command = ("--system", "python:assistant:answer", *GATED)
    passed = gate(*command)
    assert [one["outcome"] for one in passed["gate"]] == ["passes"]
    assert (passed["made"], passed["reused"]) == (180, 0)
    memory = example / "assistant" / "memory.py"
    broken = memory.read_text(encoding="utf-8").replace('== "off"', '!= "on"')
    memory.write_text(broken, encoding="utf-8")  # neither assistant/__init__.py nor replies.py has changed
    failed = gate(*command, code=1)
    assert [one["outcome"] for one in failed["gate"]] == ["fails"]
    assert (failed["made"], failed["reused"]) == (180, 0)
    assert "180 answers made, 0 reused." in failed["verdict"]["sentence"]
    reused = gate(*command, "--reuse", code=1)
    assert (reused["made"], reused["reused"], reused["stale"]) == (0, 180, 180)


@pytest.mark.slow
def test_an_endpoint_whose_model_changed_behind_its_url_is_asked_again(
    gate: Callable[..., dict[str, Any]], endpoint: StubEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def personal(body: dict[str, Any]) -> dict[str, Any]:
        found = re.search(r"Leisure: (.+)", body["messages"][0]["content"])
        return completion(body, f"Start from this: {found[1]}." if found else "Start anywhere.")

    monkeypatch.setitem(BEHAVIOURS, "personal", saying(personal))
    monkeypatch.setitem(BEHAVIOURS, "general", saying(lambda body: completion(body, "Start anywhere.")))
    command = ("--system", endpoint.spec(), *GATED)
    endpoint.behave("personal")
    assert gate(*command)["made"] == 180
    endpoint.behave("general")
    changed = gate(*command, code=1)
    assert (changed["made"], changed["reused"]) == (180, 0)
    assert [one["outcome"] for one in changed["gate"]] == ["fails"]


@pytest.mark.slow
def test_a_lift_of_a_third_with_an_interval_from_below_zero_cannot_be_told(
    personafit: Command, tmp_path: Path
) -> None:
    shutil.copy(EXAMPLE / "judge.py", tmp_path)
    rows: list[dict[str, Any]] = [
        {
            "person": {"id": f"p{n}", "likes": pet},
            "question": f"Question {n}?",
            "answer": f"{pet} first" if n else "whatever suits",
            "generic": "whatever suits" if n else f"{pet} first",
        }
        for n, pet in enumerate(("cats", "dogs", "mice", "owls", "frogs", "ponies"))
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = ("run", "log.jsonl", "--rater", "python:judge:fits", "--fail-under", "lift=0.05")
    done = personafit(*command, "--junit", "junit.xml", code=1)
    said = re.search(r"Gate lift=0.05: cannot tell whether .* it is (0\.3\d\d) \((-0\.\d+) to", done.out)
    assert said is not None, done.out
    assert float(said[2]) < -0.05
    assert re.search(
        r"cannot tell whether lift of .* reaches 0.05: .* about \d+ people .* would tell", done.err
    )
    failures = list(ElementTree.parse(tmp_path / "junit.xml").getroot().iter("failure"))
    assert [failure.get("type") for failure in failures] == ["cannot tell"]
    assert str(failures[0].get("message")).startswith("cannot tell whether lift of")
    personafit(*command, "--undecided", "pass")
    more = [row | {"question": f"{row['question']} Really?"} for row in rows]
    rows = [row | {"answer": None if n % 5 < 2 else row["answer"]} for n, row in enumerate([*rows, *more])]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    missing = personafit(*command, "--undecided", "pass", code=1).err
    assert re.search(r"share of answers made by the system is 0\.5\d\d, below 0\.95\.", missing), missing


@pytest.mark.slow
def test_with_two_answers_of_five_missing_nothing_passes(
    example: Path, gate: Callable[..., dict[str, Any]]
) -> None:
    (example / "flaky.py").write_text(
        "from assistant.replies import answer as whole\n"
        "def answer(person, question):\n"
        "    if person and len(question) % 5 < 2:\n"
        "        raise RuntimeError('no answer')\n"
        "    return whole(person, question)\n",
        encoding="utf-8",
    )
    command = ("--system", "python:flaky:answer", "--rater", "python:judge:fits", "--limit", "100")
    body = gate(*command, "--fail-under", "lift=0.01", code=1)
    lift, made = body["gate"]
    assert (lift["outcome"], made["outcome"]) == ("passes", "fails")
    assert re.search(
        r"share of answers made by python:flaky:answer given profile is 0\.\d+, below 0\.95\.", body["said"]
    )
    (share,) = (row["value"] for row in body["results"] if row["metric"] == "made")
    assert 0.5 < share < 0.7
    assert body["made"] < 300
    bars = ("lift=0.01", "made=0.5", "coverage=0.5")
    lenient = [argument for bar in bars for argument in ("--fail-under", bar)]
    assert [one["outcome"] for one in gate(*command, *lenient)["gate"]] == ["passes"] * 3


# -- which answers count -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_interrupted_run_goes_on_with_its_own_answers(
    example: Path, gate: Callable[..., dict[str, Any]]
) -> None:
    (example / "stopped.py").write_text(
        "import os, pathlib, signal\n"
        "from assistant.replies import answer as whole\n"
        "asked = 0\n"
        "def answer(person, question):\n"
        "    global asked\n"
        "    asked += 1\n"
        "    if asked == 60 and pathlib.Path('stop').exists():\n"
        "        pathlib.Path('stop').unlink()\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return whole(person, question)\n",
        encoding="utf-8",
    )
    command = ("--system", "python:stopped:answer", *GATED)
    (example / "stop").touch()
    run_cli("run", "answers", *command, cwd=example, path=example, code=130)
    resumed = gate(*command)
    assert (resumed["made"], resumed["reused"]) == (180, 0)
    assert 0 < resumed["resumed"] < 180
    assert (
        f"180 answers made ({resumed['resumed']} of them before an interruption), 0 reused."
        in (resumed["verdict"]["sentence"])
    )
    assert gate(*command)["resumed"] == 0


def test_a_gate_in_python_and_a_gate_without_a_judge(personafit: Command, tmp_path: Path) -> None:
    def alike(person: str, question: str) -> str:
        return f"Think of {person.split()[-1] if person else 'nobody'} first."

    def longest(person: str, question: str, answers: list[str]) -> list[int]:
        return [len(set(answer.split()) & set(person.split())) for answer in answers]

    def run(**more: Any) -> pf.Run:
        return pf.evaluate(
            "answers",
            systems=alike,
            raters=longest,
            limit=20,
            store=tmp_path / "s.db",
            progress=False,
            **more,
        )

    first, again = run(reuse=False), run(reuse=False)
    assert [one.answers["made"] for one in (first, again)] == [60, 60]
    assert_lift(again, at_least=-1.0)
    stored = run()
    assert (stored.answers["made"], stored.answers["reused"]) == (0, 60)
    with pytest.raises(AssertionError, match="60 answers were reused from an earlier run"):
        assert_lift(stored, at_least=-1.0)
    assert_lift(stored, at_least=-1.0, reuse=True)
    assert (
        "--fail-under needs a judge"
        in personafit("run", "starter", "--fail-under", "accuracy=0.1", code=2).err
    )


# -- bars on slices, kinds and suites --------------------------------------------------------------------------------------


def test_any_slice_of_the_questions_is_gated_and_a_misspelt_bar_is_found_before_anything_is_asked(
    personafit: Command, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(example)
    command = ("run", "answers", "--system", "python:assistant:answer", "--rater", "python:judge:fits")
    for bar, said in (
        ("win_rate[teir=hard]=0.5", "items have no 'teir'; their slices are against, category, expect, half"),
        ("win_rate[tier=heard]=0.5", "no item has tier=heard; there are easy, hard, medium."),
        ("lift=5", "lift is never above 1; write a fraction, such as lift=0.05."),
        ("accuracy=0.5", "there is no metric 'accuracy'; there are consistency, lift, restraint, win_rate"),
    ):
        assert said in personafit(*command, "--fail-under", bar, code=2).err
    said = personafit(*command, "--fail-under", "lift=0.1", "--context", "profile", code=2).err
    assert "add --context none and --context wrong:profile" in said
    assert not (tmp_path / ".personafit" / "store.db").exists()
    bars = ("win_rate[tier=hard]=0.05", "win_rate[half=specific]=0.99")
    gates = [argument for bar in bars for argument in ("--fail-under", bar)]
    body = json.loads(personafit(*command, "--limit", "60", *gates, "--json", code=1).out)
    assert [(one["metric"], one["outcome"]) for one in body["gate"]] == [
        ("win_rate[tier=hard]", "passes"),
        ("win_rate[half=specific]", "fails"),
    ]
    assert [(one["system_context"], one["answers"]) for one in body["systems"]] == [
        ("profile", 60),
        ("none", 60),
        ("wrong:profile", 60),
    ]
    assert all(one["seconds_p95"] >= one["seconds_median"] >= 0 == one["cost"] for one in body["systems"])
    run = pf.load("last", store=tmp_path / ".personafit" / "store.db")
    assert set(run.items["tier"]) == {"easy", "medium", "hard"}
    assert_metric(run, "win_rate[tier=medium]", at_least=0.2)


def test_a_gate_on_preferences_and_one_on_a_recording(
    personafit: Command, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_preferences(tmp_path / "little")
    (tmp_path / "marks.py").write_text(
        "def rate(shown):\n"
        "    mark = 4 + int(shown.person[1:]) % 2\n"
        "    return [mark if shown.order[0] == 0 else 6 - mark for _ in shown.parts]\n",
        encoding="utf-8",
    )
    rated = ("run", "little", "--rater", "python:marks:rate", "--fail-under")
    (verdict,) = json.loads(personafit(*rated, "rating=3.5", "--json").out)["gate"]
    assert verdict["outcome"] == "passes"
    assert "rating of python:marks:rate" in personafit(*rated, "rating=4.99", code=1).err
    assert "there is no metric 'lift'; there are rating" in personafit(*rated, "lift=0.1", code=2).err

    monkeypatch.syspath_prepend(example)
    recorded = [
        {"key": f"{item.id}|{told}", "reply": f"For you: {kept}." if told == "profile" else "Anything."}
        for item in starter().items()
        for told in ("profile", "none", "wrong:profile")
        for kept in [" ".join(map(str, PEOPLE[item.person].facets.values()))]
    ]
    lines = "".join(json.dumps(row) + "\n" for row in recorded)
    (tmp_path / "said.jsonl").write_text(lines, encoding="utf-8")
    command = ("run", "answers", "--system", "replay:said.jsonl", *GATED, "--json")
    first, again = (json.loads(personafit(*command).out) for _ in range(2))
    assert [one["outcome"] for one in (*first["gate"], *again["gate"])] == ["passes", "passes"]
    assert [(one["made"], one["reused"], one["stale"]) for one in (first, again)] == [
        (180, 0, 0),
        (0, 180, 0),
    ], "a recording says the same tomorrow"


def test_the_bars_of_a_suite_are_kept_with_its_runs(personafit: Command, tmp_path: Path) -> None:
    write_preferences(tmp_path / "little")
    rows = [
        {"person": {"id": f"p{n}", "likes": "tea"}, "question": "What?", "answer": "Tea.", "generic": "It."}
        for n in range(6)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "all.toml").write_text(
        'raters = ["rule:length"]\n[[run]]\nbenchmark = "log.jsonl"\nfail_under = ["lift=-1"]\n'
        '[[run]]\nbenchmark = "./little"\n',
        encoding="utf-8",
    )
    personafit("run", "all.toml", "--fail-under", "win_rate=0.1", "--undecided", "pass")
    store = tmp_path / ".personafit" / "store.db"
    names = [folder.name for folder in (tmp_path / ".personafit" / "runs").iterdir()]
    kept = {name: [bar for bar, _ in pf.load(name, store=store).bars] for name in names}
    assert sorted(kept.values()) == [["lift", "win_rate"], ["win_rate"]]
    (log,) = (name for name in names if name.startswith("answers-"))
    personafit("report", log, "--format", "md", "--out", "out.md")
    said = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "Gate lift=-1: cannot tell whether lift of rule:length (profile)" in said
    assert "=0.1: passes. " in said
    said = personafit("run", "all.toml", "--fail-under", "f1=0.1", code=2).err
    assert "--fail-under f1=0.1: there is no metric 'f1'" in said


# -- the example repository, and the jobs that a team copies -----------------------------------------------------------


def steps(name: str) -> list[str]:
    """The commands of a job under docs/ci/, in order."""
    yaml: Any = import_module("yaml")  # it comes with the documentation's tools
    job = yaml.safe_load((ROOT / "docs" / "ci" / name).read_text(encoding="utf-8"))
    if "jobs" in job:
        return [step["run"] for step in job["jobs"]["gate"]["steps"] if "run" in step]
    return [*job["personalization"]["script"], *job["personalization"]["after_script"]]


def work(folder: Path, command: str, **environment: str) -> int:
    """Carry a command out as a CI server would; what is posted is kept in `posted`."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("pip", "gh", "curl"):  # what would leave this machine
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" >> posted\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    (tools / "personafit").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m personafit "$@"\n', encoding="utf-8"
    )
    (tools / "personafit").chmod(0o755)
    search = f"{tools}{os.pathsep}{os.environ['PATH']}"
    given = {**os.environ, **environment, "PATH": search, "PYTHONPATH": python_path(folder)}
    done = subprocess.run(
        ["bash", "-e", "-c", command], cwd=folder, env=given, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "environment", "code", "said"),
    [
        ("github.yml", {"PULL_REQUEST": "pull/7"}, 0, "Gate lift=0.05: passes. Lift of"),
        ("gitlab.yml", {"MEMORY": "off", "CI_API_V4_URL": "gitlab/api"}, 1, "Gate lift=0.05: fails."),
    ],
)
def test_a_job_that_a_team_copies_runs_the_example_and_posts_its_verdict(
    example: Path, job: str, environment: dict[str, str], code: int, said: str
) -> None:
    codes = [work(example, command, **environment) for command in steps(job)]
    assert codes == [0, code, 0, 0]
    comment = (example / "verdict.md").read_text(encoding="utf-8")
    title, paragraph, gate, *_ = comment.split("\n\n")
    assert title.startswith("### ")
    assert paragraph.startswith("Your assistant’s answers ")
    assert gate.startswith(said)
    assert "180 answers made, 0 reused" in comment
    posted = (example / "posted").read_text(encoding="utf-8").splitlines()
    assert "verdict.md" in posted[-1]
    (suite,) = ElementTree.parse(example / "junit.xml").getroot()
    assert suite.get("failures") == str(code)


@pytest.mark.slow
def test_the_example_says_what_its_readme_says(example: Path) -> None:
    text = (example / "README.md").read_text(encoding="utf-8")
    passes, off, few = (line[2:] for line in text.splitlines() if line.startswith("$ "))
    assert passes in " ".join(steps("github.yml"))
    assert off == f"MEMORY=off {passes}"
    assert work(example, f"{few} > few.txt") == 1
    assert "Gate lift=0.05: cannot tell whether" in (example / "few.txt").read_text(encoding="utf-8")
    tested = f"{sys.executable} -m pytest -q -p no:cacheprovider test_assistant.py"
    assert work(example, tested) == 0
    assert work(example, tested, MEMORY="off") == 1
