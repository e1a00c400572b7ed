"""The rules on one answer at a time in both languages, and the shares."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from personafit import Store, UserError
from personafit.benchmarks import ImportedPairs, PersonaFeedback, RunConfig, write_folder
from personafit.contexts import People
from personafit.kinds.choice import RunScores, load_scores
from personafit.people import Person
from personafit.reports.audit.checks import load_pairs
from personafit.reports.failures import (
    MODES,
    WHO,
    answer_failures,
    failure_results,
    failures,
    find_rater,
    portraits,
    terms,
)
from tests.scripted import run, simple_pairs, write_pairs

DATA = Path(__file__).parents[3] / "shared" / "data" / "personafeedback"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the published data is not at {DATA}")

GARDENS = [
    "keeps carnivorous plants on a tiny balcony in Leeds",
    "repairs typewriters",
    "vegan since university",
]


def people() -> People:
    ann = {
        "Name": "Annika",
        "Demographics.Age": 34,
        "Likes": GARDENS,
        "Notes": "Avoids karaoke bars. Lives with epilepsy. Salary 41,500 a year. Allergic to hazelnuts, and hates crowds.",
    }
    mei = {
        "Name": "美琳",
        "Age": 52,
        "Likes": ["收藏老式打字机", "在阳台种食虫植物", "周末去京都看枯山水庭院"],
        "Habits": "拒绝使用一次性餐具以保护环境，不喝含糖饮料，对花生过敏。患有糖尿病。",
    }
    others = {
        f"en{n}": Person(id=f"en{n}", language="en", facets={"Likes": f"hobby {n} and chess"})
        for n in range(9)
    }
    others |= {
        f"zh{n}": Person(id=f"zh{n}", language="zh", facets={"Likes": f"喜欢第{n}种运动和音乐"})
        for n in range(9)
    }
    ids = {
        "ann": Person(id="ann", language="en", facets=ann),
        "mei": Person(id="mei", language="zh", facets=mei),
    }
    return People(ids | others)


KNOWN = portraits(people(), {"ann", "mei"})
LONG = " It is worth trying this on a quiet afternoon, and to see how it goes after two or three weeks."
PLAIN = (
    " A steady routine helps: begin slowly, write down what works, drop what does not, ask friends about theirs, read one chapter "
    "each evening, walk outdoors every morning, cook simple meals, sleep early, keep weekends free, and judge results monthly, "
    "never daily, because small changes take patience before anything becomes visible."
)
LONG_ZH = "可以先从小的目标开始，每天安排一点时间，坚持几周之后再看看效果如何，慢慢调整自己的节奏。"
PLAIN_ZH = LONG_ZH + "另外可以请朋友一起监督进度。"


def seen(
    person: str, answer: str, question: str = "What shall I do?", other: str = LONG + LONG_ZH
) -> frozenset[str]:
    return failures(KNOWN[person], question, answer, other)


def test_terms_are_words_and_pairs_of_characters() -> None:
    assert terms("Go to a Tea-house, 喝红茶 in 京都") == {"tea-house", "喝红", "红茶", "京都"}


def test_an_answer_that_takes_up_much_of_the_profile_uses_it_heavily() -> None:
    heavy = "Your carnivorous plants on a tiny balcony, repairs of typewriters, vegan since university, and no karaoke bars: fine."
    assert "heavy profile use" in seen("ann", heavy)
    assert "heavy profile use" not in seen("ann", heavy, other=heavy), "not far above the other"
    assert "heavy profile use" not in seen("ann", f"Try one with your typewriters.{LONG}")
    assert "heavy profile use" in seen(
        "mei", "收藏老式打字机，阳台种食虫植物，京都枯山水庭院，周末都很适合您呀，快去看看吧，祝您愉快"
    )


@pytest.mark.parametrize(
    "answer",
    ["Repair typewriters.", "Grow carnivorous plants.", "A vegan café near the university in Leeds."],
)
def test_an_ordinary_short_reply_raises_no_alarm(answer: str) -> None:
    assert not seen("ann", answer)


def test_an_answer_that_shares_no_more_with_the_person_than_with_strangers_is_generic() -> None:
    assert "generic" in seen("ann", PLAIN)
    assert "generic" in seen("mei", PLAIN_ZH)
    assert "generic" not in seen("ann", f"Repair a typewriter, or go to the typewriters of Leeds.{PLAIN}")
    assert "generic" not in seen("mei", f"在阳台上照看食虫植物。{PLAIN_ZH}")
    assert "generic" not in seen("mei", PLAIN), "in another script nothing could overlap"
    assert "generic" not in seen("ann", f"Since you mend old machines, this suits you.{PLAIN}")
    assert "generic" not in seen("mei", f"考虑到您的情况。{PLAIN_ZH}")


@pytest.mark.parametrize(
    ("facets", "answer", "name"),
    [
        ({"Name": "Annika"}, "Well, Annika, try this.", "Annika"),
        ({"name": "Anna Berg"}, "Try this, Anna.", "Anna"),
        ({"Full Name": "Anna Berg"}, "Dear Ms Berg, try this.", "Berg"),
        ({"demographics.FIRST_NAME": "Anna"}, "Anna's garden", "Anna"),
        ({"姓名": "赵美琳"}, "美琳，您可以先试试。", "美琳"),
    ],
)
def test_naming_is_found_whatever_the_key_and_by_the_first_name(
    facets: dict[str, str], answer: str, name: str
) -> None:
    known = portraits(People({"p": Person(id="p", language="en", facets=dict(facets))}), {"p"})["p"]
    assert "named" in failures(known, "What shall I do?", answer, "")
    assert "named" not in failures(known, f"I am {name}. What shall I do?", answer, "")


@pytest.mark.parametrize(
    ("facets", "answer"),
    [
        ({"Name": "Annika"}, "Annikas are rare."),
        ({"Name": "Will Young"}, "Will it rain? You are young."),
        ({"Pets.Name": "Rex"}, "Take Rex along."),
        ({"Likes": "names"}, "names"),
    ],
)
def test_what_is_no_naming(facets: dict[str, str], answer: str) -> None:
    known = portraits(People({"p": Person(id="p", language="en", facets=dict(facets))}), {"p"})["p"]
    assert "named" not in failures(known, "?", answer, "")


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, I can’t assist with that request.",
        f"I'm sorry, but I cannot help.{LONG}",
        "I can't recommend anything.",
        f"抱歉，我无法提供建议。{LONG_ZH}",
    ],
)
def test_what_is_a_refusal(answer: str) -> None:
    assert "refusal" in seen("ann", answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Yes.",
        "可以试试。",
        "Melanie has 3 children.",
        "I can't recall you mentioning these workshops. It must be eye-opening.",
        "How about some graphic novels?",
        "I'm sorry to hear that. Rest first.",
        "抱歉听到这个消息，先休息一下。",
        f"Do not say sorry.{LONG}",
    ],
)
def test_what_is_no_refusal(answer: str) -> None:
    assert "refusal" not in seen("ann", answer)


@pytest.mark.parametrize(
    ("person", "answer"),
    [
        ("ann", "Book a table at one of the karaoke bars."),
        ("ann", "Add hazelnuts to it."),
        ("ann", "Start with a steak."),
        ("mei", "可以带上一次性餐具去野餐。"),
        ("mei", "不妨配一杯含糖饮料。"),
        ("mei", "早餐可以加一点花生。"),
    ],
)
def test_what_contradicts_the_profile(person: str, answer: str) -> None:
    assert "contradiction" in seen(person, LONG + answer)


@pytest.mark.parametrize(
    ("person", "answer"),
    [
        ("ann", "There are no karaoke bars there."),
        ("ann", "A hazelnut-free recipe: almonds instead of hazelnuts."),
        ("ann", "A vegan alternative to steak."),
        ("mei", "不用一次性餐具的小店。"),
        ("mei", "避开含糖饮料。"),
        ("mei", "用杏仁代替花生。"),
        ("mei", "喝一杯红茶。"),
    ],
)
def test_what_does_not_contradict(person: str, answer: str) -> None:
    assert "contradiction" not in seen(person, LONG + answer)


def test_a_person_alone_in_the_world_is_not_called_generic() -> None:
    alone = portraits(People({"ann": people()["ann"]}), {"ann"})
    assert "generic" not in failures(alone["ann"], "?", PLAIN, LONG)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def scores(store: Store, tmp_path: Path) -> RunScores:
    rows = simple_pairs(people=6, questions=2)
    for number, row in enumerate(rows):
        row["tier"] = "easy" if number % 2 else "hard"
        row["person.Job"] = ("drummer", "baker", "notary", "diver", "weaver", "florist")[number // 2]
        row["chosen"] = f"With {row['person.Job']} behind you this is what I would do: take your time.{LONG}"
        row["rejected"] = f"I am unable to say.{number}" if number < 6 else f"{LONG}{number}"
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", rows)))
    config = RunConfig(str(tmp_path / "mine"), raters=["rule:length"], contexts=["profile"])
    return load_scores(store, run(store, config).run)


def test_shares_are_counted_for_the_raters_choices_and_for_golds(store: Store, scores: RunScores) -> None:
    rater = find_rater(scores, None)
    results = failure_results(scores, answer_failures(store, scores, rater), rater)
    shares = {(r.slice["mode"], r.slice["answers"], r.slice.get("tier")): r for r in results}
    assert shares["refusal", WHO[0], None].value == 0.0
    assert shares["refusal", WHO[2], None].value == 0.5
    assert shares["refusal", WHO[2], "easy"].n == 6
    assert shares["refusal", WHO[0], None].rater == "rule:length"
    assert shares["refusal", WHO[2], None].rater == "author"
    assert all(r.metric == "failure_share" and r.low is not None for r in results)
    assert len(results) == len(MODES) * len(WHO) * 3


def test_gold_that_is_a_tie_rejects_neither_answer(store: Store, scores: RunScores) -> None:
    rater = find_rater(scores, None)
    first = pl.col("item") == scores.items["item"][0]
    gold = pl.when(first).then(pl.lit("tie")).otherwise("gold").alias("gold")
    frame = answer_failures(store, scores, rater).with_columns(gold)
    results = failure_results(scores, frame, rater)
    counts = {r.slice["answers"]: r.n for r in results if r.slice.get("tier") is None}
    assert counts == {WHO[0]: 12, WHO[1]: 11, WHO[2]: 11}


def test_an_unknown_rater_is_named(scores: RunScores) -> None:
    with pytest.raises(UserError, match=r"has no rater 'nobody'; it has rule:length, rule:overlap\."):
        find_rater(scores, "nobody")


@needs_data
def test_on_real_pairs_rejected_answers_are_generic_far_more_often_than_chosen_ones() -> None:
    """Easy pairs set a personal answer against a generic one by construction: the rule must see that."""
    pairs = load_pairs(PersonaFeedback(DATA))
    sample = pairs.frame.filter(pairs.frame["tier"] == "easy").sample(150, seed=1)
    wanted = set(sample["person"])
    known = portraits(People({i: p for i, p in pairs.people.items() if i in wanted}), wanted)
    counts = dict.fromkeys(("chosen", "rejected"), 0)
    for row in sample.iter_rows(named=True):
        for side, other in (("chosen", "rejected"), ("rejected", "chosen")):
            found = failures(known[row["person"]], row["prompt"], row[side], row[other])
            counts[side] += "generic" in found
    assert counts["rejected"] > 4 * counts["chosen"]
    assert counts["rejected"] > 30
