"""Which of a person's attributes matter for a prompt, by any relevance rater; each list is a keyed job."""

from collections.abc import Sequence
from typing import Protocol

from sqlalchemy import select

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.engine import Lane
from personafit.items.reading import Part, Shown
from personafit.items.relevance import CONTEXTS, EMPTY, RELEVANT_GRADES, YES, list_asks
from personafit.raters import Rater, rating_job
from personafit.store import Status, Store
from personafit.store import tables as t


class PersonPrompt(Protocol):
    """A prompt of a person, and what is known of them."""

    @property
    def id(self) -> str:
        """The item's id."""

    @property
    def person(self) -> str:
        """Whose prompt it is."""

    @property
    def prompt(self) -> str:
        """What they ask."""

    @property
    def known(self) -> Sequence[str]:
        """The texts of their attributes."""


class Matching:
    """One rater's picks for many prompts."""

    def __init__(self, store: Store, rater: Rater, wanted: Sequence[PersonPrompt]) -> None:
        self._store = store
        self._rater = rater
        self._listings = {one.id: _listings(one, rater) for one in wanted}
        self._jobs = [rating_job(rater, one) for group in self._listings.values() for one in group]

    def lane(self) -> Lane:
        """All lists to be asked about."""
        return Lane(
            name=f"{self._rater.record.name} matches",
            endpoint=self._rater.endpoint,
            jobs=self._jobs,
            total=len(self._jobs),
            max_concurrency=self._rater.max_concurrency,
            free=self._rater.price == (0.0, 0.0),
        )

    def picked(self) -> dict[str, dict[str, float | None]]:
        """By prompt, the attributes that matter with their scores; a prompt that could not be asked about is absent."""
        said = self._said()
        if any(label is None for label, _ in said.values()):
            raise UserError(
                f"{self._rater.record.name} gives scores and no answers, so nothing says what it picks; match with a rater that "
                "answers, such as list:openai:MODEL@URL or fitted:DIR."
            )
        chosen: dict[str, dict[str, float | None]] = {}
        for name, listings in self._listings.items():
            candidates = [one for listing in listings for one in listing.parts]
            if all(one.item in said for one in candidates):
                chosen[name] = {
                    one.text: said[one.item][1]
                    for one in candidates
                    if said[one.item][0] in (YES, *RELEVANT_GRADES)
                }
        return chosen

    def _said(self) -> dict[str, tuple[str | None, float | None]]:
        states = self._store.job_states([job.key for job in self._jobs])
        asks = [hash_text(key, str(state.generation)) for key, state in states.items()]
        judgment = t.judgments.c
        query = select(judgment.item, judgment.label, judgment.value).where(judgment.status == Status.OK)
        said = self._store.rows_among(query, judgment.ask, asks)
        return {row.item: (row.label, row.value) for row in said}


def _listings(one: PersonPrompt, rater: Rater) -> list[Shown]:
    parts = tuple(
        Part(
            f"{one.id}#{number}", "", text, None, hash_text(one.prompt, text), None if text.strip() else EMPTY
        )
        for number, text in enumerate(one.known)
    )
    question = rater.questions[0]
    shown = Shown(question, one.id, "", one.person, one.prompt, parts, context=CONTEXTS["none"])
    return list_asks(shown, rater.most_parts)
