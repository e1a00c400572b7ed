"""Dialogues: judged by others, or held by the rater and then judged by themselves.

The questions are those that judges are asked, under the same names and on the same scales, so that votes and judgments meet.
"""

from collections.abc import Iterator

from personafit.items.dialogue_questions import DIALOGUE_QUESTIONS, DialogueQuestion
from personafit.items.reading import Question, Shown
from personafit.labeling.forms.form import NO, YES, QuestionForm, attention_id
from personafit.labeling.records import Arrangement, Field, Option, Page, Role
from personafit.labeling.sources import StudySource
from personafit.labeling.texts import text
from personafit.simulate.records import DIALOGUE

ASKED = tuple(question for question in DIALOGUE_QUESTIONS if not question.by_turn)
NOT_OF_ONESELF = "coherence.user"


class DialogueForm(QuestionForm):
    """Asks the judges' questions about a whole dialogue: whether it got done, how personal the help was, how natural and coherent."""

    name = "dialogue"
    kinds: tuple[str, ...] = ("dialogue",)
    asked = ASKED
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

    def options(self, question: Question, shown: Shown) -> list[Option]:
        """The marks; yes and no where they are 1 and 0."""
        if isinstance(question, DialogueQuestion) and question.truth:
            return [Option(value="1", text=YES, key="y"), Option(value="0", text=NO, key="n")]
        return super().options(question, shown)

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


class ChatForm(DialogueForm):
    """A participant talks with a model about a matter of their own or a given task, and rates their own dialogue.

    Of their own side people are asked how natural it was, not how coherent.
    """

    name = "chat"
    kinds = ("task",)
    asked = tuple(question for question in ASKED if question.name != NOT_OF_ONESELF)
    view = "self"
    perspective = "self"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each task; every participant has a dialogue of their own on it."""
        for name, task in source.chat_tasks():
            yield Page(id=name, items=[name], makes=DIALOGUE, content={"task": task})

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """The questions about the rater's own dialogue."""
        item = arrangement.own or page.items[0]
        return [field.model_copy(update={"item": item}) for field in super().fields(page, arrangement)]

    def attention(self, number: int, language: str) -> Page:
        """None: a chat is the participant's own."""
        return super(DialogueForm, self).attention(number, language)
