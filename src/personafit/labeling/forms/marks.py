"""Forms that only people are asked: grades of one answer, and statements about a person against the conversation they come from."""

from collections.abc import Iterator
from typing import Any

from personafit.labeling.forms.form import LabelForm, LabelValue, buttons
from personafit.labeling.records import Arrangement, Field, Option, Page
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text
from personafit.stages.records import LABELS

GRADES = tuple("1234567")
FIT, HELPFUL = "grade.fit", "grade.helpful"
ASKED_FOR = "2"
ATTRIBUTES, MISSING = "attributes", "missing"
VALUES: dict[str, float] = dict(zip(LABELS, (1.0, 0.5, 0.0), strict=True))


class GradeForm(LabelForm):
    """Asks for two grades of one answer: how well it fits the person, and how helpful it is."""

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
        options = buttons(GRADES)
        return [self.field(page, question, options, target=page.targets[0]) for question in (FIT, HELPFUL)]

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """Profile, question and answer."""
        return dict(page.content)

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """The grade."""
        return LabelValue(value, float(value))

    def telling(self, name: str, language: str) -> dict[str, Any]:
        """An answer that says which grade it is to be given."""
        content = {
            "profile": text(language, "attention.person"),
            "prompt": text(language, "attention.read"),
            "answer": text(language, "attention.mark", mark=ASKED_FOR),
        }
        return {"targets": [name], "content": content, "key": {FIT: ASKED_FOR, HELPFUL: ASKED_FOR}}


class AttributesForm(LabelForm):
    """Asks of each statement whether the conversation supports it, and what is missing."""

    name = ATTRIBUTES
    kinds = ()
    view = "conversation"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each conversation about which something is stated."""
        for conversation, statements in source.stated():
            key = {
                f"{ATTRIBUTES}/{place}": one.label
                for place, one in enumerate(statements)
                if one.label is not None
            }
            yield Page(
                id=conversation.id,
                person=conversation.person,
                items=[one.id for one in statements],
                places=len(statements),
                content={
                    "turns": [turn.model_dump() for turn in conversation.turns],
                    "statements": [{"text": one.text, "evidence": one.evidence} for one in statements],
                    "conversation": conversation.id,
                    "reasons": [one.reason for one in statements],
                },
                key=key,
            )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """One for each statement, and a box for what is missing."""
        options = [
            Option(value=label, text=f"attributes.{label}", key=str(number))
            for number, label in enumerate(LABELS, 1)
        ]
        statements = [one["text"] for one in page.content["statements"]]
        fields = self.listed(page, arrangement, ATTRIBUTES, statements, options, cannot_tell=False)
        missing = Field(
            code=MISSING,
            question=MISSING,
            item=page.content["conversation"],
            kind="text",
            required=False,
            text="attributes.missing",
            hint="attributes.missing.hint",
        )
        return [*fields, missing]

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """What was said, and for each field the turns it points to."""
        statements = page.content["statements"]
        return {
            "turns": page.content["turns"],
            "evidence": [statements[place]["evidence"] for place in arrangement.places],
        }

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """The label verifiers use."""
        return LabelValue(value, VALUES[value])

    def telling(self, name: str, language: str) -> dict[str, Any]:
        """A conversation that says what its statements are to be called."""
        said = [{"role": "user", "text": text(language, "attention.attributes")}]
        statements = [
            {"text": text(language, f"attention.statement.{place}"), "evidence": [0]} for place in range(2)
        ]
        return {
            "items": [f"{name}/{place}" for place in range(2)],
            "places": 2,
            "content": {"turns": said, "statements": statements, "conversation": name},
            "key": {f"{ATTRIBUTES}/{place}": "unsure" for place in range(2)},
        }
