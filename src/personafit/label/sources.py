"""Where a study's pages come from: a benchmark, or what a run made and judged, narrowed to a sample if asked.

Everything is read from the store, where it is under the ids that judgments use, so that votes and models' judgments meet.
Statements about people stand beside the conversations they are said to come from: a benchmark's authors state what is true, the starter
set adds what only seems so, and `personafit extract run` what an extractor found. Every statement points to some turn: one that points
nowhere would give itself away, so it gets the turn most like it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import orjson
from sqlalchemy import select

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.benchmarks import FolderBenchmark, ingest, open_benchmark
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.extract.records import Label, StageFile, before_refinement
from personafit.items.dialogue import Dialogue
from personafit.people import Conversation, Person, Turn, render_person, select_facets
from personafit.simulate.records import dialogues
from personafit.store import Item, RunRecord, Store, tables

OWN_MATTER = "own"
TRAPS = "traps.jsonl"
SHOWN = ("user", "assistant")
_WORDS = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]")


class Gold(NamedTuple):
    """What is known to be right, and why where that is known too."""

    label: str | None = None
    reason: str = ""


class Statement(NamedTuple):
    """One thing said about a person."""

    id: str
    text: str
    evidence: list[int]
    """Turns of the conversation, from 0."""
    label: Label | None
    """What is known of it, where something is."""
    reason: str = ""
    """Why, as a key of the interface's texts."""


Stated = tuple[Conversation, list[Statement]]


@dataclass
class StudySource:
    """Items with their people, products and conversations, from which a study's pages are made."""

    store: Store
    dataset: str
    name: str
    folder: Path | None = None
    """Where conversations are read from."""
    run: RunRecord | None = None
    tasks: tuple[tuple[str, str], ...] = ()
    """Id and text of what participants are to talk about; an empty text is a matter of their own."""
    _texts: dict[str, str] = field(default_factory=dict)

    def items(self, kinds: Iterable[str] | None = None) -> Iterator[Item]:
        """The items, or those of these kinds, in the order of work; of a run those it judged."""
        wanted = None if kinds is None else set(kinds)
        selected = None if self.run is None else self.run.config.get("selected")
        chosen = None if selected is None else set(selected)
        return (
            item
            for item in self.store.items(self.dataset)
            if (wanted is None or item.kind in wanted) and (chosen is None or item.id in chosen)
        )

    @cached_property
    def people(self) -> Mapping[str, Person]:
        """Everyone by id."""
        return self.store.people(self.dataset)

    @cached_property
    def languages(self) -> dict[str, str]:
        """In which language everyone is written about."""
        return self.store.languages(self.dataset)

    def profile(self, person: str) -> str:
        """The person in words, as models are told."""
        return render_person(self.people[person]) if person in self.people else ""

    def text(self, product: str) -> str:
        """The text of a product."""
        if product not in self._texts:
            self._texts.update(self.store.texts([product]))
        return self._texts.get(product, "")

    def gold(self, item: str, target: str = "") -> Gold:
        """The gold answer of an item."""
        return self._gold.get((item, target), Gold())

    @cached_property
    def _gold(self) -> dict[tuple[str, str], Gold]:
        info, judgment = self.store.dataset_info(self.dataset), tables.judgments.c
        if info["metric"] == "win_rate":
            return {}  # there it only marks which answer was tested: nobody said that it is right
        query = select(judgment.item, judgment.target, judgment.label, judgment.extra).where(
            judgment.ask == f"{self.dataset}#{info['gold']}"  # others may have said something too
        )
        return {
            (item, target): Gold(label, str((orjson.loads(extra) if extra else {}).get("reason", "")))
            for item, target, label, extra in self.store.frame(query).iter_rows()
        }

    def stated(self) -> Iterator[Stated]:
        """Conversations with what is stated about those who had them; who was forgotten does not come back."""
        if self.folder is None:
            raise UserError(
                f"{self.name} has no conversations; name a benchmark folder or what `personafit extract run` wrote with --from."
            )
        if (self.folder / "benchmark.toml").is_file():
            traps = STARTER.parent / TRAPS if self.folder == STARTER else None
            found = list(of_benchmark(FolderBenchmark(self.folder, None).conversations(), traps))
        else:
            found = list(of_stages(self.folder))
        gone = self.store.forgotten({conversation.person for conversation, _ in found})
        yield from (one for one in found if one[0].person not in gone)

    def dialogues(self) -> Iterator[Dialogue]:
        """The finished dialogues of the run."""
        if self.run is None:
            raise UserError(
                "Dialogues are made by a run: name one with --from RUN (personafit run personalens …)."
            )
        return (dialogue for dialogue in dialogues(self.store, self.run.id) if dialogue.stop.whole)

    def preferences(self, dialogue: Dialogue) -> str:
        """The person's preferences that bear on the task, which those who judge completion see."""
        person = self.people[dialogue.person]
        return render_person(person, select_facets(person.facets, dialogue.task.preferences))

    def chat_tasks(self) -> Iterator[tuple[str, str]]:
        """What participants are to talk about: id and text."""
        if not self.tasks:
            raise UserError(
                f"{self.name} has no tasks to talk about; name a file of tasks with --from TASKS.jsonl, or --from {OWN_MATTER} "
                "for people's own matters."
            )
        yield from self.tasks


def open_source(
    store: Store, name: str, find_run: Callable[[Store, str], RunRecord], data: Path | None
) -> StudySource:
    """The benchmark, folder or run that `--from` names."""
    folder = STARTER if name == "starter" else Path(name)
    if name == OWN_MATTER:
        return StudySource(store, f"chat@{OWN_MATTER}", name, tasks=((f"chat/{OWN_MATTER}", ""),))
    if folder.suffix == ".jsonl" and folder.is_file():
        return StudySource(store, f"chat@{folder.stem}", name, tasks=tuple(_tasks(folder)))
    if (folder / "attributes.jsonl").is_file() and (folder / "conversations.jsonl").is_file():
        return StudySource(store, f"stages@{folder.resolve().name}", folder.name, folder=folder)
    if (folder / "benchmark.toml").is_file():
        benchmark = FolderBenchmark(folder, None)
        return StudySource(store, ingest(store, benchmark), benchmark.info.name, folder)
    known = {run.name for run in store.runs()}
    if name == "last" or name in known or (folder / "run.json").is_file():
        run = find_run(store, name)
        return StudySource(store, run.dataset, run.name, run=run)
    other = open_benchmark(name, data)
    return StudySource(store, ingest(store, other), other.info.name)


def _tasks(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file of tasks: an id and a text, or tasks as dialogues have them."""
    for number, row in read_lines(path):
        said = row.get("text") or row.get("intent")
        if not isinstance(said, str) or not said.strip():
            raise UserError(
                f"{located(path, number, 'text')}: missing; a task is one object with id and text."
            )
        name = str(row.get("id") or hash_text("task", said)[:12])
        yield f"chat/{row['person']}/{name}" if row.get("person") else f"chat/{name}", said


def of_benchmark(conversations: Iterable[Conversation], traps: Path | None) -> Iterator[Stated]:
    """What the authors say is true, and what the traps say that is not."""
    false: dict[str, list[tuple[str, str]]] = {}
    for _, row in read_lines(traps) if traps is not None else ():
        false.setdefault(row["conversation"], []).append((row["text"], row["failure"]))
    for conversation in conversations:
        statements = [
            Statement(one.id, one.text, _turns(one.evidence, conversation, one.text), "accepted", "why.said")
            for one in conversation.attributes
        ]
        for number, (text, failure) in enumerate(false.get(conversation.id, ()), 1):
            name = f"{conversation.id}/trap-{number}"
            statements.append(
                Statement(name, text, [_nearest(text, conversation)], "rejected", f"why.{failure}")
            )
        if statements:
            yield conversation, statements


def of_stages(folder: Path) -> Iterator[Stated]:
    """What an extractor found, as it stood before it was refined."""
    files = StageFile(folder)
    found: dict[str, list[tuple[str, str, list[str]]]] = {}
    for one in before_refinement(files.read_attributes()):
        found.setdefault(one.conversation, []).append((one.id, one.text, one.evidence))
    for staged in files.read_conversations():
        if staged.id not in found:
            continue
        turns = [
            Turn(role=turn.role if turn.role in SHOWN else "system", text=turn.text or turn.note or "")
            for turn in staged.turns
        ]
        conversation = Conversation(id=staged.id, person=staged.person, turns=turns)
        statements = [
            Statement(name, text, _turns(evidence, conversation, text), None)
            for name, text, evidence in found[staged.id]
        ]
        yield conversation, statements


def _turns(evidence: Iterable[str], conversation: Conversation, text: str) -> list[int]:
    """The turns of this conversation among the evidence, or the one most like the statement."""
    turns = []
    for one in evidence:
        name, _, number = one.rpartition("#")
        if name == conversation.id and number.isdecimal() and int(number) < len(conversation.turns):
            turns.append(int(number))
    return turns or [_nearest(text, conversation)]


def _nearest(text: str, conversation: Conversation) -> int:
    words, *said = (
        set(_WORDS.findall(one.lower())) for one in (text, *(turn.text for turn in conversation.turns))
    )
    shared = [len(words & one) for one in said]
    return shared.index(max(shared))
