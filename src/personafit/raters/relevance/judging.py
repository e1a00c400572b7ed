"""Turning attributes × raters × views into lanes of keyed jobs: a job is one attribute, or one list or part of a list."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from personafit._hashing import hash_text
from personafit.engine import Job, Lane
from personafit.items.relevance import ALONE, RELEVANCE, Candidate, Listing, list_name
from personafit.raters.asking import rating_job, rating_key
from personafit.raters.lanes import rater_lane
from personafit.raters.rater import Part, Verdict
from personafit.raters.relevance.rater import RelevanceRater
from personafit.store import Item, Status, Store

EMPTY = "the attribute is empty: nobody was asked"


@dataclass(frozen=True)
class RelevanceJudging:
    """What is to be judged and how: everything that decides which jobs there are."""

    store: Store
    dataset: str
    views: Sequence[str]
    reasons: Mapping[str, str]
    """Why an attribute was believed of the person, by the attribute's product id."""
    seed: int = 0
    samples: int = 1
    selected: frozenset[str] | None = None
    """Ids of the items to judge; None for all."""

    def views_of(self, rater: RelevanceRater) -> list[str]:
        """The views that make sense for a rater."""
        return [view for view in self.views if view != ALONE or not rater.needs_prompt]

    def listings(self, rater: RelevanceRater) -> Iterator[Listing]:
        """Everything the rater is to be shown, in the order of work."""
        items = (item for item in self.store.items(self.dataset) if self._wanted(item))
        for _, theirs in groupby(items, key=lambda item: item.person):
            lists = self._lists(list(theirs))
            for view in self.views_of(rater):
                for listing in _cut(lists, rater, view, self.seed):
                    for sample in range(self.samples):
                        yield replace(listing, sample=sample)

    def count(self, rater: RelevanceRater) -> int:
        """How many asks the rater gets."""
        return sum(1 for _ in self.listings(rater))

    def _wanted(self, item: Item) -> bool:
        return self.selected is None or item.id in self.selected

    def _lists(self, items: list[Item]) -> list[Listing]:
        """The lists of one person, each with all of its attributes."""
        texts = self.store.texts({item.products[0] for item in items})
        lists: dict[tuple[str, str], list[Item]] = {}
        for item in items:  # a group of a folder's own may hold several prompts; a list is about one
            lists.setdefault((item.group, item.prompt), []).append(item)
        return [
            Listing(
                name=list_name(group, members[0].person),
                person=members[0].person,
                prompt=members[0].prompt,
                candidates=tuple(
                    Candidate(item.id, item.hash, texts[item.products[0]], self.reasons.get(item.products[0]))
                    for item in members
                ),
            )
            for (group, _), members in lists.items()
        ]


def _cut(lists: Sequence[Listing], rater: RelevanceRater, view: str, seed: int) -> Iterator[Listing]:
    """The lists of one person as the rater gets them: whole, in parts, or an attribute at a time."""
    if not rater.by_list and view == ALONE:
        yield from _by_attribute(lists)
        return
    for listing in lists:
        shown = replace(listing, view=view)
        if not rater.by_list:
            for one in listing.candidates:
                yield replace(shown, name=one.item, candidates=(one,))
            continue
        # Numbers in a list may attract: their order is drawn, not the file's.
        drawn = sorted(listing.candidates, key=lambda one: hash_text("list", one.item, str(seed)))
        size = rater.most_listed or len(drawn)
        parts = [tuple(drawn[start : start + size]) for start in range(0, len(drawn), size)]
        for number, part in enumerate(parts, 1):
            yield replace(shown, candidates=part, part=f"{number}/{len(parts)}" if len(parts) > 1 else "")


def _by_attribute(lists: Sequence[Listing]) -> Iterator[Listing]:
    """Without the prompt an attribute is the same question in every list: it is asked once for all of them."""
    same: dict[str, list[Candidate]] = {}
    for listing in lists:
        for one in listing.candidates:
            same.setdefault(one.attribute, []).append(one)
    for candidates in same.values():
        yield Listing(candidates[0].item, lists[0].person, "", tuple(candidates), ALONE)


def relevance_lanes(judging: RelevanceJudging, raters: Sequence[RelevanceRater]) -> list[Lane]:
    """One lane per rater."""
    return [
        rater_lane(
            rater,
            _jobs(judging, rater),
            judging.count(rater),
            (rater.request(listing) for listing in judging.listings(rater)),
        )
        for rater in raters
    ]


def _jobs(judging: RelevanceJudging, rater: RelevanceRater) -> Iterator[Job]:
    for listing in judging.listings(rater):
        yield relevance_job(rater, listing)


def relevance_job(rater: RelevanceRater, listing: Listing) -> Job:
    """The job that puts one listing before one rater; empty attributes are put before nobody."""
    key = rating_key(
        item=listing.name,
        content=listing.content,
        question=RELEVANCE,
        instrument=RELEVANCE,
        rater=rater.record.fingerprint,
        view=listing.view,
        order=listing.part,
        sample=listing.sample,
    )

    async def rate() -> Verdict:
        real = tuple(one for one in listing.candidates if one.attribute.strip())
        skipped = [
            Part("", None, None, item=one.item, status=Status.SKIPPED)
            for one in listing.candidates
            if not one.attribute.strip()
        ]
        if not real:
            return Verdict(status=Status.SKIPPED, detail=EMPTY, parts=skipped, answers_whole=False, calls=0)
        verdict = await rater.rate(replace(listing, candidates=real))
        verdict.parts += skipped
        return verdict

    return rating_job(key, rate)
