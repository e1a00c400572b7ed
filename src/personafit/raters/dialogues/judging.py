"""Turning dialogues × judges × questions into lanes of keyed jobs.

A dialogue that did not run to an end of its own is put before nobody: its asks are `skipped`, with the reason, and count
against coverage like everything that has no answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Protocol

from personafit.engine import Job, Lane
from personafit.items.dialogue import Dialogue
from personafit.items.dialogue_questions import (
    DIALOGUE_QUESTIONS,
    DialogueQuestion,
    ShownDialogue,
    View,
)
from personafit.people import Person, render_person, select_facets
from personafit.raters.asking import rating_job, rating_key
from personafit.raters.lanes import rater_lane
from personafit.raters.prompted import PromptedRater
from personafit.raters.rater import Verdict
from personafit.store import Product, Status, Store

DialogueJudge = PromptedRater[ShownDialogue]
"""Who judges dialogues; the questions are those of the plan."""

PAGE = 100  # dialogues whose contexts are read together
USUAL_TOKENS = 60  # of a reply: a sentence and a mark


class Dialogues(Protocol):
    """Dialogues that can be counted, and gone through as often as there are judges."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Dialogue]: ...


@dataclass(frozen=True)
class DialogueJudging:
    """What is to be judged and how: everything that decides which jobs there are."""

    store: Store
    dialogues: Dialogues
    """Those that will not change any more."""
    people: Mapping[str, Person]
    views: Sequence[View] = ("given",)
    questions: Sequence[DialogueQuestion] = DIALOGUE_QUESTIONS

    def asks(self, judge: DialogueJudge) -> Iterator[tuple[ShownDialogue, DialogueQuestion, str | None]]:
        """Everything a judge is to be shown, in the order of work, with the id of what is shown as known."""
        for dialogue, given in self._with_given():
            person = self.people[dialogue.person]
            preferences = render_person(person, select_facets(person.facets, dialogue.task.preferences))
            for view in self.views:
                known = given if view == "given" else everything(person, dialogue)
                context = dialogue.context if view == "given" else self._kept(known, person)
                samples = [ShownDialogue(dialogue, view, known, preferences, n) for n in range(judge.samples)]
                for question in self.questions:
                    if view != self.views[0] and "known" not in question.needs:
                        continue  # what it shows is the same under every view
                    for shown in samples:
                        yield shown, question, context if "known" in question.needs else None

    def _with_given(self) -> Iterator[tuple[Dialogue, str]]:
        """The dialogues with what the assistant was told, looked up a page at a time."""
        dialogues = iter(self.dialogues)
        while page := list(islice(dialogues, PAGE)):
            told = self.store.texts({dialogue.context for dialogue in page})
            for dialogue in page:
                yield dialogue, told.get(dialogue.context, "")

    def _kept(self, text: str, person: Person) -> str:
        product = Product(kind="context", text=text, maker="full", about=person.id)
        self.store.add_products([product])
        return product.id

    def count(self, judge: DialogueJudge) -> int:
        """How many asks a judge gets."""
        known = sum("known" in question.needs for question in self.questions)
        each = (len(self.questions) + known * (len(self.views) - 1)) * judge.samples
        return each * len(self.dialogues)


def dialogue_lanes(
    store: Store,
    dialogues: Dialogues,
    judges: Sequence[DialogueJudge],
    people: Mapping[str, Person],
    views: Sequence[View] = ("given",),
) -> list[Lane]:
    """One lane per judge, over all dialogues and questions."""
    judging = DialogueJudging(store, dialogues, people, views)
    return [
        rater_lane(
            judge,
            _jobs(judging, judge),
            judging.count(judge),
            (judge.request(shown, question) for shown, question, _ in judging.asks(judge)),
            lambda _: USUAL_TOKENS,
        )
        for judge in judges
    ]


def _jobs(judging: DialogueJudging, judge: DialogueJudge) -> Iterator[Job]:
    return (dialogue_job(judge, *ask) for ask in judging.asks(judge))


def dialogue_job(
    judge: DialogueJudge, shown: ShownDialogue, question: DialogueQuestion, context: str | None
) -> Job:
    """The job that puts one question about one dialogue before one judge."""
    dialogue = shown.dialogue
    key = rating_key(
        item=dialogue.id,
        content=dialogue.content,
        question=question.name,
        instrument=question.fingerprint,
        rater=judge.record.fingerprint,
        view=shown.view,
        context=context,
        sample=shown.sample,
    )
    if dialogue.stop.whole:
        return rating_job(key, partial(judge.rate, shown, question))
    return rating_job(key, partial(_skip, dialogue))


async def _skip(dialogue: Dialogue) -> Verdict:
    reason = dialogue.detail or "it has no end of its own"
    return Verdict(status=Status.SKIPPED, detail=f"the dialogue ended as {dialogue.stop}: {reason}", calls=0)


def everything(person: Person, dialogue: Dialogue) -> str:
    """All there is to know about a person for a task: what the full view shows."""
    wanted = [
        path for path in person.facets if path.partition(".")[0] in ("Demographics", *dialogue.task.domains)
    ]
    parts = [render_person(person, {path: person.facets[path] for path in wanted})]
    history = {
        domain: person.summaries[domain] for domain in dialogue.task.domains if domain in person.summaries
    }
    if history:
        parts.append(
            "\n".join(["Earlier conversations:", *(f"  {name}: {text}" for name, text in history.items())])
        )
    if dialogue.task.situation:
        parts.append("\n".join(["Situation:", *(f"  {k}: {v}" for k, v in dialogue.task.situation.items())]))
    return "\n\n".join(part for part in parts if part)


__all__ = ["DialogueJudge", "DialogueJudging", "Dialogues", "dialogue_job", "dialogue_lanes", "everything"]
