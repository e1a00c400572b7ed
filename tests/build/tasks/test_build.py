"""Task profiles built from templates and by a scripted model, and dialogues held about what was built."""

import json
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks.personalens import open_tasks
from personafit.build import read_config
from personafit.people import Person
from personafit.raters.counting import Said, mark_turns, preferences_of
from tests.build.tasks import writers
from tests.build.tasks.building import built, rows, written_config
from tests.conftest import Command
from tests.helpers import results_of
from tests.simulate.talking import Talking

ECHO = "def echo(messages, known):\n    return known['text'] or 'Gladly.'\n"


def test_templates_make_people_and_tasks_that_dialogues_run_on(personafit: Command, tmp_path: Path) -> None:
    path = written_config(tmp_path, 6, "single = 2", "multi = 1", writer="template")
    made = built(path)
    out = tmp_path / "out"
    assert made.done == ["people", "tasks"]
    assert not rows(out / "makers.jsonl"), "no model was asked"
    everyone = list(open_tasks(out).users)
    assert [person.id for person, _ in everyone] == [
        row["id"] for row in rows(out / "steps/people/people.jsonl")
    ]
    assert {person.language for person, _ in everyone} == {"en", "zh"}
    for person, tasks in everyone:
        assert {task.kind for task in tasks} == {"SD", "MD"}
        assert "Personality.MBTI" in person.facets, "what was known besides stays"
        for task in tasks:
            assert set(task.domains) <= set(person.summaries), "whoever has a task has a history for it"
            assert set(task.preferences) <= set(person.facets)
            assert set(task.situation) == {"location", "device", "time_of_day", "day", "surroundings"}
    (tmp_path / "echoes.py").write_text(ECHO, encoding="utf-8")
    with Talking() as talking:
        personafit(
            *("run", "personalens", "--data", "out", "--system", "canned", "--system", "python:echoes:echo"),
            *("--user", talking.model("user"), "--rater", talking.model("judge")),
            *("--system-context", "none", "--system-context", "I", "--limit", "9"),
        )
    found = {
        (r["system"], r["system_context"], r["metric"]): r for r in results_of(tmp_path) if not r["slice"]
    }
    assert found["python:echoes:echo", "I", "coverage_before"]["value"] == 1.0, "the history shows all of it"
    assert found["python:echoes:echo", "I", "contradictions"]["value"] == 0.0
    assert found["canned", "none", "coverage_before"]["value"] == 0.0
    assert found["canned", "none", "contradictions"]["value"] == 0.0
    assert found["canned", "I", "personalization"]["coverage"] == 1.0
    assert found["canned", "I", "personalization"]["n"] == 9


def test_a_model_writes_histories_and_wishes_and_every_product_says_where_it_comes_from(
    tmp_path: Path,
) -> None:
    path = written_config(tmp_path, 6, "domains = [4, 5]", "single = 2", "multi = 1")
    built(path)
    out = tmp_path / "out"
    products = {row["id"]: row for row in rows(out / "products.jsonl")}
    makers = {row["fingerprint"]: row for row in rows(out / "makers.jsonl")}
    histories = [row for row in products.values() if row["kind"] == "summary"]
    assert {makers[row["maker"]]["prompt"] for row in histories} == {"task-history-1"}, rows(
        out / "rejected.jsonl"
    )
    for row in histories:
        (profile,) = row["parents"]
        assert products[profile]["kind"] == "profile"
        assert products[profile]["about"] == row["about"]
    people = {row["id"]: Person.model_validate(row) for row in rows(out / "people.jsonl")}
    tasks = rows(out / "tasks.jsonl")
    made = [row for row in products.values() if row["kind"] == "task"]
    assert len(made) == len(tasks) > 12
    for row, task in zip(made, tasks, strict=True):
        assert json.loads(row["text"]) == task
        assert task["intent"].endswith(("before my sister comes to stay.", "别拖到月底。"))
        kinds = [products[parent]["kind"] for parent in row["parents"] if parent in products]
        assert kinds == ["profile", *["summary"] * len(task["domains"])]
        assert len(row["parents"]) == len(kinds) + 1, "and the wish, which is in the store"
    closed = open_tasks(out).info.metrics["closed_values"]
    for person in people.values():
        for domain, text in person.summaries.items():
            paths = [one for one in person.facets if one.startswith(f"{domain}.")]
            marks = mark_turns([Said("assistant", text)], preferences_of(person.facets, paths, closed), "")
            assert {mark.path for mark in marks if mark.kind == "covers"} == set(paths)
            assert not [mark for mark in marks if mark.kind == "contradicts"]


def test_the_same_build_asks_nothing_again_and_a_step_can_be_done_anew(tmp_path: Path) -> None:
    path = written_config(tmp_path, 2, "domains = [3, 3]", "single = 1", "multi = 1")
    first = built(path)
    assert first.done == ["people", "tasks"]
    before = rows(tmp_path / "out/tasks.jsonl")
    writers.CALLS.clear()
    assert built(path).kept == ["people", "tasks"]
    assert not writers.CALLS
    again = built(path, redo="tasks")
    assert (again.kept, again.done) == (["people"], ["tasks"])
    assert writers.CALLS
    assert rows(tmp_path / "out/tasks.jsonl") != before, "other draws"


def test_a_model_that_always_says_the_same_is_stopped_after_a_few_asks(tmp_path: Path) -> None:
    path = written_config(tmp_path, 30, writer="monotone")
    with pytest.raises(
        UserError, match=r"tasks: none of the first 12 histories by .*\"template\" in its place"
    ):
        built(path)
    assert (tmp_path / "out" / "steps" / "people" / "done.json").is_file(), "what was made is kept"


SITUATIONS = """
times = {{ "noon" = "中午" }}
days = {{ "Monday" = "周一", "{day}" = "周六" }}
devices = {{ "kiosk" = "自助机" }}
[[places]]
en = "in a queue"
zh = "在排队"
times = ["noon"]
devices = ["{device}"]
like = {{ "slow" = "很慢" }}
"""


def test_situations_are_drawn_from_a_list_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(SITUATIONS.format(day="Saturday", device="kiosk"), encoding="utf-8")
    path = written_config(tmp_path, 3, "single = 2", 'situations = "own.toml"', writer="template")
    built(path)
    found = [row["situation"] for row in rows(tmp_path / "out" / "tasks.jsonl")]
    assert {one["device"] for one in found} == {"kiosk", "自助机"}
    assert all(one["location"].endswith(("in a queue", "在排队")) for one in found)
    for changed, sentence in (
        (
            SITUATIONS.format(day="Saturday", device="abacus"),
            r"place 'in a queue', devices: name one or more",
        ),
        (
            SITUATIONS.format(day="Monday2", device="kiosk").replace("like =", "only = ['minor']\nlike ="),
            "one must be without",
        ),
    ):
        (tmp_path / "other.toml").write_text(changed, encoding="utf-8")
        other = written_config(tmp_path, 2, 'situations = "other.toml"', writer="template")
        with pytest.raises(UserError, match=sentence):
            read_config(other)
