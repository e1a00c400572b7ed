"""Forms of items: the best of several answers, which attributes matter, which answer each attribute prefers, dialogues, any other kind.

Dialogues are judged by others, or held by the rater and then judged by themselves. The questions are those that judges are asked, under
the same names and on the same scales, so that votes and judgments meet.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from personafit._errors import UserError
from personafit.items.choice import FIT
from personafit.items.dialogue import DIALOGUE_QUESTIONS, DialogueQuestion
from personafit.items.preference import MIDDLE, PREFER, PREFERENCE
from personafit.items.reading import Question, Shown
from personafit.items.relevance import PAIR, RELEVANCE, list_name
from personafit.labeling.forms.form import MOST_BUTTONS, NO, YES, LabelValue, QuestionForm
from personafit.labeling.records import Arrangement, Field, Option, Page
from personafit.labeling.sources import Gold, StudySource
from personafit.labeling.texts import text
from personafit.simulate.records import DIALOGUE
from personafit.store import Item

if TYPE_CHECKING:
    from personafit.kinds import Kind

MOST_LISTED = 40  # on one page; a longer list is cut into pages
ASKED = tuple(question for question in DIALOGUE_QUESTIONS if not question.by_turn)
NOT_OF_ONESELF = "coherence.user"


class AnswersForm(QuestionForm):
    """Asks a question about the answers of an item, beside the person's profile."""

    most = MOST_BUTTONS
    """Answers on a page."""

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each item."""
        for item in source.items(self.kinds):
            if len(item.products) > self.most:
                raise UserError(
                    f"{item.id} has {len(item.products)} answers; a page shows {self.most} at most."
                )
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
                key={self.asked[0].name: gold.label} if gold is not None and gold.label is not None else {},
                why=gold.reason if gold is not None and gold.reason else self.reason(item),
            )

    def reason(self, item: Item) -> str:
        """Why the gold answer is right where gold does not say."""
        return ""


class KindForm(AnswersForm):
    """What any kind of item has for nothing: person, prompt and answers, and the questions of the kind."""

    def __init__(self, kind: "Kind") -> None:
        self.name, self.kinds, self.asked = kind.name, (kind.name,), kind.asks.asked

    @property
    def template(self) -> str:
        """That of choices."""
        return ChoiceForm.name

    def letters(self, page: Page, arrangement: Arrangement) -> Sequence[str]:
        """What the buttons call them, or numbers."""
        chosen = [option.value for option in self.fields(page, arrangement)[0].options]
        return chosen if len(chosen) == page.sides else [str(number) for number in range(1, page.sides + 1)]


class ChoiceForm(AnswersForm):
    """Asks which of two to four answers fits the person best."""

    name = "fit"
    kinds = ("choice",)
    asked = (FIT,)
    advances = True
    most = 4

    def reason(self, item: Item) -> str:
        """What is wrong with the answer that was rejected."""
        return f"why.{item.slices.get('reject', 'fit')}"

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue | None:
        """The chosen answer's index; for a pair also which way the scale tips."""
        said = super().answered(page, arrangement, field, value)
        return said if said is None or page.sides == 2 else said._replace(value=None)

    def telling(self, name: str, language: str) -> dict[str, Any]:
        """Two answers, one of which says that it is to be chosen."""
        content = {
            "profile": text(language, "attention.person"),
            "prompt": text(language, "attention.read"),
            "answers": [text(language, "attention.this"), text(language, "attention.other")],
        }
        return {"sides": 2, "content": content, "key": {"fit": "0"}}


class RelevanceForm(QuestionForm):
    """Asks of each attribute whether knowing it should change the reply."""

    name = RELEVANCE
    kinds = ("relevance",)
    asked = (PAIR,)
    listing = "attributes"
    view = "none"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each list: the attributes of one person that stand beside one prompt."""
        lists: dict[str, list[Item]] = {}
        for item in source.items(self.kinds):
            lists.setdefault(list_name(item.group, item.person), []).append(item)
        for name, members in lists.items():
            for start in range(0, len(members), MOST_LISTED):
                part = members[start : start + MOST_LISTED]
                yield Page(
                    id=name if start == 0 else f"{name}/{start}",
                    person=part[0].person,
                    items=[item.id for item in part],
                    places=len(part),
                    **_attributes(
                        RELEVANCE,
                        {"prompt": part[0].prompt},
                        [source.text(item.products[0]) for item in part],
                        [source.gold(item.id) for item in part],
                    ),
                )

    def telling(self, name: str, language: str) -> dict[str, Any]:
        """A prompt that says what to answer."""
        content = {"prompt": text(language, "attention.no")}
        items = [f"{name}/{place}" for place in range(2)]
        return {"items": items, "places": 2, **_told(RELEVANCE, content, NO, language)}


class PreferenceForm(QuestionForm):
    """Asks for a mark from A to B for each attribute; stored, it runs from generic to personalized."""

    name = PREFERENCE
    kinds = ("preference",)
    asked = (PREFER,)
    listing = "attributes"
    view = "attributes"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each pair."""
        for item in source.items(self.kinds):
            generic, personal, *rest = item.products
            targets = list(dict.fromkeys(rest))
            yield Page(
                id=item.id,
                person=item.person,
                items=[item.id],
                sides=2,
                places=len(targets),
                targets=targets,
                **_attributes(
                    PREFERENCE,
                    {"prompt": item.prompt, "answers": [source.text(generic), source.text(personal)]},
                    [source.text(target) for target in targets],
                    [source.gold(item.id, target) for target in targets],
                ),
            )

    def telling(self, name: str, language: str) -> dict[str, Any]:
        """Answers that say which mark to give: the middle, which is the same from either side."""
        said = text(language, "attention.mark", mark=MIDDLE)
        content = {"prompt": text(language, "attention.read"), "answers": [said, said]}
        told = _told(PREFERENCE, content, str(MIDDLE), language)
        return {"sides": 2, "places": 2, "targets": ["0", "1"], **told}


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

    def telling(self, name: str, language: str) -> dict[str, Any]:
        """A dialogue that says what it is to be given."""
        said = [
            {"role": "user", "text": text(language, "attention.read")},
            {"role": "assistant", "text": text(language, "attention.dialogue")},
        ]
        content = {"goal": text(language, "attention.read"), "preferences": "", "known": "", "turns": said}
        return {"content": content, "key": {question.name: str(question.low) for question in ASKED}}


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

    def telling(self, name: str, language: str) -> dict[str, Any]:
        """None: a chat is the participant's own."""
        return {}


def _told(question: str, content: dict[str, Any], right: str, language: str) -> dict[str, Any]:
    """Content and key of a page that lists two attributes and says what to answer to both."""
    statements = [text(language, f"attention.statement.{place}") for place in range(2)]
    return _attributes(question, content, statements, [Gold(right, None)] * 2)


def _attributes(
    question: str, content: dict[str, Any], attributes: list[str], gold: Sequence[Gold | None]
) -> dict[str, Any]:
    """Content and key of a page that lists attributes, with what is known of each."""
    reasons = [one.reason if one is not None else None for one in gold]
    labels = {f"{question}/{place}": one.label for place, one in enumerate(gold) if one is not None}
    return {
        "content": content | {"attributes": attributes, "reasons": reasons},
        "key": {name: label for name, label in labels.items() if label is not None},
    }
