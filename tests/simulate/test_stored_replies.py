"""Replies of a run of dialogues can be read again for nothing."""

import re
from pathlib import Path

import pytest

import personafit as pf
from personafit import Store
from personafit.items.dialogue import DIALOGUE_QUESTIONS, Dialogue, DialogueQuestion
from personafit.reports.dialogue import DialogueReport
from tests.scripted import run
from tests.simulate.talking import MODELS, Talking, configuration, write_tasks


def test_replies_are_read_again_with_todays_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_tasks(tmp_path / "data", 1)
    monkeypatch.setitem(MODELS, "judge", lambda _body, _spoken: "I would say 2.")

    def lenient(question: DialogueQuestion, reply: str, dialogue: Dialogue) -> list[int] | None:
        found = [int(number) for number in re.findall(r"\d", reply)]
        return None if question.truth else found * (dialogue.exchanges if question.by_turn else 1)

    with Talking() as talking, Store(tmp_path / "store.db") as store:
        finished = run(store, configuration(data, talking, options={"tasks": "SD"}))
        assert pf.rescore(finished.run.name, store=store) == (len(DIALOGUE_QUESTIONS), 0)
        asked = talking.answered.total()
        monkeypatch.setattr(DialogueQuestion, "parse", lenient)
        assert pf.rescore(finished.run.name, store=store) == (
            len(DIALOGUE_QUESTIONS),
            len(DIALOGUE_QUESTIONS) - 1,
        )
        assert pf.rescore(finished.run.name, store=store) == (len(DIALOGUE_QUESTIONS), 0)
        assert talking.answered.total() == asked
        results = DialogueReport(store, finished.run).results
    totals = {one.metric: one for one in results if not one.slice}
    assert (totals["personalization"].value, totals["personalization"].coverage) == (2.0, 1.0)
    assert (totals["completion"].value, totals["completion"].coverage) == (None, 0.0)
    by_turn = [one.value for one in results if one.metric == "personalization" and "turn" in one.slice]
    assert set(by_turn) == {2.0}
