"""A judged run with planted biases, built straight in the store: what each judge follows is known exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from personafit import Status, Store
from personafit.kinds.choice import RunScores, load_scores
from personafit.people import Person
from personafit.reports.answer_pairs import pair_features
from personafit.store import Ask, Item, Judgment, Outcome, Product, RaterRecord

Floats = NDArray[np.float64]
DATASET = "made@1"
FILLER = "and so the day goes on in its own quiet way with much to do".split()


@dataclass(frozen=True)
class Judge:
    """A rater whose log-odds for product 0 are the weighted features plus its position's pull and its people's whims."""

    name: str
    weights: Mapping[str, float] = field(default_factory=dict)
    position: float = 0.0
    orders: int = 2
    kind: str = "llm"
    margins: bool = True
    """Whether its true log-odds are its margins, or only letters are read."""
    own: str | None = None
    """The maker it favours by `weights["family"]`."""
    always: str | None = None
    """A label it gives whatever is asked: '0', '1', 'tie', or 'first' for the answer shown first."""
    failing: bool = False


@dataclass
class World:
    """A store with one run."""

    store: Store
    scores: RunScores
    truth: Floats
    """People's log-odds for product 0, an item a row in the order of `scores.items`."""


def make_world(
    folder: Path,
    judges: Sequence[Judge],
    people_weights: Mapping[str, float] | None = None,
    people: int = 40,
    each: int = 20,
    seed: int = 0,
    makers: Sequence[str] = (),
    votes: int = 0,
    labelled: bool = True,
    metric: str = "accuracy",
    products: int = 2,
) -> World:
    """People, pairs, gold drawn from `people_weights` (and votes, if a number is given), and the judges' answers."""
    rng = np.random.default_rng(seed)
    store = Store(folder / "store.db")
    info = {"name": "made", "gold": "author", "metric": metric, "view": "profile", "layout": [["tier"]]}
    store.begin_dataset(DATASET, "made", {**info, "title": "", "coverage_bar": 0.95})
    _fill(store, people, each, rng, makers, products)
    store.finish_dataset(DATASET)
    raters = [
        {"fingerprint": f"f{n}", "name": j.name, "kind": j.kind, "orders": j.orders, "control": False}
        for n, j in enumerate(judges)
    ]
    store.add_raters(
        RaterRecord(fingerprint=r["fingerprint"], name=r["name"], kind=r["kind"]) for r in raters
    )
    config = {
        "benchmark": "made",
        "dataset": DATASET,
        "question": "fit",
        "views": ["profile"],
        "seed": 0,
        "samples": 1,
        "selected": None,
        "raters": raters,
        "notes": [],
    }
    run = store.begin_run("made-1", DATASET, config, 1)
    # A provisional gold lets the features be read back; the real one replaces nothing, as it is stored once below.
    items = pl.DataFrame(
        [{"item": i.id, "person": i.person, "prompt": i.prompt, "gold": None} for i in store.items(DATASET)],
        schema_overrides={"gold": pl.String},
    )
    bare = RunScores(run, info, items, {}, pl.DataFrame())
    features = pair_features(store, bare) if products == 2 else items
    truth = _lead(features, people_weights or {}, len(items))
    if labelled:
        store.add_judgments(_gold(items["item"].to_list(), truth, votes, rng, metric))
    outcomes = [
        outcome
        for n, judge in enumerate(judges)
        for outcome in _answers(judge, f"f{n}", features, items["person"].to_list(), truth, rng)
    ]
    store.plan_jobs(run.id, [outcome.ask.job for outcome in outcomes])
    store.write(outcomes)
    store.finish_run(run.name)
    return World(store, load_scores(store, store.run("made-1")), truth)


def _fill(
    store: Store, people: int, each: int, rng: np.random.Generator, makers: Sequence[str], products: int
) -> None:
    letters = np.array(list("bcdfghjklmnpqrstvwxz"))
    for number in range(people):
        likes = ["".join(rng.choice(letters, 6)) for _ in range(12)]
        person = Person(id=f"p{number:03}", language="en", facets={"Name": f"Zoe{number:03}", "Likes": likes})
        store.add_people(DATASET, [person])
        made, items = [], []
        for question in range(each):
            pair = []
            for place in range(products):
                words = [*rng.choice(FILLER, rng.integers(5, 60)), *rng.choice(likes, rng.integers(0, 8))]
                if rng.random() < 0.3:
                    words.append(f"Zoe{number:03}")
                maker = str(rng.choice(list(makers))) if makers else None
                text = f"{' '.join(words)} {number} {question} {place}"
                pair.append(Product(kind="answer", text=text, maker=maker))
            made += pair
            item = Item(
                id=f"made/{number:03}/{question}",
                person=person.id,
                prompt=f"Question {number} {question}?",
                products=[product.id for product in pair],
            )
            items.append((number * each + question, item))
        store.add_products(made)
        store.add_items(DATASET, items)


def _lead(features: pl.DataFrame, weights: Mapping[str, float], count: int, own: str | None = None) -> Floats:
    lead = np.zeros(count)
    for name, weight in weights.items():
        if name == "family":
            pairs = features["makers"].to_list()
            lead += weight * np.array([float(one == own) - float(two == own) for one, two in pairs])
        elif name != "truth":
            lead += weight * features[name].to_numpy()
    return lead


def _gold(
    items: list[str], truth: Floats, votes: int, rng: np.random.Generator, metric: str
) -> list[Judgment]:
    found = []
    for place, (item, lead) in enumerate(zip(items, truth, strict=True)):
        extra: dict[str, Any] = {"tier": ("easy", "hard")[place % 2]}
        label = str(int(rng.random() > expit(lead)))
        if votes:
            first = int(rng.binomial(votes, expit(lead)))
            extra["votes"] = {"0": first, "1": votes - first}
            label = "tie" if 2 * first == votes else str(int(2 * first < votes))
        found.append(Judgment(ask=f"{DATASET}#author", item=item, rater="author", label=label, extra=extra))
    return found


def _answers(
    judge: Judge,
    fingerprint: str,
    features: pl.DataFrame,
    people: list[str],
    truth: Floats,
    rng: np.random.Generator,
) -> list[Outcome]:
    lead = _lead(features, judge.weights, len(features), judge.own)
    lead = lead + judge.weights.get("truth", 0.0) * truth
    names = sorted(set(people))
    whim = dict(zip(names, rng.normal(0, 0.3, len(names)), strict=True))
    flip = rng.choice([-1.0, 1.0], len(lead))
    lead = lead + flip * np.array([whim[person] for person in people])
    outcomes = []
    for place, item in enumerate(features["item"]):
        for order in ("01", "10") if judge.orders == 2 else ("",):
            odds = lead[place] + (judge.position if order == "01" else -judge.position if order else 0.0)
            label = judge.always or str(int(rng.random() > expit(odds)))
            if label == "first":
                label = order[0]
            if judge.margins and judge.always is None:
                value, label = odds, "0" if odds > 0 else "1"
            else:
                value = {"0": 1.0, "1": -1.0}.get(label, 0.0)
            job = f"{fingerprint}-{item}-{order}"
            status = Status.FAILED if judge.failing else Status.OK
            ask = Ask(
                id=job,
                job=job,
                item=item,
                question="fit",
                rater=fingerprint,
                context="profile",
                order=order,
                status=status,
            )
            said = Judgment(ask=job, item=item, rater=fingerprint, label=label, value=value)
            outcomes.append(Outcome(ask=ask, judgments=[] if judge.failing else [said]))
    return outcomes
