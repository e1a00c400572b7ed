"""Jobs from items × raters × contexts: what a job's key depends on, in what order work comes, and in how much memory."""

import asyncio
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest

from personafit import ChatReply, Status, Store
from personafit.benchmarks import BenchmarkInfo, RunConfig
from personafit.contexts import People, make_context
from personafit.engine import Job, Lane
from personafit.items import FIT, ChoiceQuestion
from personafit.items.relevance import ATTRIBUTES
from personafit.kinds import RunPlan
from personafit.kinds.choice import ChoiceKind
from personafit.kinds.kind import orders
from personafit.kinds.relevance import RelevanceKind
from personafit.kinds.selecting import select_items
from personafit.people import FacetValue, Person
from personafit.raters import Rater, make_rater
from personafit.raters.prompted import PromptedRater
from personafit.run import rating_lanes
from personafit.store import Item, Outcome, Product
from tests.scripted import ScriptedModel

SHOWN_UNDER = ("profile", "none", "wrong:profile")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


def person(name: str, likes: str = "tea") -> Person:
    facets: dict[str, FacetValue] = {"Name": name, "Likes": likes}
    return Person(id=name, language="en", facets=facets)


def answer(text: str) -> Product:
    return Product(kind="answer", text=text)


def item(name: str, who: str, texts: Sequence[str], prompt: str = "What now?") -> Item:
    return Item(id=name, person=who, prompt=prompt, products=[answer(text).id for text in texts])


PEOPLE = [person("bob"), person("ann"), person("cem")]
PAIR = ("drink tea", "drink coffee")
ITEMS = [item("1", "bob", PAIR), item("2", "ann", PAIR), item("3", "bob", PAIR, "And then?")]


def judging(
    store: Store,
    items: Iterable[Item] = ITEMS,
    people: Sequence[Person] = PEOPLE,
    contexts: Sequence[str] = ("profile",),
    seed: int = 0,
    samples: int = 1,
    dataset: str = "world@1",
    selected: frozenset[str] | None = None,
    texts: Sequence[str] = PAIR,
) -> RunPlan:
    """Everything stored and ready to be judged."""
    if not store.has_dataset(dataset):
        store.begin_dataset(dataset, "world", {})
        store.add_people(dataset, people)
        store.add_products(map(answer, texts))
        store.add_items(dataset, enumerate(items))
        store.finish_dataset(dataset)
    known = People(store.people(dataset))
    config = RunConfig("world", seed=seed, samples=samples)
    info = BenchmarkInfo(name="world", version="1")
    plan = RunPlan(ChoiceKind(), store, config, info, dataset, known, list(contexts), selected)
    plan.builders = [make_context(context, known, seed) for context in contexts]
    return plan


def llm(question: ChoiceQuestion = FIT, **settings: str) -> Rater:
    model = ScriptedModel([], settings={"kind": "scripted", **settings})
    return PromptedRater(model, (question,))


async def done(job: Job) -> Outcome:
    return await job.work(0)


def lane_of(work: RunPlan, rater: Rater) -> Lane:
    work.raters = [rater]
    (lane,) = rating_lanes(work)
    return lane


def keys(work: RunPlan, rater: Rater | None = None) -> list[str]:
    return [job.key for job in lane_of(work, rater or llm()).jobs]


def test_every_job_has_a_key_of_its_own_and_the_same_one_every_time(store: Store) -> None:
    work = judging(store, contexts=SHOWN_UNDER, samples=2)
    first = keys(work)
    assert len(set(first)) == len(first) == 3 * len(SHOWN_UNDER) * 2 * 2 == work.kind.count(work, llm())
    assert keys(judging(store, contexts=SHOWN_UNDER, samples=2)) == first


def test_a_key_follows_whatever_can_change_the_answer(store: Store) -> None:
    changed = {
        "the item's name": judging(store, [item("1b", "bob", PAIR)], dataset="d1"),
        "its prompt": judging(store, [item("1", "bob", PAIR, "Now what?")], dataset="d2"),
        "its texts": judging(store, [item("1", "bob", ("x", "y"))], dataset="d3", texts=("x", "y")),
        "the person": judging(store, [item("1", "ann", PAIR)], dataset="d4"),
        "the profile": judging(store, ITEMS[:1], [person("bob", "gin"), *PEOPLE[1:]], dataset="d5"),
        "the view": judging(store, ITEMS[:1], contexts=["profile:Likes"], dataset="d6"),
        "no view": judging(store, ITEMS[:1], contexts=["none"], dataset="d6"),
    }
    base = set(keys(judging(store, ITEMS[:1], dataset="d6")))
    assert len(base) == 2, "one key for each order"
    found = {name: set(keys(work)) for name, work in changed.items()}

    class Asked(ChoiceQuestion):
        version = "other-words"

    other_words = llm(Asked())
    found["the wording"] = set(keys(judging(store, ITEMS[:1], dataset="d6"), other_words))
    found["the rater"] = set(keys(judging(store, ITEMS[:1], dataset="d6"), llm(temperature="1")))
    everything = base.union(*found.values())
    assert len(everything) == 2 * (len(found) + 1), "two changes share a key"
    twice = keys(judging(store, ITEMS[:1], samples=2, dataset="d6"))
    assert base < set(twice), "a second sample adds keys and changes none"


def test_a_key_follows_nothing_else(store: Store) -> None:
    base = set(keys(judging(store)))
    assert set(keys(judging(store, seed=5))) == base, "the seed draws, it does not rename"
    assert set(keys(judging(store, contexts=SHOWN_UNDER))) > base, "other views run beside"
    assert set(keys(judging(store, dataset="copy@1"))) == base, "the same items in another data set"
    some = set(keys(judging(store, selected=frozenset({"1", "3"}))))
    assert some < base, "a sample is part of the whole"
    relabelled = [entry.model_copy(update={"slices": {"half": "general"}}) for entry in ITEMS]
    assert set(keys(judging(store, relabelled, dataset="sliced"))) == base, "slices are not shown"
    renamed = PromptedRater(ScriptedModel([], name="another name"), (FIT,))
    assert set(keys(judging(store), renamed)) == base


def test_a_wrong_person_is_another_key_when_another_is_drawn(store: Store) -> None:
    by_seed = {seed: set(keys(judging(store, contexts=["wrong:profile"], seed=seed))) for seed in range(8)}
    assert len(set(map(frozenset, by_seed.values()))) > 1


def test_both_orders_are_asked_and_the_first_is_drawn_by_hash() -> None:
    def drawn(rater: Rater, seed: int = 0) -> list[list[tuple[int, ...]]]:
        return [orders(str(number), 2, rater, seed) for number in range(200)]

    both = drawn(llm())
    assert {frozenset(pair) for pair in both} == {frozenset({(0, 1), (1, 0)})}
    assert 70 < [pair[0] for pair in both].count((1, 0)) < 130
    assert both == drawn(llm())
    assert both not in (drawn(llm(model="other")), drawn(llm(), seed=1))


def test_a_rater_for_whom_order_cannot_matter_is_asked_once(store: Store) -> None:
    rule = make_rater("rule:length")
    assert orders("1", 2, rule, 0) == [(0, 1)]
    lane = lane_of(judging(store), rule)
    assert len(list(lane.jobs)) == lane.total == 3


def test_work_goes_by_person_then_context_then_item(store: Store) -> None:
    work = judging(store, contexts=SHOWN_UNDER)
    seen = [(one.person, one.context.name, one.about) for one in work.kind.shown(work, llm())]
    once = list(dict.fromkeys(seen))
    assert [seen[start] for start in range(0, len(seen), 2)] == once, "both orders of an item in a row"
    assert once == [
        *(("ann", context, "2") for context in SHOWN_UNDER),
        *(("bob", context, number) for context in SHOWN_UNDER for number in ("1", "3")),
    ]


def test_contexts_are_stored_before_they_are_shown(store: Store) -> None:
    work = judging(store, contexts=SHOWN_UNDER)
    for shown in work.kind.shown(work, llm()):
        assert store.texts([shown.context.id]) == {shown.context.id: shown.context.text}


def test_identical_answers_are_a_tie_and_nobody_is_asked(store: Store) -> None:
    same = [item("same", "bob", ("one text", "one text"))]
    rater = llm()  # its model has no replies: a call would be an error
    lane = lane_of(judging(store, same, texts=["one text"]), rater)
    for job in lane.jobs:
        outcome = asyncio.run(done(job))
        (judgment,) = outcome.judgments
        assert (judgment.status, judgment.label, judgment.value) == (Status.OK, "tie", 0.0)
        assert (outcome.ask.attempts, outcome.ask.reply) == (0, None)
        assert "nobody was asked" in (outcome.ask.detail or "")


def test_an_outcome_says_what_was_shown_and_a_failure_is_no_judgment(store: Store) -> None:
    model = ScriptedModel([ChatReply("A", tokens_in=7, cost=0.5)])
    lane = lane_of(judging(store, ITEMS[:1]), PromptedRater(model, (FIT,)))
    job = next(iter(lane.jobs))
    outcome = asyncio.run(done(job))
    ask = outcome.ask
    assert (ask.job, ask.item, ask.context, ask.sample) == (job.key, "1", "profile", 0)
    assert (ask.tokens_in, ask.cost, ask.reply) == (7, 0.5, "A")
    assert outcome.judgments[0].label == ask.order[0], "the letter A stands for whatever was shown first"
    failed = job.failure("It broke.", 3)
    assert (failed.ask.status, failed.ask.detail, failed.ask.attempts) == (Status.FAILED, "It broke.", 3)
    assert failed.judgments == []


def frame(sizes: dict[str, int]) -> pl.DataFrame:
    rows = [{"item": f"{tier}-{n}", "tier": tier} for tier, size in sizes.items() for n in range(size)]
    return pl.DataFrame(rows)


def test_a_sample_is_spread_over_the_strata_in_proportion() -> None:
    rows = frame({"easy": 600, "medium": 300, "hard": 100})
    picked = select_items(rows, 100, 0)
    counts = {tier: sum(name.startswith(tier) for name in picked) for tier in ("easy", "medium", "hard")}
    assert counts == {"easy": 60, "medium": 30, "hard": 10}


def test_a_small_sample_of_many_strata_keeps_the_first_of_them_in_proportion() -> None:
    tasks = [("SD", f"domain {n % 20}") for n in range(1960)] + [("MD", f"pair {n % 37}") for n in range(481)]
    rows = pl.DataFrame([{"item": str(n), "tasks": kind, "domain": of} for n, (kind, of) in enumerate(tasks)])
    for limit, several in ((16, 3), (24, 5), (100, 20)):
        picked = rows.filter(pl.col("item").is_in(list(select_items(rows, limit, 0, nested=True))))
        assert abs(len(picked.filter(tasks="MD")) - several) <= 1


def test_a_sample_is_seeded_and_does_not_depend_on_the_order_of_rows() -> None:
    rows = frame({"easy": 50, "hard": 50})
    picked = select_items(rows, 20, 0)
    assert picked == select_items(rows.reverse(), 20, 0)
    assert picked == select_items(rows.sample(fraction=1, shuffle=True, seed=1), 20, 0)
    assert picked != select_items(rows, 20, 1)
    assert picked < select_items(rows, 40, 0), "a larger sample contains the smaller one"
    assert select_items(rows, 1000, 0) == frozenset(rows["item"])
    assert len(select_items(rows.select("item"), 20, 0)) == 20


def test_items_are_not_held_while_they_are_worked_on(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """6,000 items of one person: at no moment are more than a few pages of them alive."""
    many = 6_000
    items = (item(f"{number:05}", "bob", PAIR) for number in range(many))
    work = judging(store, items)
    alive, most, seen = 0, 0, 0

    def gone(_: object) -> None:
        nonlocal alive
        alive -= 1

    references = []
    read = work.items

    def followed() -> Iterator[Item]:
        nonlocal alive, most
        for one in read():
            references.append(weakref.ref(one, gone))
            alive += 1
            most = max(most, alive)
            yield one

    monkeypatch.setattr(work, "items", followed)
    for _ in work.kind.shown(work, make_rater("rule:length")):
        seen += 1
    assert seen == len(references) == many
    assert most < 2_000


def test_a_group_of_several_prompts_is_a_list_for_each(store: Store) -> None:
    texts = [Product(kind="attribute", text=f"likes {n}", about="ann") for n in range(3)]
    items = [
        Item(id=f"i{n}", kind="relevance", person="ann", prompt=prompt, products=[text.id], group="page")
        for n, (prompt, text) in enumerate(zip(("Tea?", "Tea?", "Bees?"), texts, strict=True))
    ]
    store.begin_dataset("d", "d", {})
    store.add_products(texts)
    store.add_items("d", enumerate(items))
    store.finish_dataset("d")
    kind, info = RelevanceKind(), BenchmarkInfo(name="d", version="1")
    plan = RunPlan(kind, store, RunConfig("d"), info, "d", People({}), ["none"])
    shown = kind.shown(plan, make_rater("rule:overlap", ATTRIBUTES))
    found = {one.prompt: sorted(part.item for part in one.parts) for one in shown}
    assert found == {"Tea?": ["i0", "i1"], "Bees?": ["i2"]}
