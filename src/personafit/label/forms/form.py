"""Base classes of forms: how pages are made from a source, what is asked on them, and how answers are read.

Most forms derive from the questions that models are asked (`QuestionForm`): a question says what a person can choose from and what their
answer means. Where `as_models` is set, people also read the sentences of the model's prompt, so that both get the same instructions; other
wording comes from the text catalogues, by the question's name. A kind of item without a form of its own gets `KindForm`; one with its own
page is a subclass here, a template of the same name, and guidelines in each language.
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
MOST_BUTTONS = 9  # each has its own keyboard shortcut
LETTERS = "ABCDEFGHJ"
SAME_WORDS = "On the study's pages people read the instruction of the model's prompt: in English word for word, in Chinese translated."
OTHER_WORDS = "**People and models were instructed differently**: the study's guidelines are not the words of the model's prompt."
UNKNOWN_WORDS = "**People and models may have been instructed differently**: the study was made before guidelines were kept with it."


class LabelValue(NamedTuple):
    """The label and the value of an answer, as stored in judgments."""

    label: str | None
    value: float | None


class LabelForm(ABC):
    """A kind of labelling page: what it asks, how it is shown, and how its answers become judgments."""

    name: str
    """The name that `--question` takes."""
    kinds: tuple[str, ...]
    context: ClassVar[str] = "profile"
    """Context shown to raters, as named in asks; the same as for models if the two are to be compared."""
    perspective: ClassVar[str] = "third-party"
    listing: ClassVar[str] = ""
    """Key of the page content that lists what each question is asked about; empty if it is not a list."""
    advances: ClassVar[bool] = False
    """Whether the next page opens automatically after an answer, for pages with a single question."""
    as_models: ClassVar[bool] = False
    """Whether people get the instructions of the model's prompt."""

    @property
    def template(self) -> str:
        return self.name

    @cached_property
    def guidelines(self) -> dict[str, str]:
        """The guidelines for raters in Markdown, by language.

        They are the instruction of the model's prompt if the form shares it, then the form's own page, or else the general one.
        """
        found = {}
        for language in TEXTS:
            own = GUIDELINES / f"{self.name}.{language}.md"
            path = own if own.is_file() else GUIDELINES / f"question.{language}.md"
            found[language] = "\n\n".join([*self.instruction(language), path.read_text(encoding="utf-8")])
        return found

    def instruction(self, language: str) -> list[str]:
        """Return the paragraphs of the model's prompt that people are shown too."""
        return []

    @property
    def heading(self) -> str:
        """The sentence above a list of questions, if it is taken from the model's prompt."""
        return ""

    def told(self, config: StudyConfig, language: str) -> str:
        """Return the guidelines of a study: its own, or the form's as they were when the study was made."""
        return config.guidelines or config.told.get(language) or self.guidelines[language]

    def instructed(self, config: StudyConfig) -> str:
        """Return the card's sentence on whether the study gave people the same instructions as a model's prompt."""
        if self.as_models and not config.guidelines and config.told == self.guidelines:
            return SAME_WORDS
        return OTHER_WORDS if config.guidelines or config.told else UNKNOWN_WORDS

    @abstractmethod
    def pages(self, source: StudySource) -> Iterator[Page]:
        """Iterate over the pages of a study of this source."""

    @abstractmethod
    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """Return the fields of a page, in the order shown."""

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """Return the template's variables: the page's texts in the order shown, without anything that reveals the answer.

        The list that the fields show is left out, and answers are labelled by letter.
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
        return LETTERS

    @abstractmethod
    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue | None:
        """Return the label of a rater's answer with the order undone; None for a written answer that cannot be parsed."""

    def labels(self, page: Page, arrangement: Arrangement, field: Field) -> dict[str, str | None]:
        """Return the label of each option, by the value that the browser sends."""
        answers = [(one.value, self.answered(page, arrangement, field, one.value)) for one in field.options]
        return {value: answer.label for value, answer in answers if answer is not None}

    def attention(self, number: int, language: str) -> Page:
        name, told = f"attention/{self.name}/{number}", ATTENTION.get(self.name)
        if told is None:
            raise UserError(f"--attention: {self.name} has no pages that say what to answer.")
        listed = 0 if "targets" in told else told.get("places", 0)
        items = [f"{name}/{place}" for place in range(listed)] or [name]
        content = in_words(language, told["content"])
        return Page(**told | {"id": name, "role": Role.ATTENTION, "items": items, "content": content})

    def right(self, page: Page, field: Field) -> str | None:
        return page.key.get(key_name(field))

    def why(self, page: Page, field: Field) -> str:
        """Return why the right label is right, for practice: the reason for the listed entry, or for the page."""
        reasons = page.content.get("reasons")
        return str((reasons[field.place] if reasons and field.place is not None else "") or page.why)

    def said_of(self, question: str, end: str) -> str:
        """Return the catalogue key of a text about a question: for self-ratings, for the question, or for its whole aspect."""
        own = [f"self.{question}{end}"] if self.perspective == "self" else []
        keys = [*own, f"{question}{end}", f"{question.partition('.')[0]}{end}"]
        return next((key for key in keys if key in TEXTS["en"]), "")

    def field(self, page: Page, question: str, options: list[Option], **more: Any) -> Field:
        """Return a field about the page's one item, with the question's texts from the catalogues."""
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
        """Return a field for each entry of a list, numbered as shown. On a page about one item, entries are its targets."""
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
    """A form that asks people the questions that models are asked, and parses their answers the same way."""

    asked: Sequence[Question]

    def instruction(self, language: str) -> list[str]:
        """Return the question's instruction, sentence by sentence from the prompt; other languages come from the catalogue."""
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
        """The question's heading, if people get the model's instructions."""
        return self.asked[0].heading if self.as_models else ""

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
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
        """Return the buttons of a question; empty if its answer is written."""
        return buttons(question.choices(shown))

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue | None:
        question = next(one for one in self.asked if one.name == field.question)
        said = question.said(_shown(question, page, arrangement, Part(field.item, field.target)), value)
        return None if said is None else LabelValue(said.label, said.value)


def _shown(question: Question, page: Page, arrangement: Arrangement, part: Part) -> Shown:
    """Build the `Shown` by which a question reads a rater's answer."""
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
    """Return the name of a field in a page's key."""
    return field.question if field.place is None else f"{field.question}/{field.place}"


def buttons(choices: Sequence[str]) -> list[Option]:
    """Return a button for each choice, with a digit choice, y or n, or its number as shortcut; empty if there are too many."""
    if len(choices) > MOST_BUTTONS:
        return []
    marks = all(len(choice) == 1 and choice in "123456789" for choice in choices)
    keys = {YES: "y", NO: "n"} if set(choices) == {YES, NO} else {}
    return [
        Option(
            value=choice, text=choice, plain=not keys, key=keys.get(choice, choice if marks else str(number))
        )
        for number, choice in enumerate(choices, 1)
    ]
