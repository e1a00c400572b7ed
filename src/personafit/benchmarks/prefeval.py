"""PrefEval (arXiv 2502.09597), multiple choice: which of four answers follows the person's stated preference.

Reads `benchmark_dataset/` as on GitHub: `mcq_options/TOPIC.json` with four answers, the first of which is right, and the conversations that
imply the preference, `implicit_preference/{choice-based,persona-driven}/TOPIC.json`, with the same preferences entry by entry. Each
preference is one person; the forms in which it is expressed are that person's histories. The stated form is the wording in `mcq_options`,
which the authors' classification code uses; `explicit_preference/` lacks the word "absolutely" in 30 of 1,000.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

from pydantic import Field

from personafit._errors import UserError
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice, said
from personafit.benchmarks.lines import FilledText, PublishedLine, read_entries, validated
from personafit.benchmarks.published import not_found, published_info
from personafit.people import Memory, Person

EXPLICIT = "explicit"
IMPLICIT = {"choice": "choice-based", "persona": "persona-driven"}
ANSWERS = 4


class _ChoiceLine(PublishedLine):
    preference: FilledText
    question: FilledText
    classification_task_options: list[FilledText] = Field(min_length=ANSWERS, max_length=ANSWERS)


class _Selection(PublishedLine):
    query: FilledText
    assistant_options: FilledText
    user_selection: FilledText
    assistant_acknowledgment: FilledText


class _ChoiceTalk(PublishedLine):
    conversation: _Selection


class _Exchange(PublishedLine):
    user: FilledText
    assistant: FilledText


class _PersonaTalk(PublishedLine):
    conversation: dict[str, _Exchange | None] = Field(min_length=1)
    """Exchanges by name; copies converted to a table have null for exchanges that do not exist."""


class PrefEval(ChoiceBenchmark):
    """The multiple-choice part of PrefEval."""

    info = published_info("prefeval")

    def __init__(self, folder: Path) -> None:
        inner = folder / "benchmark_dataset"
        self._folder = inner if inner.is_dir() else folder
        files = sorted((self._folder / "mcq_options").glob("[!.]*.json"))
        self._files = [path for path in files if not path.stem.endswith(" copy")]
        self._copies = len(files) - len(self._files)
        if not self._files:
            raise not_found("prefeval", folder)

    def people(self) -> Iterator[Person]:
        for person, _ in self._read:
            yield person

    def read(self) -> Iterator[MultipleChoice]:
        for _, choices in self._read:
            yield from choices

    def remarks(self) -> list[str]:
        notes = []
        for form, folder in IMPLICIT.items():
            lacking = [path.stem for path in self._files if not self._talks(folder, path.name).is_file()]
            if lacking:
                notes.append(
                    f"The form '{form}' is missing for {len(lacking)} of {len(self._files)} topics, such as {lacking[0]}: there the "
                    "preferences are not asked about in this form."
                )
        if self._copies:
            notes.append(f"{self._copies} files called '… copy' repeat another and are left out.")
        return [
            *notes,
            "Nothing stands between preference and question here, as in the published scores shown beside these; those with turns between "
            "them, and those of the generation task, are of other tasks. There the model first replied to the preference.",
        ]

    @cached_property
    def _read(self) -> list[tuple[Person, list[MultipleChoice]]]:
        return [one for path in self._files for one in self._topic(path)]

    def _topic(self, path: Path) -> Iterator[tuple[Person, list[MultipleChoice]]]:
        told = {form: self._told(folder, path.name) for form, folder in IMPLICIT.items()}
        for number, (place, row) in enumerate(read_entries(path)):
            line = validated(_ChoiceLine, row, place, None)
            preference, answers = line.preference, line.classification_task_options
            histories = {EXPLICIT: said([("user", preference)], EXPLICIT)}
            for form, entries in told.items():
                if entries is not None:
                    histories[form] = _matching(entries, number, line, form, place)
            person = Person(
                id=f"{path.stem}/{number + 1}",
                language="en",
                facets={"Preference": preference},
                memories=[memory for history in histories.values() for memory in history],
            )
            choices = [
                MultipleChoice(
                    id=f"prefeval/{person.id}/{form}",
                    person=person.id,
                    prompt=line.question,
                    right=answers[0],
                    wrong=tuple(answers[1:]),
                    slices={"form": form, "topic": path.stem, "history": form},
                )
                for form in histories
            ]
            yield person, choices

    def _told(self, folder: str, name: str) -> list[tuple[str, dict[str, Any]]] | None:
        path = self._talks(folder, name)
        return list(read_entries(path)) if path.is_file() else None

    def _talks(self, folder: str, name: str) -> Path:
        return self._folder / "implicit_preference" / folder / name


def _matching(
    entries: list[tuple[str, dict[str, Any]]], number: int, line: _ChoiceLine, form: str, place: str
) -> list[Memory]:
    """Return the conversation that implies the preference: that of the same number or, in files cut or sorted otherwise, of the same texts."""
    found = entries[number : number + 1]
    if not found or _bare(found[0][1].get("preference")) != _bare(line.preference):
        asked = _bare(line.preference), _bare(line.question)
        found = [
            one
            for one in entries
            if (_bare(one[1].get("preference")), _bare(one[1].get("question"))) == asked
        ]
    if not found:
        raise UserError(
            f"{place}: the preference is not in implicit_preference/{IMPLICIT[form]}; take both files from one copy."
        )
    where, row = found[0]
    if form == "choice":
        one = validated(_ChoiceTalk, row, where, None).conversation
        texts = [one.query, one.assistant_options, one.user_selection, one.assistant_acknowledgment]
    else:
        turns = validated(_PersonaTalk, row, where, None).conversation.values()
        texts = [text for turn in turns if turn is not None for text in (turn.user, turn.assistant)]
    if not texts:
        raise UserError(f"{where}, field 'conversation' has no turns.")
    return said(zip(cycle(("user", "assistant")), texts, strict=False), form)


def _bare(text: object) -> str:
    return " ".join(str(text).strip(" \"'").split())
