"""Sums give what the long way gives: every number of a random run, added up a page at a time, against whole frames."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from personafit import Status, Store
from personafit.kinds.choice import load_scores
from personafit.people import Person
from personafit.reports.line_results import results_of
from personafit.reports.totals import load_totals
from personafit.store import Ask, Item, Judgment, Outcome, Product, RaterRecord, RunRecord, run_pages
from tests.reports.per_item import results_by_item

SHOWN_UNDER = ["profile", "none", "wrong:profile"]
RATERS = [("judge", 2, False), ("rule:length", 1, True)]
DATASET = "random@1"
SAMPLES = 2
ITEMS = 80


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


def random_run(
    store: Store, seed: int, metric: str = "accuracy", prompts: int = 9, selected: bool = False
) -> RunRecord:
    """Items of 7 people in no order, sliced in every way, of which some were answered in some way."""
    draw = random.Random(seed)
    info = {
        "name": "random",
        "version": "1",
        "licence": "ours",
        "description": "",
        "gold": "author",
        "metric": metric,
        "view": "profile",
        "layout": [["half", "tier"], ["against"]],
        "coverage_bar": 0.95,
        "published": [],
    }
    store.begin_dataset(DATASET, "random", info)
    people = [f"p{number}" for number in range(7)]
    store.add_people(DATASET, [Person(id=person, language="en", facets={}) for person in people])
    items, products, golds, outcomes = [], [], [], []
    for place in range(ITEMS):
        pair = [Product(kind="answer", text=f"{place} {side}" + "x" * draw.randrange(9)) for side in "ab"]
        slices = {"half": draw.choice(["one", "two"]), "against": draw.choice(["generic", "wrong"])}
        if metric == "win_rate":
            slices |= {"system": draw.choice(["mine", "theirs"]), "given": "profile"}
        if draw.random() < 0.2:
            slices["expect"] = "generic"
        item = Item(
            id=f"i{place}",
            person=draw.choice(people),
            prompt=f"Question {draw.randrange(prompts)}" if prompts else f"Question {place}",
            products=[product.id for product in pair],
            slices=slices,
        )
        items.append(item)
        products += pair
        extra = {"tier": draw.choice(["easy", "hard"])} if draw.random() < 0.9 else None
        gold = Judgment(
            ask=f"{DATASET}#author", item=item.id, rater="author", label=draw.choice("01"), extra=extra
        )
        golds.append(gold)
        outcomes += list(_outcomes(item, draw))
    store.add_products(products)
    store.add_items(DATASET, enumerate(items))
    store.add_judgments(golds)
    store.finish_dataset(DATASET)
    raters = [
        {"fingerprint": name, "name": name, "kind": "python", "orders": orders, "control": control}
        for name, orders, control in RATERS
    ]
    store.add_raters(RaterRecord(fingerprint=name, name=name, kind="python") for name, _, _ in RATERS)
    config: dict[str, Any] = {
        "benchmark": "random",
        "dataset": DATASET,
        "question": "fit",
        "views": SHOWN_UNDER,
        "seed": 0,
        "samples": SAMPLES,
        "selected": [item.id for item in items if draw.random() < 0.8] if selected else None,
        "raters": raters,
        "notes": [],
    }
    run = store.begin_run(
        "random-1",
        DATASET,
        config,
        ITEMS * SAMPLES * len(SHOWN_UNDER) * sum(orders for _, orders, _ in RATERS),
    )
    store.plan_jobs(run.id, list(dict.fromkeys(outcome.ask.job for outcome in outcomes)))
    store.write(outcomes)
    return store.run("random-1")


def _outcomes(item: Item, draw: random.Random) -> Iterator[Outcome]:
    for name, orders, _ in RATERS:
        for context in SHOWN_UNDER:
            for order in ("01", "10") if orders == 2 else ("",):
                for sample in range(SAMPLES):
                    for generation in range(draw.choice([0, *[1] * 8, 2])):
                        yield _outcome(item, name, context, order, sample, generation, draw)


def _outcome(
    item: Item, rater: str, context: str, order: str, sample: int, generation: int, draw: random.Random
) -> Outcome:
    job = f"{item.id}-{rater}-{context}-{order}-{sample}"
    status = draw.choice([Status.OK] * 8 + [Status.UNPARSED, Status.FAILED])
    ask = Ask(
        id=f"{job}-{generation}",
        job=job,
        generation=generation,
        item=item.id,
        question="fit",
        rater=rater,
        context=context,
        order=order,
        sample=sample,
        status=status,
        detail=None if status == Status.OK else f"it was {status.value}",
        at=float(generation),
    )
    judgments = [
        Judgment(
            ask=ask.id,
            item=item.id,
            rater=rater,
            parse=parse,
            status=status,
            label=draw.choice(["0", "1", "tie"]) if status == Status.OK else None,
            value=draw.choice([-1.0, -0.5, 0.0, 1.0, 2.0, 2.0, None]) if status == Status.OK else None,
        )
        for parse in range(0 if status == Status.FAILED else draw.choice([1, 1, 2]))
    ]
    return Outcome(ask=ask, judgments=judgments)


@pytest.mark.parametrize("metric", ["accuracy", "win_rate"])
@pytest.mark.parametrize("prompts", [0, 9], ids=["every prompt once", "prompts recur"])
@pytest.mark.parametrize(("selected", "page"), [(True, 9), (False, 1_000)], ids=["some", "all"])
def test_sums_give_the_numbers_of_whole_frames(
    store: Store, monkeypatch: pytest.MonkeyPatch, metric: str, prompts: int, selected: bool, page: int
) -> None:
    monkeypatch.setattr("personafit.store.reading.ITEMS", page)
    monkeypatch.setattr("personafit.store.reading.ANSWERS", page)
    if page == 9:  # as in a long run: nothing is read or kept at once, all is read once more
        monkeypatch.setattr("personafit.store.reading.ASKS_AT_ONCE", 0)
        monkeypatch.setattr("personafit.reports.totals.HELD", 0)
    run = random_run(store, 3 + prompts, metric, prompts, selected)
    totals, scores = load_totals(store, run), load_scores(store, run)
    added_up, by_item = results_of(totals.opened, totals.added), results_by_item(scores)
    assert sum(result.low is not None for result in by_item) > 20, "the run must have something to say"
    assert [_words(result) for result in added_up] == [_words(result) for result in by_item]
    for new, old in zip(added_up, by_item, strict=True):
        for name in ("value", "low", "high", "coverage", "se", "df"):
            wanted = getattr(old, name)
            assert getattr(new, name) == (wanted if wanted is None else pytest.approx(wanted, abs=1e-12))
    assert (totals.items, totals.people) == (len(scores.items), scores.items["person"].n_unique())
    statuses = scores.answers.group_by("rater", "status").len().iter_rows()
    if not selected:
        assert totals.statuses == {(rater, status): count for rater, status, count in statuses}


def _words(result: Any) -> dict[str, Any]:
    bare = replace(result, value=None, low=None, high=None, coverage=None, se=None, df=None)
    return dict(bare.as_dict())


@pytest.mark.parametrize("limit", ["items", "asks about them"])
def test_the_browser_gets_the_items_got_wrong_first(
    store: Store, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    run = random_run(store, 5)
    everything = load_totals(store, run).sample
    asks = run.planned // len(everything.items)
    monkeypatch.setattr("personafit.store.reading.ASKS_AT_ONCE", 0)
    if limit == "items":
        monkeypatch.setattr("personafit.store.reading.ITEMS", 4)
        monkeypatch.setattr("personafit.reports.totals.MAX_ITEMS", 10)
    else:
        monkeypatch.setattr("personafit.store.reading.ANSWERS_A_PAGE", 4 * asks)
        monkeypatch.setattr("personafit.reports.totals.MAX_ASKS", 10 * asks + 1)
    pages = [len(items) for items, _ in run_pages(store, run, "author")]
    assert pages[:-1] == [4] * (len(pages) - 1)
    sample = load_totals(store, run).sample
    wrong = everything.items.filter(~everything.items["not_wrong"])["position"]
    assert len(wrong) > 10
    assert sample.items["position"].to_list() == wrong.head(10).to_list()
    kept = set(sample.items["position"])
    assert set(sample.scores["position"]) <= kept
    wanted = everything.answers.filter(everything.answers["position"].is_in(list(kept)))
    assert sorted(sample.answers["ask"]) == sorted(wanted["ask"])
