"""A whole run of dialogues through the real command and a real endpoint: held, judged, reported, resumed for nothing."""

import json
from pathlib import Path

import pytest

from personafit import Store
from personafit.benchmarks import RunConfig
from personafit.kinds import kind_of
from personafit.run import open_source, plan_run
from tests.conftest import Command
from tests.helpers import results_of
from tests.simulate.talking import Talking, configuration, write_tasks


def test_a_run_is_held_judged_and_reported_and_the_same_command_asks_nothing(
    personafit: Command, tmp_path: Path
) -> None:
    data = write_tasks(tmp_path / "data", 2)
    with Talking() as talking:
        who = ("--user", talking.model("user"), "--rater", talking.model("judge"), "--context", "full")
        systems = ("--system", talking.model("assistant"), "--system", "canned")
        told = ("--system-context", "none", "--system-context", "I")
        command = ["run", "personalens", "--data", str(data), *systems, *told, *who]
        done = personafit(*command)
        asked = talking.answered.total()
        again = personafit(*command, "--json")
        assert talking.answered.total() == asked
    assert "everything about the person (context full)" in " ".join(done.out.split())
    results = results_of(tmp_path)
    assert json.loads(again.out)["results"] == results
    totals = {(r["system"], r["system_context"], r["metric"]): r for r in results if not r["slice"]}
    helper = next(system for system, _, _ in totals if system.startswith("openai:assistant"))
    assert totals[helper, "I", "personalization"]["value"] == 3.0
    assert totals[helper, "I", "personalization"]["coverage"] == 1.0
    assert totals[helper, "I", "completion"]["value"] == 1.0
    assert totals["canned", "none", "personalization"]["control"] == "canned assistant"
    assert totals[helper, "none", "exchanges"]["value"] == 3.0
    effect = [
        r for r in results if r["metric"] == "personalization_effect" and r["slice"] == {"against": "none"}
    ]
    assert {r["value"] for r in effect} == {0.0}
    (page,) = (tmp_path / ".personafit" / "runs").glob("*/report.html")
    assert "Effects of contexts" in page.read_text(encoding="utf-8")


def test_a_bar_on_personalization_fails_the_command_and_has_dialogues_held_anew(
    personafit: Command, tmp_path: Path
) -> None:
    data = write_tasks(tmp_path / "data", 2)
    bar = ("--fail-under", "personalization=3.5")
    with Talking() as talking:
        who = ("--user", talking.model("user"), "--rater", talking.model("judge"))
        told = ("--system", talking.model("assistant"), "--system-context", "I")
        command = ("run", "personalens", "--data", str(data), "-K", "tasks=SD", *told, *who)
        done = personafit(*command, *bar, code=1)
        again, plain = personafit(*command, *bar, "--json", code=1), personafit(*command, "--json")
    assert "personalization" in done.err
    assert "3.000" in done.err
    assert "2 dialogues made, 0 reused" in done.out
    counts = [(body["made"], body["reused"]) for body in map(json.loads, (again.out, plain.out))]
    assert counts == [(2, 0), (0, 2)]
    (spent,) = json.loads(again.out)["systems"]
    assert (spent["system_context"], spent["answers"] >= 2, spent["seconds_median"] > 0) == ("I", True, True)


def test_a_plain_and_a_thinking_user_are_compared_in_one_command(personafit: Command, tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data", 3)
    with Talking() as talking:
        shared = {"benchmark": "personalens", "data": str(data), "options": {"tasks": "SD"}}
        shared |= {"system_contexts": ["I"], "contexts": ["full", "none"]}
        users = [talking.model("user", style) for style in ("", ",style=cot")]
        lines = [f"raters = [{json.dumps(talking.model('judge'))}]"]
        lines.append(f"systems = [{json.dumps(talking.model('assistant'))}]")
        for user in users:
            entries = {**shared, "user": user}
            lines += ["[[run]]", *(f"{name} = {_toml(value)}" for name, value in entries.items())]
        (tmp_path / "suite.toml").write_text("\n".join(lines), encoding="utf-8")
        done = personafit("run", "suite.toml", "--json")
    runs = json.loads(done.out)["runs"]
    subjects = [one["subject"] for run in runs for one in run["verdict"]["subjects"]]
    assert [subject.endswith("(cot users)") for subject in subjects] == [False, True]
    names = [run["run"] for run in runs]
    for command in ("report", "compare"):
        said = " ".join(personafit(command, *names).out.split())
        assert "user vanilla" in said
        assert "user cot" in said


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.slow
def test_the_default_model_in_a_role_is_warned_of_and_noted(personafit: Command, tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data", 1)
    with Talking() as talking:
        user, judge = ("--user", talking.model("user")), ("--rater", talking.model("judge"))
        system = ("--system", "canned", "--system-context", "none")
        common = ("run", "personalens", "--data", str(data), *system, "--dry-run")
        said = {
            options: personafit(*common, *options).err
            for options in ((), user, judge, (*user, "--rater", "embedded:smollm2"), (*user, *judge))
        }
    assert "is the user and the rater here" in said[()]
    assert "need a stronger --user and --rater." in said[()]
    assert "is the rater here" in said[user]
    assert "need a stronger --user." in said[judge]
    assert "need a stronger --rater." in said[*user, "--rater", "embedded:smollm2"]
    assert "default model" not in said[*user, *judge]


def test_the_note_on_the_default_model_stays_with_the_run(tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data", 1)
    with Talking() as talking, Store(tmp_path / "store.db") as store:
        weak = configuration(data, talking, user="embedded")
        noted, strong = notes(store, weak), notes(store, configuration(data, talking))
    assert any("need a stronger --user." in note for note in noted)
    assert not any("stronger" in note for note in strong)


def notes(store: Store, config: RunConfig) -> list[str]:
    benchmark = open_source(config)
    found: list[str] = plan_run(store, config, benchmark, kind_of(benchmark)).record["notes"]
    return found
