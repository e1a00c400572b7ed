"""What a form is: how pages are made from a source, what is asked on them, and what an answer means.

Forms derive from the questions that models are asked (`QuestionForm`): a question says what a person can choose among and what their
answer means. Where `as_models` is set, people also read the sentences of the model's prompt, so that both are asked the same; what
else a form says comes from the catalogues, by the question's name. A kind of item without a form of its own gets
`KindForm`; one with a page of its own is a subclass here, a template of the same name, and guidelines in each language.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from personafit._errors import UserError
from personafit.items.reading import Part, Question, Shown
from personafit.label.records import Arrangement, Field, Option, Page, Role, StudyConfig
from personafit.label.sources import StudySource
from personafit.label.texts import ATTENTION, TEXTS, in_words, text

GUIDELINES = Path(__file__).parents[1] / "guidelines"
YES, NO = "yes", "no"
MOST_BUTTONS = 9  # each has a key of its own
LETTERS = "ABCDEFGHJ"
SAME_WORDS = "On the study's pages people read the instruction of the model's prompt: in English word for word, in Chinese translated."
OTHER_WORDS = "**People and models were instructed differently**: the study's guidelines are not the words of the model's prompt."
UNKNOWN_WORDS = "**People and models may have been instructed differently**: the study was made before guidelines were kept with it."


class LabelValue(NamedTuple):
    """The label and the value of an answer, as judgments store them."""

    label: str | None
    value: float | None


class LabelForm(ABC):
    """One kind of labelling page: what it asks, how it is shown, and how its answers become judgments."""

    name: str
    """As `--question` calls it."""
    kinds: tuple[str, ...]
    """Kinds of item it can ask about."""
    view: ClassVar[str] = "profile"
    """What raters see of the person, as asks call it; the same as for models where the two are to be compared."""
    perspective: ClassVar[str] = "third-party"
    """Whose view raters take."""
    listing: ClassVar[str] = ""
    """What of a page's content each question is asked of, where it is a list."""
    advances: ClassVar[bool] = False
    """Whether the next page comes by itself: where a page is one question, and its answer is all there is to it."""
    as_models: ClassVar[bool] = False
    """Whether people are instructed in the words of the model's prompt."""

    @property
    def template(self) -> str:
        """The template that shows a page."""
        return self.name

    @cached_property
    def guidelines(self) -> dict[str, str]:
        """What raters are told, in Markdown, by language: the instruction of the model's prompt where the form shares it,
        then the form's own page, or what holds for any question."""
        found = {}
        for language in TEXTS:
            own = GUIDELINES / f"{self.name}.{language}.md"
            path = own if own.is_file() else GUIDELINES / f"question.{language}.md"
            found[language] = "\n\n".join([*self.instruction(language), path.read_text(encoding="utf-8")])
        return found

    def instruction(self, language: str) -> list[str]:
        """The paragraphs of the model's prompt that people are shown too."""
        return []

    @property
    def heading(self) -> str:
        """The sentence that stands above a list of questions, where it is the model's."""
        return ""

    def told(self, config: StudyConfig, language: str) -> str:
        """What raters of a study are told: its own guidelines, or the form's as they were when the study was made."""
        return config.guidelines or config.told.get(language) or self.guidelines[language]

    def instructed(self, config: StudyConfig) -> str:
        """Whether a study told people the same as a model's prompt tells models, in the sentence that cards have."""
        if self.as_models and not config.guidelines and config.told == self.guidelines:
            return SAME_WORDS
        return OTHER_WORDS if config.guidelines or config.told else UNKNOWN_WORDS

    @abstractmethod
    def pages(self, source: StudySource) -> Iterator[Page]:
        """The pages of a study of this source."""

    @abstractmethod
    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """What is asked on a page, in the order shown."""

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """What the template gets: the page's texts in the order shown, and nothing that tells.

        It is without the list that the fields show, and has answers by letter.
        """
        hidden = (self.listing, "reasons")
        content = {name: value for name, value in page.content.items() if name not in hidden}
        if "answers" in content:
            letters = self.letters(page, arrangement)
            content["answers"] = [
                {"letter": letter, "text": content["answers"][side]}
                for letter, side in zip(letters, arrangement.sides, strict=False)
            ]
        return content

    def letters(self, page: Page, arrangement: Arrangement) -> Sequence[str]:
        """What the answers are called."""
        return LETTERS

    @abstractmethod
    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue | None:
        """What a rater's answer means once the order is undone; None for a written one that cannot be read."""

    def labels(self, page: Page, arrangement: Arrangement, field: Field) -> dict[str, str | None]:
        """The label of each option, by what the browser sends."""
        answers = [(one.value, self.answered(page, arrangement, field, one.value)) for one in field.options]
        return {value: answer.label for value, answer in answers if answer is not None}

    def attention(self, number: int, language: str) -> Page:
        """A page that says in its text what to answer."""
        name, told = f"attention/{self.name}/{number}", ATTENTION.get(self.name)
        if told is None:
            raise UserError(f"--attention: {self.name} has no pages that say what to answer.")
        listed = 0 if "targets" in told else told.get("places", 0)
        items = [f"{name}/{place}" for place in range(listed)] or [name]
        content = in_words(language, told["content"])
        return Page(**told | {"id": name, "role": Role.ATTENTION, "items": items, "content": content})

    def right(self, page: Page, field: Field) -> str | None:
        """The label that is right where the page has a key."""
        return page.key.get(key_name(field))

    def why(self, page: Page, field: Field) -> str:
        """Why it is right, for practice: what is known of the listed thing, or of the page."""
        reasons = page.content.get("reasons")
        return str((reasons[field.place] if reasons and field.place is not None else "") or page.why)

    def said_of(self, question: str, end: str) -> str:
        """The key of what the catalogues say of a question: for who rates their own, for the question, for all of its aspect."""
        own = [f"self.{question}{end}"] if self.perspective == "self" else []
        keys = [*own, f"{question}{end}", f"{question.partition('.')[0]}{end}"]
        return next((key for key in keys if key in TEXTS["en"]), "")

    def field(self, page: Page, question: str, options: list[Option], **more: Any) -> Field:
        """A field about the page's one item, with what the catalogues say of the question."""
        about = {"code": question, "item": page.items[0], "text": self.said_of(question, "")}
        return Field(question=question, options=options, **about | self._hints(question) | more)

    def listed(
        self,
        page: Page,
        arrangement: Arrangement,
        question: str,
        texts: Sequence[str],
        options: list[Option],
        cannot_tell: bool = True,
    ) -> list[Field]:
        """One field for each entry of a list, numbered in the order shown. Where a page is about one item, entries are its targets."""
        hints = self._hints(question)
        return [
            Field(
                code=f"{question}.{number}",
                question=question,
                item=page.items[0] if page.targets else page.items[place],
                target=page.targets[place] if page.targets else "",
                options=options,
                text=texts[place],
                cannot_tell=cannot_tell,
                place=place,
                **hints,
            )
            for number, place in enumerate(arrangement.places, 1)
        ]

    def _hints(self, question: str) -> dict[str, Any]:
        return {end: self.said_of(question, f".{end}") for end in ("hint", "low", "high")}


class QuestionForm(LabelForm):
    """A form that asks people what models are asked, and reads their answers as the question does."""

    asked: Sequence[Question]

    def instruction(self, language: str) -> list[str]:
        """That of the question: sentence by sentence from the prompt, and in other languages as the catalogue has them."""
        if not self.as_models:
            return []
        space = "" if language == "zh" else " "
        (question,) = self.asked
        paragraphs = [
            space.join(text(language, one) for one in sentences) for sentences in question.instruction
        ]
        return [f"- {one}" if re.match(r"\d[:：]", one) else one for one in paragraphs]

    @property
    def heading(self) -> str:
        """The question's, where people are asked in the model's words."""
        return self.asked[0].heading if self.as_models else ""

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """One for each question, or for each entry of the list."""
        found: list[Field] = []
        for question in self.asked:
            shown = _shown(question, page, arrangement, Part(page.items[0]))
            options = self.options(question, shown)
            if self.listing:
                found += self.listed(page, arrangement, question.name, page.content[self.listing], options)
                continue
            more: dict[str, Any] = {} if options else {"kind": "written", "hint": question.again(shown)}
            if self.heading:
                more["text"] = self.heading
            elif not self.said_of(question.name, ""):
                more["text"] = question.sought[:1].upper() + question.sought[1:]
            found.append(self.field(page, question.name, options, **more))
        return found

    def options(self, question: Question, shown: Shown) -> list[Option]:
        """The buttons of a question; none where its answer is written."""
        return buttons(question.choices(shown))

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue | None:
        question = next(one for one in self.asked if one.name == field.question)
        said = question.said(_shown(question, page, arrangement, Part(field.item, field.target)), value)
        return None if said is None else LabelValue(said.label, said.value)


def _shown(question: Question, page: Page, arrangement: Arrangement, part: Part) -> Shown:
    """What a rater has before them, as a question reads answers by it."""
    return Shown(
        question,
        page.id,
        "",
        page.person,
        str(page.content.get("prompt", "")),
        (part,),
        tuple(page.content.get("answers", ())),
        order=tuple(arrangement.sides),
    )


def key_name(field: Field) -> str:
    """What a page's key calls the field."""
    return field.question if field.place is None else f"{field.question}/{field.place}"


def buttons(choices: Sequence[str]) -> list[Option]:
    """A button for each choice, pressed by a mark itself, by y or n, or by its number; none where there are too many."""
    if len(choices) > MOST_BUTTONS:
        return []
    marks = all(len(choice) == 1 and choice in "123456789" for choice in choices)
    keys = {YES: "y", NO: "n"} if set(choices) == {YES, NO} else {}
    return [
        Option(value=choice, text=choice, key=keys.get(choice, choice if marks else str(number)))
        for number, choice in enumerate(choices, 1)
    ]
