"""Replies of a run of dialogues: recorded they repeat the run without a model, and they can be read again for nothing."""

import json
import re
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.benchmarks.config import RunConfig
from personafit.items.dialogue import DIALOGUE_QUESTIONS, Dialogue, DialogueQuestion
from personafit.kinds.rescore import rescore
from personafit.reports.dialogue import DialogueReport
from personafit.simulate import dialogue_recording, dialogues
from personafit.store import Store
from tests.scripted import run
from tests.simulate.talking import MODELS, Talking, configuration, write_tasks


@pytest.mark.parametrize("user", ["user", "user-unmarked", "user-thinking", "user-undecided"])
def test_a_recording_plays_all_roles_of_the_same_dialogues(tmp_path: Path, user: str) -> None:
    data = write_tasks(tmp_path / "data", 2)
    with Talking() as talking, Store(tmp_path / "store.db") as store:
        first = run(store, configuration(data, talking, user=talking.model(user), givens=["none", "I"]))
        lines = dialogue_recording(store, first.run)
        asked = {(one.person, one.task.id, one.given): one for one in dialogues(store, first.run.id)}
        said = DialogueReport(store, first.run).results
    path = tmp_path / "said.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    spec = f"replay:{path}"
    config = RunConfig(
        "personalens", data=data, systems=[spec], user=spec, raters=[spec], givens=["none", "I"]
    )
    with Store(tmp_path / "elsewhere.db") as store:
        second = run(store, config)
        for one in dialogues(store, second.run.id):
            before = asked.pop((one.person, one.task.id, one.given))
            assert (one.stop, one.closing, one.detail) == (before.stop, before.closing, before.detail)
            assert [turn.text for turn in one.turns] == [turn.text for turn in before.turns]
        again = DialogueReport(store, second.run).results
    assert not asked
    assert [(one.metric, one.slice, one.value, one.coverage) for one in again] == [
        (one.metric, one.slice, one.value, one.coverage) for one in said
    ]


def test_two_systems_cannot_share_a_recording(tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data", 1)
    with Talking() as talking, Store(tmp_path / "store.db") as store:
        systems = [talking.model("assistant"), "canned"]
        finished = run(store, configuration(data, talking, systems=systems, options={"tasks": "SD"}))
        with pytest.raises(UserError, match="must have one system to be recorded; it has openai:assistant"):
            dialogue_recording(store, finished.run)


def test_replies_are_read_again_with_todays_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_tasks(tmp_path / "data", 1)
    monkeypatch.setitem(MODELS, "judge", lambda _body, _spoken: "I would say 2.")

    def lenient(question: DialogueQuestion, reply: str, dialogue: Dialogue) -> list[int] | None:
        found = [int(number) for number in re.findall(r"\d", reply)]
        return None if question.truth else found * (dialogue.exchanges if question.by_turn else 1)

    with Talking() as talking, Store(tmp_path / "store.db") as store:
        finished = run(store, configuration(data, talking, options={"tasks": "SD"}))
        assert rescore(store, finished.run) == (len(DIALOGUE_QUESTIONS), 0)
        asked = talking.answered.total()
        monkeypatch.setattr(DialogueQuestion, "parse", lenient)
        assert rescore(store, finished.run) == (
            len(DIALOGUE_QUESTIONS),
            len(DIALOGUE_QUESTIONS) - 1,
        )
        assert rescore(store, finished.run) == (len(DIALOGUE_QUESTIONS), 0)
        assert talking.answered.total() == asked
        results = DialogueReport(store, finished.run).results
    totals = {one.metric: one for one in results if not one.slice}
    assert (totals["personalization"].value, totals["personalization"].coverage) == (2.0, 1.0)
    assert (totals["completion"].value, totals["completion"].coverage) == (None, 0.0)
    by_turn = [one.value for one in results if one.metric == "personalization" and "turn" in one.slice]
    assert set(by_turn) == {2.0}
