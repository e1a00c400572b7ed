"""The sources of a study's pages: a benchmark, the items of a run, chat tasks, or what a build kept.

Everything is read from the store under the ids that judgments use, so that votes match models' judgments. Statements about people are shown
beside the conversations they come from: a benchmark's authors state what is true, the starter set adds plausible false statements, and
`personafit extract run` what an extractor found. Every statement points to some turn: one without evidence would stand out, so it points to
the most similar turn. People and questions that a build kept come from its review queue.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from sqlalchemy import select

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.benchmarks import FolderBenchmark, ingest, open_benchmark
from personafit.benchmarks.lines import read_lines
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.extract.records import ExtractedAttribute, Label, StageFile, before_refinement
from personafit.items.dialogue import Dialogue
from personafit.people import Conversation, Person, Turn, render_facets, render_person, select_facets
from personafit.simulate.records import dialogues
from personafit.store import Item, RunRecord, Status, Store, tables

OWN_MATTER = "own"
SCREEN = "screen"
TRAPS = "traps.jsonl"
SHOWN = ("user", "assistant")
MOST_HISTORY = (
    400_000  # characters of the other conversations on a page, beyond those that statements point to
)
_WORDS = re.compile(r"[^\W\d_]{4,}|[\u3400-\u9fff]")


class Gold(NamedTuple):
    """The gold label of an item, and its reason if known."""

    label: str | None = None
    reason: str = ""


class Statement(NamedTuple):
    """One statement about a person."""

    id: str
    text: str
    evidence: list[int]
    """Turns of the conversation, from 0; numbering continues through the other conversations."""
    label: Label | None
    """The gold label, if known."""
    reason: str = ""
    """Why the label is right, as a key of the interface's texts."""
    why: str = ""
    """Why the statement was inferred, in the extractor's words."""


class Stated(NamedTuple):
    """A conversation with statements about its person, and the person's other conversations."""

    conversation: Conversation
    statements: list[Statement]
    others: Sequence[Conversation] = ()
    left_out: int = 0
    """How many of the person's conversations were left out because they do not fit on a page."""


class QueuedPerson(NamedTuple):
    """A person whom a build kept, with the questions it kept for them."""

    id: str
    language: str
    profile: str
    questions: dict[str, str]


@dataclass
class StudySource:
    """Items with their people, products and conversations, from which a study's pages are made."""

    store: Store
    dataset: str
    name: str
    folder: Path | None = None
    """The folder that conversations are read from."""
    run: RunRecord | None = None
    tasks: tuple[tuple[str, str], ...] = ()
    """Id and text of each chat task; an empty text means a topic of the participant's own."""
    queue: tuple[QueuedPerson, ...] = ()
    """People and questions kept by a build, to be screened."""
    _texts: dict[str, str] = field(default_factory=dict)

    def items(self, kinds: Iterable[str] | None = None) -> Iterator[Item]:
        """Iterate over the items, optionally of these kinds only, ordered by person; for a run, over those it judged."""
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
        return self.store.people(self.dataset)

    @cached_property
    def languages(self) -> dict[str, str]:
        if self.queue:
            return {one.id: one.language for one in self.queue}
        return self.store.languages(self.dataset)

    def profile(self, person: str) -> str:
        return render_person(self.people[person]) if person in self.people else ""

    def text(self, product: str) -> str:
        if product not in self._texts:
            self._texts.update(self.store.texts([product]))
        return self._texts.get(product, "")

    def gold(self, item: str, target: str = "") -> Gold:
        return self._gold.get((item, target), Gold())

    @cached_property
    def _gold(self) -> dict[tuple[str, str], Gold]:
        info, judgment = self.store.dataset_info(self.dataset), tables.judgments.c
        if info["metric"] == "win_rate":
            return {}  # there the label only marks which answer was tested, not which is right
        query = select(judgment.item, judgment.target, judgment.label, judgment.extra).where(
            judgment.ask
            == f"{self.dataset}#{info['gold']}"  # the gold rater's only; others may have labels too
        )
        return {
            (item, target): Gold(label, str((orjson.loads(extra) if extra else {}).get("reason", "")))
            for item, target, label, extra in self.store.frame(query).iter_rows()
        }

    def stated(self) -> Iterator[Stated]:
        """Iterate over conversations with statements about their person; forgotten people are left out."""
        if self.folder is None:
            raise UserError(
                f"{self.name} has no conversations; name a benchmark folder or what `personafit extract run` wrote with --from."
            )
        if (self.folder / "benchmark.toml").is_file():
            traps = STARTER.parent / TRAPS if self.folder == STARTER else None
            found = list(of_benchmark(FolderBenchmark(self.folder, None).conversations(), traps))
        else:
            found = list(of_stages(self.folder))
        gone = self.store.forgotten({one.conversation.person for one in found})
        yield from (one for one in found if one.conversation.person not in gone)

    def dialogues(self) -> Iterator[Dialogue]:
        if self.run is None:
            raise UserError(
                "Dialogues are made by a run: name one with --from RUN (personafit run personalens …)."
            )
        return (dialogue for dialogue in dialogues(self.store, self.run.id) if dialogue.stop.whole)

    def preferences(self, dialogue: Dialogue) -> str:
        """Return the person's preferences that bear on the task, as shown to judges of task completion."""
        person = self.people[dialogue.person]
        return render_person(person, select_facets(person.facets, dialogue.task.preferences))

    def chat_tasks(self) -> Iterator[tuple[str, str]]:
        if not self.tasks:
            raise UserError(
                f"{self.name} has no tasks to talk about; name a file of tasks with --from TASKS.jsonl, or --from {OWN_MATTER} "
                "for people's own matters."
            )
        yield from self.tasks


def open_source(
    store: Store,
    name: str,
    find_run: Callable[[Store, str], RunRecord],
    data: Path | None,
    question: str | None = None,
) -> StudySource:
    """Open the benchmark, folder, build or run that `--from` names; a build gives its review queue, unless another question is asked."""
    folder = STARTER if name == "starter" else Path(name)
    if question == SCREEN or (question is None and (folder / "build.db").is_file()):
        queue = read_queue(folder)
        gone = store.forgotten({one.id for one in queue})
        left = tuple(one for one in queue if one.id not in gone)
        return StudySource(store, f"build@{folder.resolve().name}", folder.name, folder, queue=left)
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


def read_queue(folder: Path) -> list[QueuedPerson]:
    """Return all people in a build's review queue with their questions, without those that were dropped."""
    from personafit.build.review import PEOPLE, QUESTIONS, read_review, review_file

    if not review_file(folder, PEOPLE).is_file():
        raise UserError(
            f"{folder} is no folder in which `personafit build` has made people: it has no review/{PEOPLE}.jsonl."
        )
    questions: dict[str, dict[str, str]] = defaultdict(dict)
    for key, row in read_review(folder, QUESTIONS).items():
        if not row["decision"]:
            questions[str(row.get("person"))][key] = queue_text(row)
    return [
        QueuedPerson(key, str(row.get("language", "")), queue_text(row), questions[key])
        for key, row in read_review(folder, PEOPLE).items()
        if not row["decision"]
    ]


def queue_text(row: Mapping[str, Any]) -> str:
    """Return the text that raters see for a line of a build's review queue: the question, or the person as an outline."""
    person = row.get("person")
    return str(row.get("question") or (render_facets(person) if isinstance(person, dict) else ""))


def _tasks(path: Path) -> Iterator[tuple[str, str]]:
    """Iterate over the lines of a task file: objects with id and text, or tasks in the format of dialogues."""
    for number, row in read_lines(path):
        said = row.get("text") or row.get("intent")
        if not isinstance(said, str) or not said.strip():
            raise UserError(
                f"{located(path, number, 'text')}: missing; a task is one object with id and text."
            )
        name = str(row.get("id") or hash_text("task", said)[:12])
        yield f"chat/{row['person']}/{name}" if row.get("person") else f"chat/{name}", said


def of_benchmark(conversations: Iterable[Conversation], traps: Path | None) -> Iterator[Stated]:
    """Iterate over conversations with the authors' true statements and, if given, the false ones in `traps`."""
    false: dict[str, list[tuple[str, str]]] = {}
    for _, row in read_lines(traps) if traps is not None else ():
        false.setdefault(row["conversation"], []).append((row["text"], row["failure"]))
    for conversation in conversations:
        statements = [
            Statement(
                one.id, one.text, _turns(one.evidence, [conversation], one.text), "accepted", "why.said"
            )
            for one in conversation.attributes
        ]
        for number, (text, failure) in enumerate(false.get(conversation.id, ()), 1):
            name = f"{conversation.id}/trap-{number}"
            statements.append(
                Statement(name, text, [_nearest(text, conversation)], "rejected", f"why.{failure}")
            )
        if statements:
            yield Stated(conversation, statements)


def of_stages(folder: Path) -> Iterator[Stated]:
    """Iterate over conversations with the attributes an extractor found, before refinement, and the person's full history."""
    files = StageFile(folder)
    found: dict[str, list[ExtractedAttribute]] = defaultdict(list)
    for one in before_refinement(files.read_attributes()):
        found[one.conversation].append(one)
    histories: dict[str, list[Conversation]] = defaultdict(list)
    for staged in files.read_conversations():
        if staged.turns and (staged.id in found or staged.status is Status.OK):
            turns = [
                Turn(role=turn.role if turn.role in SHOWN else "system", text=turn.text or turn.note or "")
                for turn in staged.turns
            ]
            histories[staged.person].append(Conversation(id=staged.id, person=staged.person, turns=turns))
    for history in histories.values():
        for conversation in history:
            if conversation.id not in found:
                continue
            attributes = found[conversation.id]
            pointed = {place.rpartition("#")[0] for one in attributes for place in one.evidence}
            others = _others(conversation, history, pointed)
            statements = [
                Statement(
                    one.id,
                    one.text,
                    _turns(one.evidence, [conversation, *others], one.text),
                    None,
                    why=one.why or "",
                )
                for one in attributes
            ]
            yield Stated(conversation, statements, others, len(history) - 1 - len(others))


def _others(
    conversation: Conversation, history: Sequence[Conversation], pointed: Container[str]
) -> list[Conversation]:
    """Return the other conversations in log order: those that statements point to, and of the rest what fits on a page."""
    room, chosen = MOST_HISTORY, set()
    for one in sorted(history, key=lambda one: one.id not in pointed):
        size = sum(len(turn.text) for turn in one.turns)
        if one.id != conversation.id and (one.id in pointed or size <= room):
            chosen.add(one.id)
            room -= size
    return [one for one in history if one.id in chosen]


def _turns(evidence: Iterable[str], conversations: Sequence[Conversation], text: str) -> list[int]:
    """Return the turns named by the evidence, numbered across the conversations; if none, the most similar turn of the first one."""
    places = [f"{one.id}#{number}" for one in conversations for number in range(len(one.turns))]
    number_of = {place: number for number, place in enumerate(places)}
    turns = sorted({number_of[place] for place in evidence if place in number_of})
    return turns or [_nearest(text, conversations[0])]


def _nearest(text: str, conversation: Conversation) -> int:
    words, *said = (
        set(_WORDS.findall(one.lower())) for one in (text, *(turn.text for turn in conversation.turns))
    )
    shared = [len(words & one) for one in said]
    return shared.index(max(shared))
