"""One answer by itself, graded from 1 to 7 for how well it fits the person and for how helpful it is."""

from collections.abc import Iterator
from typing import Any

from personafit.labeling.forms.form import LabelForm, LabelValue, attention_id, scale
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text

LOWEST, HIGHEST = 1, 7
FIT, HELPFUL = "grade.fit", "grade.helpful"
ASKED_FOR = "2"


class GradeForm(LabelForm):
    """Asks for two grades of one answer."""

    name = "grade"
    kinds = ("choice",)

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each answer of each item."""
        for item in source.items(self.kinds):
            for place, product in enumerate(item.products):
                yield Page(
                    id=f"{item.id}#{place}",
                    person=item.person,
                    items=[item.id],
                    targets=[product],
                    content={
                        "profile": source.profile(item.person),
                        "prompt": item.prompt,
                        "answer": source.text(product),
                    },
                )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """Fit, then helpfulness."""
        return [
            Field(
                code=question,
                question=question,
                item=page.items[0],
                target=page.targets[0],
                options=scale(LOWEST, HIGHEST),
                text=question,
                hint=f"{question}.hint",
                low="grade.low",
                high="grade.high",
            )
            for question in (FIT, HELPFUL)
        ]

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """Profile, question and answer."""
        return dict(page.content)

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """The grade."""
        return LabelValue(value, float(value))

    def attention(self, number: int, language: str) -> Page:
        """An answer that says which grade it is to be given."""
        name = attention_id(self.name, number)
        return Page(
            id=name,
            role=Role.ATTENTION,
            items=[name],
            targets=[name],
            content={
                "profile": text(language, "attention.person"),
                "prompt": text(language, "attention.read"),
                "answer": text(language, "attention.mark", mark=ASKED_FOR),
            },
            key={FIT: ASKED_FOR, HELPFUL: ASKED_FOR},
        )
