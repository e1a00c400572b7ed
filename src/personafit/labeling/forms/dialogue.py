"""A dialogue: whether it got done, how personal the help was, and how natural and coherent both sides are.

The questions are those that judges are asked, under the same names and on the same scales, so that votes and judgments meet.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from personafit.items.dialogue_questions import DIALOGUE_QUESTIONS, DialogueQuestion
from personafit.labeling.forms.form import LabelForm, LabelValue, attention_id, scale, yes_no
from personafit.labeling.records import Arrangement, Field, Page, Role
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text

ASKED = tuple(question for question in DIALOGUE_QUESTIONS if not question.by_turn)


class DialogueForm(LabelForm):
    """Asks the judges' questions about a whole dialogue."""

    name = "dialogue"
    kinds = ("dialogue",)
    view = "given"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each dialogue of the run that ran to an end of its own."""
        for dialogue in source.dialogues():
            turns = [{"role": turn.role, "text": turn.text} for turn in dialogue.turns]
            if dialogue.closing:
                turns.append({"role": "user", "text": dialogue.closing})
            yield Page(
                id=dialogue.id,
                person=dialogue.person,
                items=[dialogue.id],
                content={
                    "goal": dialogue.task.goal,
                    "preferences": source.preferences(dialogue),
                    "known": source.text(dialogue.context),
                    "turns": turns,
                },
            )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """Completion, personalization, and naturalness and coherence of each side."""
        return dialogue_fields(page.items[0], ASKED)

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """What the person wanted, what the assistant could know, and what was said."""
        return dict(page.content)

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """The mark."""
        return LabelValue(value, float(value))

    def attention(self, number: int, language: str) -> Page:
        """A dialogue that says what it is to be given."""
        name = attention_id(self.name, number)
        said = [
            {"role": "user", "text": text(language, "attention.read")},
            {"role": "assistant", "text": text(language, "attention.dialogue")},
        ]
        content = {"goal": text(language, "attention.read"), "preferences": "", "known": "", "turns": said}
        key = {question.name: str(question.low) for question in ASKED}
        return Page(id=name, role=Role.ATTENTION, items=[name], content=content, key=key)


def dialogue_fields(item: str, questions: Sequence[DialogueQuestion]) -> list[Field]:
    """The questions as fields."""
    return [
        Field(
            code=question.name,
            question=question.name,
            item=item,
            options=yes_no("1", "0") if question.truth else scale(question.low, question.high),
            text=question.name,
            hint=f"{aspect}.hint",
            low=f"{aspect}.low" if "." in question.name else "",
            high=f"{aspect}.high" if "." in question.name else "",
        )
        for question in questions
        for aspect in [question.name.partition(".")[0]]
    ]
