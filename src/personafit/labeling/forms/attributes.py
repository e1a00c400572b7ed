"""Statements about a person against the conversation they are said to come from: supported, unsure, or not."""

from collections.abc import Iterator
from typing import Any

from personafit.labeling.forms.form import LabelForm, LabelValue, attention_id
from personafit.labeling.forms.listed import listed_fields
from personafit.labeling.records import Arrangement, Field, Option, Page, Role
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text
from personafit.stages.records import LABELS

QUESTION, MISSING = "attributes", "missing"
VALUES: dict[str, float] = dict(zip(LABELS, (1.0, 0.5, 0.0), strict=True))


class AttributesForm(LabelForm):
    """Asks of each statement whether the conversation supports it, and what is missing."""

    name = QUESTION
    kinds = ()
    view = "conversation"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each conversation about which something is stated."""
        for conversation, statements in source.stated():
            key = {
                f"{QUESTION}/{place}": one.label
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
        fields = listed_fields(page, arrangement, QUESTION, statements, options)
        missing = Field(
            code=MISSING,
            question=MISSING,
            item=page.content["conversation"],
            kind="text",
            required=False,
            text="attributes.missing",
            hint="attributes.missing.hint",
        )
        return [*(field.model_copy(update={"cannot_tell": False}) for field in fields), missing]

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

    def attention(self, number: int, language: str) -> Page:
        """A conversation that says what its statements are to be called."""
        name = attention_id(self.name, number)
        said = [{"role": "user", "text": text(language, "attention.attributes")}]
        statements = [
            {"text": text(language, f"attention.statement.{place}"), "evidence": [0]} for place in range(2)
        ]
        return Page(
            id=name,
            role=Role.ATTENTION,
            items=[f"{name}/{place}" for place in range(2)],
            places=2,
            content={"turns": said, "statements": statements, "conversation": name},
            key={f"{QUESTION}/{place}": "unsure" for place in range(2)},
        )
