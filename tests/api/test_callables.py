"""Functions of the user's own as judges and systems: how they are called, what they may do wrong, what they are known by."""

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import personafit as pf
from personafit.models.functions import Unknowable, given_callable, identity_of
from tests.api.world import by_length, pairs


def judged(rater: Any, tmp_path: Path, **more: Any) -> pf.Run:
    return pf.evaluate(
        pairs(), raters=rater, contexts="profile", store=tmp_path / "s.db", progress=False, **more
    )


def accuracy(run: pf.Run, rater: str) -> float:
    (value,) = run.results.filter(rater=rater, metric="accuracy", slice="")["value"]
    return float(value)


def wants_shown(shown: pf.Shown) -> pf.Rating:
    assert shown.context.name == "profile"
    assert shown.person
    assert shown.prompt
    return max(range(len(shown.answers)), key=lambda place: len(shown.answers[place]))


async def asynchronous(question: str, answers: list[str], person_id: str) -> str:
    assert person_id
    return "AB"[len(answers[1]) > len(answers[0])]


def undecided(answers: list[str]) -> str:
    return "tie"


@pytest.mark.parametrize(
    ("rater", "name", "value"),
    [
        (by_length, "by_length", 1.0),
        (wants_shown, "wants_shown", 1.0),
        (asynchronous, "asynchronous", 1.0),
        (undecided, "undecided", 0.5),
        (lambda answers: [-len(answer) for answer in answers], "lambda", 0.0),
    ],
)
def test_a_judge_may_take_and_return_what_it_likes(
    rater: Any, name: str, value: float, tmp_path: Path
) -> None:
    run = judged(rater, tmp_path)
    assert accuracy(run, name) == value
    assert run.judgments.filter(rater=name)["status"].unique().to_list() == ["ok"]
    assert judged(rater, tmp_path).asked == 0


def raising(answers: list[str]) -> int:
    raise KeyError("the model is gone")


def a_mapping(answers: list[str]) -> dict[str, int]:
    return {"a": 1, "b": 2}


def out_of_range(answers: list[str]) -> int:
    return 2


def nothing(answers: list[str]) -> None:
    return None


def endless(answers: list[str]) -> list[int]:
    return [10**400, 0]


def cancelling(answers: list[str]) -> int:
    raise asyncio.CancelledError


async def cancelling_later(answers: list[str]) -> int:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("rater", "detail"),
    [
        (raising, "raising raised KeyError: 'the model is gone'."),
        (a_mapping, "a_mapping must return 2 finite numbers, an index or a letter, not {'a': 1, 'b': 2}."),
        (out_of_range, "out_of_range must return 2 finite numbers, an index or a letter, not 2."),
        (nothing, "nothing must return 2 finite numbers, an index or a letter, not None."),
        (endless, f"endless must return 2 finite numbers, an index or a letter, not {[10**400, 0]!r:.80}."),
        (cancelling, "cancelling raised CancelledError: CancelledError."),
        (cancelling_later, "cancelling_later raised CancelledError: CancelledError."),
    ],
)
def test_what_goes_wrong_in_a_judge_is_a_status_with_its_sentence(
    rater: Any, detail: str, tmp_path: Path
) -> None:
    run = judged([rater, by_length], tmp_path)
    rows = run.judgments.filter(rater=rater.__name__)
    assert rows["status"].unique().to_list() == ["failed"]
    assert rows["detail"].unique().to_list() == [detail]
    assert accuracy(run, "by_length") == 1.0
    assert run.failed == 8
    assert run.stopped == [f"8 asks failed ({detail.rstrip('.')}); the same command tries again."]
    assert run.coverage_gap is not None
    assert judged([rater, by_length], tmp_path).asked == 8  # tried again, and only they


class Warmth:
    """A reward model of one's own."""

    version = "1"

    def score(self, prompt: str, person: str, answer: str) -> float:
        return float(len(answer))


def test_an_object_that_scores_answers_is_a_rater(tmp_path: Path) -> None:
    run = judged(Warmth(), tmp_path)
    assert accuracy(run, "Warmth") == 1.0
    assert judged(Warmth(), tmp_path).asked == 0
    with pytest.raises(pf.UserError, match="systems takes specs"):
        pf.evaluate("answers", systems=Warmth(), store=tmp_path / "s.db")  # type: ignore[arg-type]


def test_a_parameter_that_nobody_can_fill_is_named(tmp_path: Path) -> None:
    def odd(answers: list[str], weather: str, mood: str) -> int:
        return 0

    with pytest.raises(
        pf.UserError,
        match="odd has a parameter 'weather', which judges are not given; they take any of person",
    ):
        judged(odd, tmp_path)
    with pytest.raises(
        pf.UserError, match=r"raters takes specs such as 'rule:length' and callables, not int"
    ):
        judged(3, tmp_path)


def test_two_judges_of_one_name_stand_apart(tmp_path: Path) -> None:
    run = judged([lambda answers: 0, lambda answers: 1], tmp_path)
    assert {"lambda", "lambda-2"} <= set(run.results["rater"])


def test_a_system_gets_what_its_parameters_name(tmp_path: Path) -> None:
    seen: list[tuple[str, str, str, int]] = []

    def assistant(person: str, question: str, person_id: str, messages: list[dict[str, str]]) -> str:
        seen.append((person, question, person_id, len(messages)))
        return f"{question} {person}"

    assistant.version = 1  # type: ignore[attr-defined]

    def answered(system: Any) -> pf.Run:
        return pf.evaluate(
            "answers", systems=system, raters=by_length, limit=5, store=tmp_path / "s.db", progress=False
        )

    run = answered(assistant)
    assert len(seen) == 5 * 3  # told of the person, of nobody, and of somebody else
    assert {told == "" for told, *_ in seen} == {True, False}
    assert {(bool(question), bool(who) == bool(told), count) for told, question, who, count in seen} == {
        (True, True, 2)
    }
    wins = run.results.filter(
        rater="by_length", system="assistant", metric="win_rate", slice="against=generic"
    )
    assert wins.filter(context="profile")["value"].to_list() == [1.0]
    assert answered(assistant).asked == 0
    assert len(seen) == 5 * 3

    async def later(person: str, question: str) -> str:
        return f"{person}{question}"

    assert answered(later).results.filter(system="later").height > 0


def people_and_questions(folder: Path) -> Path:
    """A benchmark folder: six people, a question of one turn and one of three turns each; its answers do not matter here."""
    turns = [
        {"role": "user", "content": "I cook tonight."},
        {"role": "assistant", "content": "For whom?"},
        {"role": "user", "content": "For two."},
    ]
    folder.mkdir()
    (folder / "benchmark.toml").write_text('name = "ours"\nversion = "1"\n')
    people = [{"id": f"u{n}", "language": "en", "facets": {"Name": f"User {n}"}} for n in range(6)]
    products = [{"id": name, "kind": "answer", "text": name} for name in ("yes", "no")]
    items = [
        {"id": f"{name}/{n}", "person": f"u{n}", "prompt": prompt, "products": ["yes", "no"]}
        for n in range(6)
        for name, prompt in (("one", f"What now, on day {n}?"), ("three", turns))
    ]
    gold = [{"item": item["id"], "rater": "author", "label": "0"} for item in items]
    for name, rows in (("people", people), ("products", products), ("items", items), ("gold", gold)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_a_team_calls_its_own_memory_by_the_ids(tmp_path: Path) -> None:
    """The store of the team knows its users; a system that is told of nobody, or of somebody else, must not look up the asker."""
    memory = {f"u{n}": f"keeps {n} bees" for n in range(6)}
    asked: dict[str, list[tuple[str, str, list[str]]]] = {}

    async def assistant(
        question: str, person_id: str, question_id: str, messages: list[dict[str, str]]
    ) -> pf.ChatReply:
        asked.setdefault(question_id, []).append((person_id, question, [one["role"] for one in messages]))
        await asyncio.sleep(0.02)
        return pf.ChatReply(f"For you who {memory[person_id]}." if person_id else "For you.", cost=0.5)

    assistant.version = 1  # type: ignore[attr-defined]

    def judge(person: str, answers: list[str], person_id: str) -> list[bool]:
        return [memory[person_id] in answer for answer in answers]

    run = pf.evaluate(
        "answers",
        data=people_and_questions(tmp_path / "ours"),
        systems=assistant,
        raters=judge,
        store=tmp_path / "s.db",
        progress=False,
    )
    wins = run.results.filter(rater="judge", context="profile", metric="win_rate", slice="")
    assert wins.select("value", "n").row(0) == (1.0, 24)
    assert len(asked) == 12
    for question_id, calls in asked.items():
        own = f"u{question_id[-1]}"
        told = [person_id for person_id, *_ in calls]
        assert len(calls) == 3
        assert own in told
        assert "" in told
        assert len(set(told) - {own, ""}) == 1, "somebody else's id where it is told of somebody else"
        turns = ["user", "assistant", "user"] if question_id.startswith("three") else ["user"]
        assert {tuple(roles) for *_, roles in calls} == {("system", *turns)}
        last = "For two." if len(turns) == 3 else f"What now, on day {question_id[-1]}?"
        assert {question for _, question, _ in calls} == {last}
    (note,) = [note for note in run.notes if note.startswith("36 answers of assistant took 0.0")]
    assert note.endswith("and cost 0.5 USD each, 18 USD in all.")
    again = pf.evaluate(
        "answers",
        data=tmp_path / "ours",
        systems=assistant,
        raters=judge,
        store=tmp_path / "s.db",
        progress=False,
    )
    assert (again.asked, note in again.notes) == (0, True), "time and cost are kept"


def test_what_goes_wrong_in_a_system_is_said_and_no_crash(tmp_path: Path) -> None:
    def sometimes(person: str, question: str) -> Any:
        if not person:
            raise RuntimeError("no profile")
        return person if "\n" in person else 7

    run = pf.evaluate(
        "answers", systems=sometimes, raters=by_length, limit=4, store=tmp_path / "s.db", progress=False
    )
    assert any("sometimes made no answer 4 times" in note for note in run.notes)

    def never(person: str, question: str) -> str:
        raise RuntimeError("down")

    with pytest.raises(pf.UserError, match="No answer could be made: never raised RuntimeError: down"):
        pf.evaluate(
            "answers", systems=never, raters=by_length, limit=2, store=tmp_path / "s.db", progress=False
        )


def test_a_run_whose_system_never_answered_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(person: str, question: str) -> str:
        raise RuntimeError("down")

    run = pf.evaluate(
        "answers", systems=never, raters=by_length, limit=10, store=tmp_path / "s.db", progress=False
    )
    assert not run.judged
    assert "the last because never raised RuntimeError: down" in run.verdict.sentence
    assert run._repr_html_().count("RuntimeError: down") == 1
    run.print()
    assert "RuntimeError: down" in " ".join(capsys.readouterr().out.split())


def test_systems_beside_rows_or_where_nothing_is_answered_are_refused(tmp_path: Path) -> None:
    with pytest.raises(pf.UserError, match="already contain answers"):
        pf.evaluate(pairs(), systems=by_length, store=tmp_path / "s.db")
    with pytest.raises(
        pf.UserError, match="--system means nothing in `run starter`: its answers are there already"
    ):
        pf.evaluate("starter", systems=by_length, store=tmp_path / "s.db")
    with pytest.raises(pf.UserError, match="--system means nothing in `run recentering`"):
        pf.evaluate("recentering", data="starter", systems="openai:m", store=tmp_path / "s.db")


THRESHOLD = 3


def with_global(answers: list[str]) -> int:
    return THRESHOLD % 2


def make(bias: Any) -> Any:
    def closed(answers: list[str]) -> int:
        return int(bool(bias))

    return closed


class Judge:
    def __init__(self, weight: Any) -> None:
        self.weight = weight

    def __call__(self, answers: list[str]) -> list[float]:
        return [self.weight * len(answer) for answer in answers]

    def other(self, answers: list[str]) -> int:
        return 0


def test_a_callable_is_known_by_its_source_and_what_it_carries(monkeypatch: pytest.MonkeyPatch) -> None:
    assert identity_of(make(1)) == identity_of(make(1))
    assert len({identity_of(one) for one in (make(1), make(2), make("1"), make([1]), make({"a": 1}))}) == 5
    assert identity_of(Judge(1.0)) == identity_of(Judge(1.0)) != identity_of(Judge(2.0))
    assert identity_of(Judge(1.0).other) != identity_of(Judge(1.0))
    assert identity_of(functools.partial(by_length, "x")) != identity_of(functools.partial(by_length, "y"))
    before = identity_of(with_global)
    monkeypatch.setitem(globals(), "THRESHOLD", 4)
    assert identity_of(with_global) != before


def test_a_version_stands_for_the_source() -> None:
    first, second = make(1), make(2)
    first.version = second.version = "7"
    assert identity_of(first) == identity_of(second) == "version:7"
    second.version = 8
    assert identity_of(second) == "version:8"
    heavy = Judge(object())
    with pytest.raises(Unknowable):
        identity_of(heavy)
    heavy.version = 1  # type: ignore[attr-defined]
    assert identity_of(heavy) == "version:1"


def test_lambdas_of_one_statement_do_not_answer_for_each_other(tmp_path: Path) -> None:
    shorter, longer = (
        (lambda answers: [-len(one) for one in answers]),
        (lambda answers: list(map(len, answers))),
    )
    assert accuracy(judged([shorter], tmp_path), "lambda") == 0.0
    assert accuracy(judged([longer], tmp_path), "lambda") == 1.0


def test_an_unknown_callable_is_asked_anew_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scope: dict[str, Any] = {}
    exec("def hidden(answers):\n    return 0", scope)
    assert given_callable(scope["hidden"]).anew
    for _ in range(2):
        run = pf.evaluate(pairs(), raters=scope["hidden"], contexts="profile", store=tmp_path / "s.db")
        assert run.judgments.filter(pl.col("rater") == "hidden").height == 8
        assert run.asked >= 8
        assert any("hidden is asked anew each time: its source cannot be read" in note for note in run.notes)
    assert "hidden is asked anew each time" in capsys.readouterr().err
