"""Best of two to four answers beside the person's profile."""

from collections.abc import Iterator
from typing import Any

from personafit._errors import UserError
from personafit.labeling.forms.form import LabelForm, LabelValue, attention_id
from personafit.labeling.records import Arrangement, Field, Option, Page, Role
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text

LETTERS = "ABCD"
MOST = len(LETTERS)


class ChoiceForm(LabelForm):
    """Asks which answer fits the person best."""

    name = "fit"
    kinds = ("choice",)
    advances = True

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each item."""
        for item in source.items(self.kinds):
            if len(item.products) > MOST:
                raise UserError(f"{item.id} has {len(item.products)} answers; a page shows {MOST} at most.")
            gold = source.gold(item.id)
            yield Page(
                id=item.id,
                person=item.person,
                items=[item.id],
                sides=len(item.products),
                content={
                    "profile": source.profile(item.person),
                    "prompt": item.prompt,
                    "answers": [source.text(product) for product in item.products],
                },
                key={"fit": gold.label} if gold is not None and gold.label is not None else {},
                why=gold.reason
                if gold is not None and gold.reason
                else f"why.{item.slices.get('reject', 'fit')}",
            )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """The one question."""
        options = [
            Option(value=letter, text=letter, key=str(number))
            for number, letter in enumerate(LETTERS[: page.sides], 1)
        ]
        return [Field(code="fit", question="fit", item=page.items[0], options=options, text="which.fits")]

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """Profile, question, and the answers by letter."""
        return {
            "profile": page.content["profile"],
            "prompt": page.content["prompt"],
            "answers": lettered(page.content["answers"], arrangement),
        }

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """The chosen answer's index; for a pair also which way the scale tips."""
        chosen = arrangement.sides[LETTERS.index(value)]
        margin = None if page.sides != 2 else (1.0 if chosen == 0 else -1.0)
        return LabelValue(str(chosen), margin)

    def attention(self, number: int, language: str) -> Page:
        """Two answers, one of which says that it is to be chosen."""
        name = attention_id(self.name, number)
        return Page(
            id=name,
            role=Role.ATTENTION,
            items=[name],
            sides=2,
            content={
                "profile": text(language, "attention.person"),
                "prompt": text(language, "attention.read"),
                "answers": [text(language, "attention.this"), text(language, "attention.other")],
            },
            key={"fit": "0"},
        )


def lettered(answers: list[str], arrangement: Arrangement) -> list[dict[str, str]]:
    """The answers under the letters they have for this rater."""
    return [
        {"letter": letter, "text": answers[side]}
        for letter, side in zip(LETTERS, arrangement.sides, strict=False)
    ]
