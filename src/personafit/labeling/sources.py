"""Where a study's pages come from: a benchmark, or what a run made and judged, narrowed to a sample if asked.

Everything is read from the store, where it is under the ids that judgments use, so that votes and models' judgments meet.
"""

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
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.items.dialogue import Dialogue
from personafit.labeling.statements import Stated, of_benchmark, of_stages
from personafit.people import Person, render_person, select_facets
from personafit.simulate.reading import dialogues
from personafit.store import Item, RunRecord, Store, tables

OWN_MATTER = "own"
TRAPS = "traps.jsonl"


class Gold(NamedTuple):
    """What is known to be right, and why where that is known too."""

    label: str | None
    reason: str


@dataclass
class StudySource:
    """Items with their people, products and conversations, from which a study's pages are made."""

    store: Store
    dataset: str
    name: str
    language: str = "en"
    folder: Path | None = None
    """Where conversations are read from."""
    run: RunRecord | None = None
    tasks: tuple[tuple[str, str], ...] = ()
    """Id and text of what participants are to talk about; an empty text is a matter of their own."""
    _texts: dict[str, str] = field(default_factory=dict)

    def items(self, kinds: Iterable[str]) -> Iterator[Item]:
        """The items of these kinds, in the order of work; of a run those it judged."""
        wanted = set(kinds)
        selected = None if self.run is None else self.run.config.get("selected")
        chosen = None if selected is None else set(selected)
        for item in self.store.items(self.dataset):
            if item.kind in wanted and (chosen is None or item.id in chosen):
                yield item

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

    def gold(self, item: str, target: str = "") -> Gold | None:
        """The gold answer of an item, where there is one."""
        return self._gold.get((item, target))

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
        for dialogue in dialogues(self.store, self.run.id):
            if dialogue.stop.whole:
                yield dialogue

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
        language = benchmark.info.language[0] if benchmark.info.language else "en"
        return StudySource(store, ingest(store, benchmark), benchmark.info.name, language, folder)
    known = {run.name for run in store.runs()}
    if name == "last" or name in known or (folder / "run.json").is_file():
        run = find_run(store, name)
        return StudySource(store, run.dataset, run.name, run=run)
    other = open_benchmark(name, data)
    language = other.info.language[0] if other.info.language else "en"
    return StudySource(store, ingest(store, other), other.info.name, language)


def _tasks(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file of tasks: an id and a text, or tasks as dialogues have them."""
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UserError(f"{located(path, number)}: not JSON ({error}).") from error
        said = row.get("text") or row.get("intent") if isinstance(row, dict) else None
        if not isinstance(said, str) or not said.strip():
            raise UserError(
                f"{located(path, number, 'text')}: missing; a task is one object with id and text."
            )
        name = str(row.get("id") or hash_text("task", said)[:12])
        yield f"chat/{row['person']}/{name}" if row.get("person") else f"chat/{name}", said
