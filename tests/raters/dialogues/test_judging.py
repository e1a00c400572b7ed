"""Judging dialogues: one ask a question, one re-ask, unparsed alike for every metric, resumable, by several judges."""

import json
from collections import Counter
from pathlib import Path

import pytest

from personafit import Status, UserError
from personafit.benchmarks import BenchmarkInfo, RunConfig
from personafit.items.dialogue import DIALOGUES, Dialogue, StopReason
from personafit.kinds.dialogue import DialogueKind
from personafit.label.agreement import _add_judged
from personafit.raters import make_rater
from personafit.reports.agree_ratings import Source
from personafit.reports.dialogue import DialogueReport
from personafit.store import run_answers
from tests.dialogue_world import SD, good_reply, make_world

QUESTIONS = 7


def test_every_question_is_asked_once_and_asking_again_costs_nothing(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    for person in ("ann", "bob"):
        world.hold(person, SD, ["Dinner?", "Thai.", "Yes.", "Done."])
    assert len(world.judge(good_reply()).asked) == 2 * QUESTIONS
    assert len(world.judge(good_reply()).asked) == 0
    answers = run_answers(world.store, world.run.id)
    turns = answers.filter(answers["target"] != "")
    assert sorted(set(turns["target"])) == ["turn 2", "turn 4"]
    assert set(answers.filter(answers["question"] == "completion")["value"]) == {1.0}


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    world.hold("ann", SD, ["Dinner?", "Thai."])

    def reply(dialogue: Dialogue, question: str, call: int) -> str:
        return "I would say 3." if call == 1 else good_reply()(dialogue, question, call)

    model = world.judge(reply)
    assert len(model.asked) == 2 * QUESTIONS
    assert model.asked[1].messages[-2]["content"] == "I would say 3."
    answers = run_answers(world.store, world.run.id)
    assert set(answers.filter(answers["rater"] != "fp-helper")["status"]) == {Status.OK.value}


@pytest.mark.parametrize(
    "bad",
    [
        "prose",
        '{"score": 3.5, "complete": "yes", "scores": [1.5]}',
        '{"score": 10, "complete": 1, "scores": [9]}',
        "[3]",
    ],
)
def test_a_judge_that_cannot_be_read_is_unparsed_for_every_metric_alike(tmp_path: Path, bad: str) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    for person in ("ann", "bob", "cyd"):
        world.hold(person, SD, ["Dinner?", "Thai."])
    world.judge(lambda dialogue, question, call: bad)
    report = DialogueReport(world.store, world.run)
    totals = {r.metric: r for r in report.results if not r.slice and r.rater}
    for metric in (
        "completion",
        "personalization",
        "naturalness",
        "naturalness_user",
        "coherence",
        "coherence_user",
    ):
        assert totals[metric].value is None
        assert totals[metric].coverage == 0.0
        assert totals[f"{metric}_unparsed"].value == 1.0
    assert report.worst_coverage() is not None
    assert report.worst_coverage()[1] == 0.0  # type: ignore[index]


def test_samples_are_averaged_and_counted(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,), samples=2)
    world.hold("ann", SD, ["Dinner?", "Thai."])
    world.hold("ann", SD, ["Dinner?", "Greek."], sample=1)
    seen: Counter[str] = Counter()

    def reply(dialogue: Dialogue, question: str, call: int) -> str:
        seen[dialogue.id + question] += 1
        if question == "personalization":
            return json.dumps({"score": seen[dialogue.id + question]})
        return good_reply()(dialogue, question, call)

    model = world.judge(reply, samples=2)
    assert len(model.asked) == 2 * 2 * QUESTIONS
    assert {request.seed for request in model.asked} == {None, 1}
    (mark,) = [
        r
        for r in DialogueReport(world.store, world.run).results
        if r.metric == "personalization" and not r.slice
    ]
    assert mark.value == 1.5
    # Two of the three people were never talked with: their dialogues are missing, not left out.
    assert mark.coverage == pytest.approx(4 / 12)


def test_a_dialogue_without_an_end_of_its_own_is_put_before_nobody(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, ["Dinner?", "Thai."])
    world.hold("bob", SD, ["Dinner?", "…"], stop=StopReason.EMPTY)
    world.hold("cyd", SD, ["Dinner?"], stop=StopReason.FAILED)
    model = world.judge(good_reply())
    assert len(model.asked) == QUESTIONS
    answers = run_answers(world.store, world.run.id)
    judged = answers.filter(answers["question"] == "completion")
    assert sorted(judged["status"]) == ["ok", "skipped"]


def test_the_full_context_asks_again_only_what_shows_the_person(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, ["Dinner?", "Thai."])
    model = world.judge(good_reply(), contexts=("given", "full"))
    asked = Counter(request.key.split("|")[-2] for request in model.asked)
    assert asked["personalization"] == 2
    assert asked["personalization.turns"] == 2
    assert asked["completion"] == 1
    shown = [r.messages[0]["content"] for r in model.asked if "|full|personalization|" in r.key]
    assert "Eats out on Fridays." in shown[0]
    results = [r for r in DialogueReport(world.store, world.run).results if not r.slice]
    assert {r.context for r in results if r.metric == "personalization"} == {"given", "full"}
    assert {r.context for r in results if r.metric == "completion"} == {"given"}
    turns = [r for r in DialogueReport(world.store, world.run).results if r.slice == {"turn": "1"}]
    assert {r.context for r in turns} == {"given", "full"}


def test_judges_stand_side_by_side(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, ["Dinner?", "Thai."])
    world.judge(good_reply(2), name="mild")
    world.judge(good_reply(4), name="kind")
    marks = {
        r.rater: r.value
        for r in DialogueReport(world.store, world.run).results
        if r.metric == "personalization" and not r.slice
    }
    assert marks == {"mild": 2.0, "kind": 4.0}


def test_a_function_that_marks_is_asked_as_often_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dialogue_functions.py").write_text(
        "calls = []\n\n\ndef marks(shown):\n    calls.append(shown.sample)\n    return 1 + shown.sample\n\n\n"
        "class Scores:\n    def score(self, prompt, person, answer):\n        return 1.0\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, ["Dinner?", "Thai."])
    plain = make_rater("python:dialogue_functions:marks", DIALOGUES)
    twice = make_rater("python:dialogue_functions:marks,samples=2", DIALOGUES)
    assert (plain.samples, twice.samples) == (1, 2)
    assert plain.record.fingerprint == twice.record.fingerprint
    world.rate(twice)
    found = {r.metric: r for r in DialogueReport(world.store, world.run).results if not r.slice}
    assert found["personalization"].value == 1.5
    assert found["personalization"].coverage == pytest.approx(1 / 3)
    with pytest.raises(UserError, match="asked once; leave out samples="):
        make_rater("python:dialogue_functions:Scores,samples=2", DIALOGUES)
    with pytest.raises(UserError, match="samples must be a whole number"):
        make_rater("python:dialogue_functions:marks,samples=1.5", DIALOGUES)


def test_completion_can_be_judged_by_the_goal_alone(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    world.hold("ann", SD, ["Dinner?", "Thai."])
    model = world.judge(good_reply(), contexts=("full", "none"))
    shown = {request.key.rsplit("|", 3)[1:3] == ["none", "completion"]: request for request in model.asked}
    assert len(model.asked) == QUESTIONS + 1
    by_goal = shown[True].messages[0]["content"]
    assert "All is settled." in by_goal
    assert "Thai" not in by_goal.replace("\nThai.\n", "")
    assert "prefer" not in by_goal
    with_preferences = [r.messages[0]["content"] for r in model.asked if "|full|completion|" in r.key]
    assert "<preferences>" in with_preferences[0]
    report = DialogueReport(world.store, world.run)
    results = [r for r in report.results if not r.slice]
    assert {r.context for r in results if r.metric == "completion"} == {"full", "none"}
    assert {r.context for r in results if r.metric == "personalization"} == {"full"}
    assert "without the person’s preferences (context `none`)" in (report.table().note or "")
    (kinds,) = [
        piece
        for section in report.sections()
        for piece in section.pieces
        if getattr(piece, "title", "").startswith("Completion and personalization by kind")
    ]
    assert len(kinds.rows) == 2, "one for each context"  # type: ignore[union-attr]


def test_judging_by_the_goal_alone_comes_beside_another_context() -> None:
    info = BenchmarkInfo(name="little", version="1", title="Little")
    kind = DialogueKind()
    assert kind.contexts(RunConfig("little", contexts=["none", "full"]), info) == ["full", "none"]
    with pytest.raises(UserError, match="as in --context full --context none"):
        kind.contexts(RunConfig("little", contexts=["none"]), info)


def test_a_judge_under_two_contexts_is_one_rater_of_a_study(tmp_path: Path) -> None:
    world = make_world(tmp_path, tasks=(SD,))
    held = [world.hold(person, SD, ["Dinner?", "Thai."]) for person in ("ann", "bob")]
    world.judge(good_reply(), contexts=("given", "full", "none"))
    source = Source("study", {one.id: one.person for one in held}, frozenset())
    _add_judged(source, world.store, world.run, source.people)
    assert {rater.name for rater in source.raters.values()} == {"judge (given)"}
    assert len(source.votes().filter(question="personalization")) == len(held)
    assert len(source.votes().filter(question="completion")) == len(held)
    later = world.run._replace(config={**world.run.config, "views": ["full"]})
    source.jobs.clear()
    _add_judged(source, world.store, later, source.people)
    assert {rater.name for rater in source.raters.values()} == {"judge (given)"}, "as in the earlier run"
