"""Two answers, and for each attribute which of them somebody with it would rather have: a mark from 1 to 5."""

from collections.abc import Iterator
from typing import Any

from personafit.items.preference import HIGHEST, LOWEST, MIDDLE, PREFERENCE, turned
from personafit.labeling.forms.choice import lettered
from personafit.labeling.forms.form import LabelForm, LabelValue, attention_id, scale
from personafit.labeling.forms.listed import listed_fields
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text


class PreferenceForm(LabelForm):
    """Asks for a mark from A to B for each attribute; stored, it runs from generic to personalized."""

    name = PREFERENCE
    kinds = ("preference",)
    view = "attributes"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each pair."""
        for item in source.items(self.kinds):
            generic, personal, *rest = item.products
            targets = list(dict.fromkeys(rest))
            gold = [source.gold(item.id, target) for target in targets]
            yield Page(
                id=item.id,
                person=item.person,
                items=[item.id],
                sides=2,
                places=len(targets),
                targets=targets,
                content={
                    "prompt": item.prompt,
                    "answers": [source.text(generic), source.text(personal)],
                    "attributes": [source.text(target) for target in targets],
                    "reasons": [one.reason if one is not None else None for one in gold],
                },
                key={
                    f"{PREFERENCE}/{place}": one.label
                    for place, one in enumerate(gold)
                    if one is not None and one.label is not None
                },
            )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """One for each attribute."""
        marks = scale(LOWEST, HIGHEST)
        texts = page.content["attributes"]
        return listed_fields(page, arrangement, PREFERENCE, texts, marks, "preference.low", "preference.high")

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """What was asked, and the two answers by letter."""
        return {
            "prompt": page.content["prompt"],
            "answers": lettered(page.content["answers"], arrangement),
        }

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """The mark turned so that 5 prefers the personalized answer, whichever was A."""
        first, second = arrangement.sides
        mark = turned(int(value), (first, second))
        return LabelValue(str(mark), float(mark))

    def attention(self, number: int, language: str) -> Page:
        """Answers that say which mark to give: the middle, which is the same from either side."""
        name = attention_id(self.name, number)
        said = text(language, "attention.mark", mark=MIDDLE)
        return Page(
            id=name,
            role=Role.ATTENTION,
            items=[name],
            sides=2,
            places=2,
            targets=["0", "1"],
            content={
                "prompt": text(language, "attention.read"),
                "answers": [said, said],
                "attributes": [text(language, f"attention.statement.{place}") for place in range(2)],
                "reasons": [None, None],
            },
            key={f"{PREFERENCE}/{place}": str(MIDDLE) for place in range(2)},
        )
