"""Turning items × raters × views into lanes of keyed jobs.

Work is ordered by person, then view, then item, so that whatever caches prompts (an endpoint, the embedded model) meets
the same beginning many times in a row. Nothing is held but a page of items: memory is flat as benchmarks grow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

import polars as pl

from personafit._hashing import draw, hash_text
from personafit.contexts import Context, ContextBuilder, Unmade
from personafit.engine import Job, Lane
from personafit.items import ChoiceQuestion, Shown
from personafit.people import Person
from personafit.raters.asking import rating_job, rating_key
from personafit.raters.lanes import rater_lane
from personafit.raters.rater import Rater, Verdict
from personafit.store import TIE, UNMADE, Item, Status, Store

TESTED_ANSWER = "answer"  # what an item says is unmade where it is the system's own answer
PAGE = 500  # items of one person worked on together at most


@dataclass(frozen=True)
class Judging:
    """What is to be judged and how: everything that decides which jobs there are."""

    store: Store
    dataset: str
    people: Mapping[str, Person]
    views: Sequence[ContextBuilder]
    question: ChoiceQuestion
    seed: int = 0
    samples: int = 1
    selected: frozenset[str] | None = None
    """Ids of the items to judge; None for all."""

    def items(self) -> Iterator[Item]:
        """The items to judge, in the order of work."""
        for item in self.store.items(self.dataset):
            if self.selected is None or item.id in self.selected:
                yield item

    def shown(self, rater: Rater) -> Iterator[Shown]:
        """Everything the rater is to be shown, in the order of work; new contexts are stored on the way."""
        for person_id, items in groupby(self.items(), key=lambda item: item.person):
            while page := list(islice(items, PAGE)):
                yield from self._shown_page(self.people[person_id], page, rater)

    def _shown_page(self, person: Person, page: list[Item], rater: Rater) -> Iterator[Shown]:
        texts = self.store.texts({product for item in page for product in item.products})
        contexts = [list(_told(view, person, page)) for view in self.views]
        new: dict[str, Context] = {context.id: context for view in contexts for _, context in view}
        self.store.add_products(context.product for context in new.values())
        for view in contexts:
            for item, context in view:
                answers = tuple(texts[product] for product in item.products)
                for order in self.orders(item, rater):
                    for sample in range(self.samples):
                        yield Shown(item, answers, context, order, sample)

    def orders(self, item: Item, rater: Rater) -> list[tuple[int, ...]]:
        """The orders an item is shown in: both for two answers, the first of them drawn; one if order cannot matter."""
        plain = tuple(range(len(item.products)))
        if not rater.order_matters:
            return [plain]
        orders = [plain, plain[::-1]]
        return orders[::-1] if draw(item.id, rater.record.fingerprint, self.seed, among=2) else orders

    def count(self, rater: Rater) -> int:
        """How many asks the rater gets."""
        items = self.store.count_items(self.dataset) if self.selected is None else len(self.selected)
        return items * len(self.views) * self.samples * (2 if rater.order_matters else 1)


def judging_lanes(judging: Judging, raters: Sequence[Rater]) -> list[Lane]:
    """One lane per rater."""
    return [
        rater_lane(
            rater,
            _jobs(judging, rater),
            judging.count(rater),
            (rater.request(shown, judging.question) for shown in judging.shown(rater)),
        )
        for rater in raters
    ]


def select_items(rows: pl.DataFrame, limit: int, seed: int) -> frozenset[str]:
    """A fixed stratified sample of items: drawn by hash, spread over half, tier and language-like slices in proportion.

    `rows` has `item` and any columns to stratify by; the same seed gives the same sample on every machine.
    """
    strata = [name for name in rows.columns if name != "item"]
    ranked = rows.with_columns(
        pl.Series("rank", [hash_text("select", item, str(seed)) for item in rows["item"]])
    ).sort("rank")
    if not strata:
        return frozenset(ranked["item"].head(limit))
    # The k-th of n items in a stratum stands at (k + ½) / n: taking the lowest spreads the sample evenly.
    spread = ranked.with_columns(
        ((pl.int_range(pl.len()).over(strata) + 0.5) / pl.len().over(strata)).alias("place")
    ).sort("place", "rank")
    return frozenset(spread["item"].head(limit))


def _told(view: ContextBuilder, person: Person, page: list[Item]) -> Iterator[tuple[Item, Context]]:
    """What is told at each item; an item for which a model should have made it and did not is left unjudged."""
    for item in page:
        try:
            yield item, view.build(person, item)
        except Unmade:
            continue


def _foregone(shown: Shown) -> Verdict | None:
    """The verdict that needs no rater: an answer that was not made loses, and identical answers tie."""
    unmade = shown.item.slices.get(UNMADE)
    if unmade is not None and unmade != TESTED_ANSWER:
        why = f"there is no {unmade} answer to compare with: nobody was asked"
        return Verdict(status=Status.SKIPPED, detail=why, calls=0)
    if unmade is not None:
        made = next(place for place, text in enumerate(shown.texts) if text)
        why = "the system made no answer, and loses to the one that was made: nobody was asked"
        return Verdict(label=str(made), value=1.0 if made == 0 else -1.0, detail=why, calls=0)
    if len(set(shown.texts)) == 1:
        return Verdict(label=TIE, value=0.0, detail="the answers are identical: nobody was asked", calls=0)
    return None


def _jobs(judging: Judging, rater: Rater) -> Iterator[Job]:
    for shown in judging.shown(rater):
        yield _job(judging, rater, shown)


def _job(judging: Judging, rater: Rater, shown: Shown) -> Job:
    order = shown.order_name if rater.order_matters else ""
    key = rating_key(
        item=shown.item.id,
        content=shown.item.hash,
        question=judging.question.name,
        instrument=judging.question.fingerprint,
        rater=rater.record.fingerprint,
        view=shown.context.name,
        context=shown.context.id,
        order=order,
        sample=shown.sample,
    )

    async def rate() -> Verdict:
        return _foregone(shown) or await rater.rate(shown, judging.question)

    return rating_job(key, rate)
