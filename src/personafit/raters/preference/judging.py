"""Turning preference items × raters into lanes of keyed jobs: a job is one pair of answers in one order, all attributes at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from personafit._hashing import draw
from personafit.engine import Job, Lane
from personafit.items.preference import (
    GENERIC,
    LOWEST,
    MENTION,
    MIDDLE,
    PERSONAL,
    PREFER,
    PREFERENCE,
    Compared,
)
from personafit.raters.asking import rating_job, rating_key
from personafit.raters.lanes import SHORT_REPLY, rater_lane
from personafit.raters.preference.rater import PreferenceRater
from personafit.raters.rater import Part, Verdict
from personafit.store import Item, Store

VIEW = "attributes"
PAGE = 200
SAME = "the answers are identical: nobody was asked"
NOT_MADE = "the system made no answer, and loses to the generic one: nobody was asked"


@dataclass(frozen=True)
class PreferenceJudging:
    """What is to be judged and how: everything that decides which jobs there are."""

    store: Store
    dataset: str
    seed: int = 0
    samples: int = 1
    selected: frozenset[str] | None = None
    """Ids of the items to judge; None for all."""

    def shown(self, rater: PreferenceRater) -> Iterator[Compared]:
        """Everything the rater is to be shown, in the order of work."""
        items = (
            item
            for item in self.store.items(self.dataset)
            if self.selected is None or item.id in self.selected
        )
        while page := list(islice(items, PAGE)):
            texts = self.store.texts({product for item in page for product in item.products})
            for item in page:
                pair = compared(item, texts)
                for order in self.orders(item, rater):
                    for sample in range(self.samples):
                        yield replace(pair, order=order, sample=sample)

    def orders(self, item: Item, rater: PreferenceRater) -> list[tuple[int, int]]:
        """Both orders, the first of them drawn; one if order cannot matter."""
        plain, turned = (GENERIC, PERSONAL), (PERSONAL, GENERIC)
        if not rater.order_matters:
            return [plain]
        return (
            [turned, plain]
            if draw(item.id, rater.record.fingerprint, self.seed, among=2)
            else [plain, turned]
        )

    def count(self, rater: PreferenceRater) -> int:
        """How many asks the rater gets."""
        items = self.store.count_items(self.dataset) if self.selected is None else len(self.selected)
        return items * self.samples * (2 if rater.order_matters else 1)


def compared(item: Item, texts: dict[str, str]) -> Compared:
    """A preference item with its texts."""
    generic, personal, *attributes = item.products
    return Compared(
        item=item.id,
        content=item.hash,
        person=item.person,
        prompt=item.prompt,
        answers=(texts[generic], texts[personal]),
        attributes=tuple((one, texts[one]) for one in dict.fromkeys(attributes)),
    )


def preference_lanes(judging: PreferenceJudging, raters: Sequence[PreferenceRater]) -> list[Lane]:
    """One lane per rater."""
    return [
        rater_lane(
            rater,
            _jobs(judging, rater),
            judging.count(rater),
            (rater.request(one) for one in judging.shown(rater)),
            lambda request: max(SHORT_REPLY, request.max_tokens // 2),
        )
        for rater in raters
    ]


def _jobs(judging: PreferenceJudging, rater: PreferenceRater) -> Iterator[Job]:
    # A function of its own: a generator inside the list of lanes would ask the last rater for all of them.
    for one in judging.shown(rater):
        yield preference_job(rater, one)


def preference_job(rater: PreferenceRater, pair: Compared) -> Job:
    """The job that puts one pair before one rater.

    Identical answers are put before nobody and prefer neither; an answer that was not made (an empty text) gets the lowest mark
    and names nothing.
    """
    key = rating_key(
        item=pair.item,
        content=pair.hash,
        question=rater.question,
        instrument=PREFER.fingerprint if rater.question == PREFERENCE else MENTION,
        rater=rater.record.fingerprint,
        view=VIEW,
        order=pair.order_name if rater.order_matters else "",
        sample=pair.sample,
    )

    async def rate() -> Verdict:
        if not pair.answers[PERSONAL]:
            lost = (str(LOWEST), float(LOWEST)) if rater.question == PREFERENCE else ("no", 0.0)
            parts = [Part(target, *lost) for target, _ in pair.attributes]
            return Verdict(parts=parts, answers_whole=False, detail=NOT_MADE, calls=0)
        # Who looks at each answer by itself finds no difference anyway, on a scale of its own.
        if rater.order_matters and pair.answers[GENERIC] == pair.answers[PERSONAL]:
            parts = [Part(target, str(MIDDLE), float(MIDDLE)) for target, _ in pair.attributes]
            return Verdict(parts=parts, answers_whole=False, detail=SAME, calls=0)
        return await rater.rate(pair)

    return rating_job(key, rate)
