"""The forms: best of several answers, relevance and preference of attributes, dialogues, grades, statements, screening, any other kind.

Dialogues are rated by others, or held by the rater and then rated by themselves. The questions are those that judges are asked, under the
same names and on the same scales, so that votes and judgments can be compared. Only people are asked for grades of one answer, about
statements and the conversation they come from, and what to keep of a build.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from personafit._errors import UserError
from personafit.extract.records import LABELS
from personafit.items.choice import FIT
from personafit.items.dialogue import DIALOGUE_QUESTIONS, DialogueQuestion
from personafit.items.preference import PREFER, PREFERENCE
from personafit.items.reading import Question, Shown
from personafit.items.relevance import PAIR, RELEVANCE, list_name
from personafit.label.forms.form import MOST_BUTTONS, NO, YES, LabelForm, LabelValue, QuestionForm, buttons
from personafit.label.records import Arrangement, Field, Option, Page
from personafit.label.sources import SCREEN, Gold, StudySource
from personafit.simulate.records import DIALOGUE
from personafit.store import Item

if TYPE_CHECKING:
    from personafit.kinds import Kind

MOST_LISTED = 40  # per page; a longer list is split into pages
ASKED = tuple(question for question in DIALOGUE_QUESTIONS if not question.by_turn)
NOT_OF_ONESELF = "coherence.user"
GRADES = tuple("1234567")
GRADED = ("grade.fit", "grade.helpful")
ATTRIBUTES, MISSING = "attributes", "missing"
SCREENED = ("screen.person", "screen.question")
REASON = "screen.reason"
VALUES: dict[str, float] = {"keep": 1.0, "drop": 0.0} | dict(zip(LABELS, (1.0, 0.5, 0.0), strict=True))


class AnswersForm(QuestionForm):
    """Asks a question about the answers of an item, shown beside the person's profile."""

    most = MOST_BUTTONS
    """Maximum number of answers on a page."""

    def pages(self, source: StudySource) -> Iterator[Page]:
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
                key={} if gold.label is None else {self.asked[0].name: gold.label},
                why=gold.reason or self.reason(item),
            )

    def reason(self, item: Item) -> str:
        """Return why the gold answer is right if the gold itself does not say."""
        return ""


class KindForm(AnswersForm):
    """The default form of a kind of item: person, prompt and answers, with the kind's questions."""

    def __init__(self, kind: "Kind") -> None:
        self.name, self.kinds, self.asked = kind.name, (kind.name,), kind.asks.asked

    @property
    def template(self) -> str:
        return ChoiceForm.name

    def said_of(self, question: str, end: str) -> str:
        """Return no text: the catalogues are about personafit's own questions, whose names a package may use too."""
        return ""

    def letters(self, page: Page, arrangement: Arrangement) -> Sequence[str]:
        """Return the values of the buttons if there is one per answer, otherwise numbers."""
        chosen = [option.value for option in self.fields(page, arrangement)[0].options]
        return chosen if len(chosen) == page.sides else [str(number) for number in range(1, page.sides + 1)]


class ChoiceForm(AnswersForm):
    """Asks which of two to four answers fits the person best."""

    name = "fit"
    kinds = ("choice",)
    asked = (FIT,)
    as_models = True
    advances = True
    most = 4

    def reason(self, item: Item) -> str:
        """Return the text key of what is wrong with the rejected answer."""
        return f"why.{item.slices.get('reject', 'fit')}"

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue | None:
        """Return the index of the chosen answer; for a pair also its value on the scale."""
        said = super().answered(page, arrangement, field, value)
        return said if said is None or page.sides == 2 else said._replace(value=None)


class RelevanceForm(QuestionForm):
    """Asks for each attribute whether knowing it should change the response."""

    name = RELEVANCE
    kinds = ("relevance",)
    asked = (PAIR,)
    as_models = True
    listing = "attributes"
    context = "none"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """Iterate over pages, one for each list of attributes of one person shown with one prompt; long lists are split."""
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


class PreferenceForm(QuestionForm):
    """Asks for a rating from A to B for each attribute; the stored value runs from generic to personalized."""

    name = PREFERENCE
    kinds = ("preference",)
    asked = (PREFER,)
    as_models = True
    listing = "attributes"
    context = "attributes"

    def pages(self, source: StudySource) -> Iterator[Page]:
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


class DialogueForm(QuestionForm):
    """Asks the judges' questions about a whole dialogue: task completion, personalization, naturalness and coherence."""

    name = "dialogue"
    kinds: tuple[str, ...] = ("dialogue",)
    asked = ASKED
    context = "given"

    def pages(self, source: StudySource) -> Iterator[Page]:
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
                    "known": source.text(dialogue.system_context_id),
                    "turns": turns,
                },
            )

    def options(self, question: Question, shown: Shown) -> list[Option]:
        """Return the ratings; yes and no if they are 1 and 0."""
        if isinstance(question, DialogueQuestion) and question.truth:
            return [Option(value="1", text=YES, key="y"), Option(value="0", text=NO, key="n")]
        return super().options(question, shown)


class ChatForm(DialogueForm):
    """A participant chats with a model about a given task or a topic of their own, and rates the dialogue.

    People are asked how natural their own side was, but not how coherent.
    """

    name = "chat"
    kinds = ("task",)
    asked = tuple(question for question in ASKED if question.name != NOT_OF_ONESELF)
    context = "self"
    perspective = "self"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """Iterate over pages, one for each task; every participant has a dialogue of their own on it."""
        for name, task in source.chat_tasks():
            yield Page(id=name, items=[name], makes=DIALOGUE, content={"task": task})

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """Return the questions about the rater's own dialogue."""
        item = arrangement.own or page.items[0]
        return [field.model_copy(update={"item": item}) for field in super().fields(page, arrangement)]


class GradeForm(LabelForm):
    """Asks for two grades of one answer: how well it fits the person, and how helpful it is."""

    name = "grade"
    kinds = ("choice",)

    def pages(self, source: StudySource) -> Iterator[Page]:
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
        options = buttons(GRADES)
        return [self.field(page, question, options, target=page.targets[0]) for question in GRADED]

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        return LabelValue(value, float(value))


class AttributesForm(LabelForm):
    """Asks for each statement whether the conversation supports it, and what is missing."""

    name = ATTRIBUTES
    kinds = ()
    context = "conversation"

    def pages(self, source: StudySource) -> Iterator[Page]:
        for conversation, statements, others, left_out in source.stated():
            known = [(f"{ATTRIBUTES}/{place}", one.label) for place, one in enumerate(statements)]
            yield Page(
                id=conversation.id,
                person=conversation.person,
                items=[one.id for one in statements],
                places=len(statements),
                content={
                    "turns": [turn.model_dump() for turn in conversation.turns],
                    "statements": [
                        {"text": one.text, "evidence": one.evidence, "why": one.why} for one in statements
                    ],
                    "conversation": conversation.id,
                    "others": [[turn.model_dump() for turn in other.turns] for other in others],
                    "left_out": left_out,
                    "reasons": [one.reason for one in statements],
                },
                key={name: label for name, label in known if label is not None},
            )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """Return a field for each statement, and a text box for what is missing."""
        options = [
            Option(value=label, text=f"attributes.{label}", key=str(number))
            for number, label in enumerate(LABELS, 1)
        ]
        statements = [one["text"] for one in page.content["statements"]]
        fields = self.listed(page, arrangement, ATTRIBUTES, statements, options, cannot_tell=False)
        missing = Field(
            code=MISSING,
            question=MISSING,
            item=page.content.get("conversation", page.id),
            kind="text",
            required=False,
            text="attributes.missing",
            hint="attributes.missing.hint",
        )
        return [*fields, missing]

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """Return the turns of this and the person's other conversations, and for each field the turns it points to."""
        statements = page.content["statements"]
        whys = [statements[place].get("why", "") for place in arrangement.places]
        return {
            "turns": page.content["turns"],
            "others": page.content.get("others", []),
            "left_out": page.content.get("left_out", 0),
            "evidence": [statements[place]["evidence"] for place in arrangement.places],
            "whys": whys if any(whys) else [],
        }

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        return LabelValue(value, VALUES[value])


class ScreenForm(LabelForm):
    """Asks whether to keep a person that a build made and each of their questions, and why not."""

    name = SCREEN
    kinds = ()
    listing = "questions"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """Iterate over pages, one for each person; a long list of questions continues on further pages."""
        for one in source.queue:
            keys = list(one.questions)
            for start in range(0, max(1, len(keys)), MOST_LISTED):
                part = keys[start : start + MOST_LISTED]
                yield Page(
                    id=f"{one.id}/{start}" if start else one.id,
                    person=one.id,
                    items=part if start else [*part, one.id],
                    places=len(part),
                    content={"profile": one.profile, "questions": [one.questions[key] for key in part]},
                )

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        options = [
            Option(value=value, text=f"{SCREEN}.{value}", key=str(number))
            for number, value in enumerate(("keep", "drop"), 1)
        ]
        person, question = SCREENED
        asked = self.listed(page, arrangement, question, page.content["questions"], options)
        if len(page.items) > page.places:
            asked.insert(0, self.field(page, person, options, item=page.items[-1]))
        return [field for one in asked for field in (one, _reason(one))]

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        return LabelValue(value, VALUES[value])


def _reason(field: Field) -> Field:
    more = {"code": f"{REASON}.{field.code}", "question": REASON, "kind": "text", "text": REASON}
    return field.model_copy(update=more | {"options": [], "required": False, "place": None, "hint": ""})


def _attributes(
    question: str, content: dict[str, Any], attributes: list[str], gold: Sequence[Gold]
) -> dict[str, Any]:
    """Return content and key of a page that lists attributes, with the gold of each."""
    labels = {f"{question}/{place}": one.label for place, one in enumerate(gold) if one.label is not None}
    reasons = [one.reason for one in gold]
    return {"content": content | {"attributes": attributes, "reasons": reasons}, "key": labels}
