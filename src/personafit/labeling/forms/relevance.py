"""Which of the things known about a person matter for what they ask: yes or no for each."""

from collections.abc import Iterator
from typing import Any

from personafit.items.relevance import RELEVANCE, list_name
from personafit.labeling.forms.form import NO, LabelForm, LabelValue, attention_id, yes_no, yes_no_answered
from personafit.labeling.forms.listed import listed_fields
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text
from personafit.store import Item

MOST_LISTED = 40  # on one page; a longer list is cut into pages


class RelevanceForm(LabelForm):
    """Asks of each attribute whether knowing it should change the reply."""

    name = RELEVANCE
    kinds = ("relevance",)
    view = "none"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each list: the attributes of one person that stand beside one prompt."""
        lists: dict[str, list[Item]] = {}
        for item in source.items(self.kinds):
            lists.setdefault(list_name(item.group, item.person), []).append(item)
        for name, members in lists.items():
            for start in range(0, len(members), MOST_LISTED):
                part = members[start : start + MOST_LISTED]
                yield self._page(source, name if start == 0 else f"{name}/{start}", part)

    def _page(self, source: StudySource, name: str, members: list[Item]) -> Page:
        gold = [source.gold(item.id) for item in members]
        return Page(
            id=name,
            person=members[0].person,
            items=[item.id for item in members],
            places=len(members),
            content={
                "prompt": members[0].prompt,
                "attributes": [source.text(item.products[0]) for item in members],
                "reasons": [one.reason if one is not None else None for one in gold],
            },
            key={
                f"{RELEVANCE}/{place}": one.label
                for place, one in enumerate(gold)
                if one is not None and one.label is not None
            },
        )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """One for each attribute."""
        return listed_fields(page, arrangement, RELEVANCE, page.content["attributes"], yes_no())

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """What was asked; the attributes are the fields."""
        return {"prompt": page.content["prompt"]}

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """Yes or no, as models say it."""
        return yes_no_answered(value)

    def attention(self, number: int, language: str) -> Page:
        """A prompt that says what to answer."""
        name = attention_id(self.name, number)
        attributes = [text(language, f"attention.statement.{place}") for place in range(2)]
        return Page(
            id=name,
            role=Role.ATTENTION,
            items=[f"{name}/{place}" for place in range(2)],
            places=2,
            content={
                "prompt": text(language, "attention.no"),
                "attributes": attributes,
                "reasons": [None, None],
            },
            key={f"{RELEVANCE}/{place}": NO for place in range(2)},
        )
