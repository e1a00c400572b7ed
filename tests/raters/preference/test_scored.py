"""Rules, scorers and functions as raters of preferences."""

import asyncio
import math
from dataclasses import replace
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.models import Unanswerable
from personafit.raters.preference import make_preference_rater
from personafit.raters.rater import Verdict
from tests.preference_world import pair

MODULE = """
class Reward:
    def score(self, prompt, attribute, answer):
        return float(len(answer)) if "vegetarian" in attribute else 0.0

def first(prompt, attributes, answers):
    return [1] * len(attributes)
first.order_matters = True

def second(prompt, attributes, answers):
    return [5] * len(attributes)

def longer(prompt, attributes, answers):
    return [5 if len(answers[1]) > len(answers[0]) else 1] * len(attributes)

def wrong(prompt, attributes, answers):
    return [6] * len(attributes)

class Nan:
    def score(self, prompt, attribute, answer):
        return float("nan")

nothing = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "preferring.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "python:preferring"


def _judge(spec: str, **of: tuple[int, int]) -> Verdict:
    return asyncio.run(make_preference_rater(spec).rate(pair(**of)))  # type: ignore[arg-type]


def test_the_rules() -> None:
    named = _judge("rule:mention")
    assert [part.label for part in named.parts] == ["5", "3"]
    longer = _judge("rule:length")
    generic, personal = pair().answers
    assert {part.label for part in longer.parts} == {None}
    assert longer.parts[0].value == pytest.approx(math.log(len(personal) / len(generic)))


def test_a_scorer_leaves_a_difference_for_the_report(module: str) -> None:
    rater = make_preference_rater(f"{module}:Reward")
    assert rater.record.kind == "reward"
    assert not rater.order_matters
    verdict = asyncio.run(rater.rate(pair()))
    generic, personal = (float(len(answer)) for answer in pair().answers)
    assert [(part.label, part.value, part.scores) for part in verdict.parts] == [
        (None, personal - generic, [generic, personal]),
        (None, 0.0, [0.0, 0.0]),
    ]


def test_a_function_gives_marks_that_are_turned(module: str) -> None:
    assert [part.label for part in _judge(f"{module}:first").parts] == ["1", "1"]
    assert [part.label for part in _judge(f"{module}:first", order=(1, 0)).parts] == ["5", "5"]
    assert make_preference_rater(f"{module}:first").order_matters


def test_a_function_that_is_asked_once_cannot_tell_the_personalized_answer_by_its_place(module: str) -> None:
    pairs = [replace(pair(), item=f"item-{number}") for number in range(40)]

    def marks(name: str) -> list[str | None]:
        rater = make_preference_rater(f"{module}:{name}")
        return [asyncio.run(rater.rate(one)).parts[0].label for one in pairs]

    assert 10 < marks("second").count("5") < 30  # whoever likes the second place likes neither answer
    generic, personal = pair().answers
    assert set(marks("longer")) == {"5" if len(personal) > len(generic) else "1"}


@pytest.mark.parametrize("name", ["wrong", "Nan"])
def test_what_is_no_mark_is_no_answer(module: str, name: str) -> None:
    with pytest.raises(Unanswerable, match="must"):
        _judge(f"{module}:{name}")


def test_specs_that_name_nobody(module: str) -> None:
    for spec, words in (
        ("rule:overlap", "rule:length, rule:mention"),
        ("fit:x", "names no rater of preferences"),
        ("mention:", "say which model"),
        (f"{module}:nothing", "neither has `score`"),
    ):
        with pytest.raises(UserError, match=words):
            make_preference_rater(spec)
