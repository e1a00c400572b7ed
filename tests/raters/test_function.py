"""`python:` raters: scores or an index, plain or async, in either order; anything else fails that ask only."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from personafit import Store, UserError
from personafit.benchmarks import ImportedPairs, RunConfig, write_folder
from personafit.models import Unanswerable
from personafit.raters import Rater, Verdict, make_rater
from personafit.reports.run_report import open_report
from tests.helpers import count_status
from tests.scripted import run, shown, simple_pairs, write_pairs

MODULE = """
import numpy as np

calls = []

def lengths(person, question, answers):
    calls.append((person, question, answers))
    return [len(answer) for answer in answers]

async def later(person, question, answers):
    return lengths(person, question, answers)

def first(person, question, answers):
    return 0

class Positional:
    order_matters = True
    def __call__(self, person, question, answers):
        return np.int64(0)

class Noting:
    order_matters = True
    def __call__(self, person, question, answers):
        return lengths(person, question, answers)

class Needy:
    def __init__(self, settings):
        self.settings = settings

def array(person, question, answers):
    return np.array([len(answer) for answer in answers], dtype=np.float32)

def generator(person, question, answers):
    return (len(answer) for answer in answers)

def broken(person, question, answers):
    raise RuntimeError("out of\\nluck.")

def sometimes(person, question, answers):
    if any("0/0" in answer for answer in answers):
        raise RuntimeError("not this one")
    return lengths(person, question, answers)

WRONG = {
    "too_few": [1.0], "too_many": [1, 2, 3], "none": None, "text": "12", "words": ["a", "b"], "yes": True,
    "index": 2, "below": -1, "fraction": 0.5, "nan": [float("nan"), 1.0], "infinite": [float("inf"), 1.0],
    "mapping": {0: 1.0, 1: 2.0}, "unordered": {1.0, 2.0}, "nested": [[1.0], [2.0]], "empty": [],
}

def wrong(person, question, answers):
    return WRONG[question]

not_callable = 7
"""


@pytest.fixture
def judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fresh module of judges for each test, importable by name."""
    name = f"judges_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def rate(rater: Rater, order: tuple[int, int] = (0, 1), prompt: str = "Q?") -> Verdict:
    return asyncio.run(rater.rate(shown(("tea", "coffee"), order, prompt=prompt)))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("name", ["lengths", "later", "array", "generator"])
def test_scores_are_read_back_into_the_items_order(judges: str, name: str, order: tuple[int, int]) -> None:
    verdict = rate(make_rater(f"python:{judges}:{name}"), order)
    assert (verdict.answers[0].label, verdict.answers[0].value) == ("1", -3.0)


def test_the_function_gets_the_context_the_question_and_the_answers_as_shown(judges: str) -> None:
    rate(make_rater(f"python:{judges}:Noting"), (1, 0))
    module = __import__(judges)
    assert module.calls == [("Likes: tea", "Q?", ["coffee", "tea"])]


@pytest.mark.parametrize(("order", "label"), [((0, 1), "0"), ((1, 0), "1")])
def test_an_index_is_the_place_in_the_order_shown(judges: str, order: tuple[int, int], label: str) -> None:
    assert rate(make_rater(f"python:{judges}:Positional"), order).answers[0].label == label


def test_whoever_is_asked_once_and_likes_the_first_place_likes_no_answer(judges: str) -> None:
    """In a folder the right answer may always stand first; a place must tell nothing of it."""
    rater, one = make_rater(f"python:{judges}:first"), shown(("tea", "coffee"))
    asked = [replace(one, about=f"item-{number}") for number in range(60)]
    labels = [asyncio.run(rater.rate(each)).answers[0].label for each in asked]
    assert 18 < labels.count("0") < 42


def test_a_function_is_asked_in_one_order_unless_it_says_that_order_matters(judges: str) -> None:
    plain, both = make_rater(f"python:{judges}:first"), make_rater(f"python:{judges}:Positional")
    assert (plain.order_matters, both.order_matters) == (False, True)
    assert plain.record.fingerprint != both.record.fingerprint
    assert plain.request(shown()) is None


@pytest.mark.parametrize(
    "returned",
    [
        *("too_few", "too_many", "none"),
        *("text", "words", "yes", "index"),
        *("below", "fraction", "nan", "infinite"),
        *("mapping", "unordered", "nested", "empty"),
    ],
)
def test_a_wrong_return_value_is_no_score(judges: str, returned: str) -> None:
    with pytest.raises(Unanswerable, match=r"must return 2 finite numbers, an index or a letter, not "):
        rate(make_rater(f"python:{judges}:wrong"), prompt=returned)


def test_an_exception_becomes_one_sentence(judges: str) -> None:
    with pytest.raises(Unanswerable, match=rf"^python:{judges}:broken raised RuntimeError: out of luck\.$"):
        rate(make_rater(f"python:{judges}:broken"))


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("{}:missing", r"has no 'missing'"),
        ("{}:not_callable", r"nor can be called"),
        ("{}:Needy", r"Needy\(\) raised TypeError: "),
        ("{}", r"write python:MODULE:OBJECT"),
        ("no_such_module_anywhere:f", r"cannot import no_such_module_anywhere"),
        ("{}:lengths,concurrency=0", r"concurrency must be a number of at least 1"),
    ],
)
def test_what_cannot_be_loaded_is_named(judges: str, spec: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        make_rater("python:" + spec.format(judges))


def test_an_edited_function_is_another_rater(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    prints = set()
    for number, body in enumerate(("0", "1", "0")):
        (tmp_path / f"edited{number}.py").write_text(f"def f(**_):\n    return {body}\n", encoding="utf-8")
        settings = make_rater(f"python:edited{number}:f").record.settings
        prints.add(settings["code"])
    assert len(prints) == 2


def test_in_a_run_an_exception_is_a_failed_ask_and_the_others_stand(tmp_path: Path, judges: str) -> None:
    write_pairs(tmp_path / "pairs.csv", simple_pairs(people=4, questions=2))
    write_folder(tmp_path / "mine", ImportedPairs(tmp_path / "pairs.csv"))
    config = RunConfig(str(tmp_path / "mine"), raters=[f"python:{judges}:sometimes"], contexts=["profile"])
    with Store(tmp_path / "store.db") as store:
        finished = run(store, config)
        results = open_report(store, finished.run).results
        assert count_status(store, finished.run.id)["failed"] == 1
    assert finished.summary.failed == 1
    assert "raised RuntimeError: not this one" in (finished.summary.last_failure or "")
    (total,) = (r for r in results if r.rater == config.raters[0] and r.metric == "accuracy" and not r.slice)
    assert (total.value, total.n, total.coverage) == (1.0, 7, 7 / 8)
