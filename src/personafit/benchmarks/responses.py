"""Pairs of a generic and a personalized answer: published (`response_pairs.jsonl`), from a folder, or made by systems.

The published pairs come without ratings. A folder may have gold and, in `votes.jsonl`, individual votes, which are kept as judgments so
that reports can show agreement between people. The generator of a pair is a slice. Systems get only prompts for which people called at
least one attribute relevant, as their answers are judged by those attributes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from personafit._errors import UserError, located, refuse_faults
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, HeldBenchmark
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.folder_records import FolderRecords
from personafit.benchmarks.lines import FilledText, IdText, PublishedLine, read_records
from personafit.benchmarks.published import published_info
from personafit.benchmarks.recentering import LABELS, RelevanceLabels, find_data, has_items, users_with
from personafit.items.preference import CONTEXT, PERSONAL, PREFERENCE
from personafit.items.relevance import RELEVANCE, YES
from personafit.people import Person
from personafit.store import Item, Judgment, Product, RaterRecord

PAIRS = "response_pairs.jsonl"
GENERATOR, STORED_CONTEXT = "generator", "given"  # slices; read, the second is `system_context`
HUMAN, SIMULATED = "human", "simulated"

INFO = published_info("responses")


@dataclass(frozen=True)
class Situation:
    """A prompt, and what is known of the person who asks."""

    id: str
    person: str
    prompt: str
    known: tuple[str, ...]
    """All attributes."""
    relevant: tuple[str, ...]
    """The attributes that people called relevant to the prompt."""


class ResponsePair(NamedTuple):
    """A generic and a personalized answer to a prompt."""

    id: str
    situation: Situation
    generator: str
    """The maker of both answers."""
    system_context: str
    """The system context of the personalized answer."""
    generic: str
    personalized: str
    """Empty if none was made."""
    prompt_index: str | None = None
    """Index of the prompt in the published pairs."""

    @property
    def products(self) -> list[Product]:
        told = self.system_context if self.prompt_index is None else None
        person, relevant = self.situation.person, self.situation.relevant
        return [
            Product(kind="answer", text=self.generic, maker=self.generator),
            Product(kind="answer", text=self.personalized, maker=self.generator, given=told),
            *(Product(kind="attribute", text=text, about=person) for text in relevant),
        ]


class PreferencePairs(Benchmark):
    """Pairs of answers as preference items."""

    pairs: Sequence[ResponsePair]

    def products(self) -> Iterator[Product]:
        for pair in self.pairs:
            yield from pair.products

    def items(self) -> Iterator[Item]:
        for pair in self.pairs:
            index = {} if pair.prompt_index is None else {"prompt_index": pair.prompt_index}
            yield Item(
                id=pair.id,
                kind=PREFERENCE,
                person=pair.situation.person,
                prompt=pair.situation.prompt,
                products=[product.id for product in pair.products],
                group=pair.situation.id,
                slices={GENERATOR: pair.generator, STORED_CONTEXT: pair.system_context, **index},
            )


class _MarkedAttribute(PublishedLine):
    attribute: str
    is_relevant: bool


class _PairLine(PublishedLine):
    user: IdText
    prompt_index: IdText
    prompt: FilledText
    generator: FilledText
    generic: FilledText
    personalized: FilledText
    attributes: list[_MarkedAttribute]


class ResponsePairs(PreferencePairs):
    """The pairs of a folder in the published layout; pairs without an attribute that people called relevant are left out."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._path = folder / PAIRS

    def people(self) -> Iterator[Person]:
        return users_with(((one.person, text) for one in self.situations for text in one.known or [""]), {})

    def notes(self) -> list[str]:
        notes = ["The pairs were released without ratings, so no judge can be held against people here."]
        if left := len(self._rows) - len(self.pairs):
            notes.append(f"Pairs left out, as people called none of their attributes relevant: {left:,}.")
        return notes

    @property
    def situations(self) -> list[Situation]:
        return [row.situation for row in self._rows]

    @cached_property
    def pairs(self) -> list[ResponsePair]:  # type: ignore[override] # read when it is wanted
        return [row for row in self._rows if row.situation.relevant]

    @cached_property
    def _rows(self) -> list[ResponsePair]:
        rows: dict[str, tuple[int, ResponsePair]] = {}
        faults: list[str] = []
        for number, line in read_records(self._path, _PairLine, faults.append):
            group = f"recentering/{line.user}/{line.prompt_index}"
            key = f"{group}/{line.generator}"
            if key in rows:
                faults.append(
                    f"{located(self._path, number)} is about the same user, prompt and generator as line {rows[key][0]}."
                )
                continue
            known = dict.fromkeys(one.attribute for one in line.attributes if one.attribute.strip())
            marked = {one.attribute for one in line.attributes if one.is_relevant}
            relevant = tuple(text for text in known if text in marked)
            rows[key] = (
                number,
                ResponsePair(
                    key,
                    Situation(group, line.user, line.prompt, tuple(known), relevant),
                    line.generator,
                    "attributes:human",
                    line.generic,
                    line.personalized,
                    line.prompt_index,
                ),
            )
        refuse_faults(faults, self._path)
        if not rows:
            raise UserError(f"{self._path} is empty; each line is one prompt with two answers.")
        return [pair for _, pair in rows.values()]


class PreferenceFolder(FolderBenchmark):
    """The preference items of a benchmark folder, with its gold and its individual votes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, kind=PREFERENCE)
        own = {
            "title": f"{self.info.name}: does using the attributes help?",
            "metric": "rating",
            "context": CONTEXT.name,
        }
        self.info = self.info.model_copy(update={**own, "layout": INFO.layout, "controls": INFO.controls})

    def items(self) -> Iterator[Item]:
        """Iterate over the items; the maker of the personalized answer becomes a slice unless the item has one."""
        makers = {product.id: product.maker for product in self.products()}
        for item in super().items():
            maker = makers.get(item.products[PERSONAL])
            yield item.model_copy(update={"slices": ({GENERATOR: maker} if maker else {}) | item.slices})

    def gold(self) -> Iterator[Judgment]:
        yield from super().gold()
        yield from folder_votes(self.folder, PREFERENCE)


def folder_votes(folder: Path, question: str) -> Iterator[Judgment]:
    """Iterate over the individual votes of a folder on one question; the last vote of a rater counts.

    `extra.voter` is the kind of the rater according to `raters.jsonl`: human, simulated, llm, ...
    """
    if not (folder / "votes.jsonl").is_file():
        return
    path = folder / "raters.jsonl"
    raters = read_records(path, RaterRecord) if path.is_file() else ()
    kinds = {name: rater.kind for _, rater in raters for name in (rater.name, rater.fingerprint)}
    records = FolderRecords(folder)
    known = {item.id for item in records.items()}
    last = {
        (vote.item, vote.target, vote.rater): vote
        for vote in records.votes()
        if vote.question == question and vote.item in known
    }
    for vote in last.values():
        voter = kinds.get(vote.rater, HUMAN)
        yield vote.model_copy(update={"extra": {**(vote.extra or {}), "voter": voter}})


def open_responses(data: Path | None) -> Benchmark:
    """Return the pairs of answers given by --data."""
    folder = find_data(INFO.name, data, PAIRS)
    return ResponsePairs(folder) if (folder / PAIRS).is_file() else has_items(PreferenceFolder(folder))


class ResponsePrompts(HeldBenchmark):
    """The prompts, and the people who ask with all their known attributes, as a benchmark without answers."""

    becomes = PREFERENCE
    """The kind of item that a system's answers turn them into."""

    def __init__(self, source: Benchmark, situations: Sequence[Situation]) -> None:
        self.source = source.info
        self.situations = {one.id: one for one in _apart(situations)}
        attributes = ((one.person, text) for one in situations for text in one.known)
        known = {person.id: person for person in source.people()}
        found = {person.id: person for person in users_with(attributes, known)}
        info = BenchmarkInfo(
            name=f"{source.info.name}-prompts",
            version=source.info.version,
            licence=source.info.licence,
            language=source.info.language,
            layout=[],
        )
        items = (
            Item(id=one.id, kind="prompt", person=one.person, prompt=one.prompt, products=[], group=one.id)
            for one in self.situations.values()
        )
        super().__init__(info, (found[person] for person in known if person in found), items)


def open_prompts(data: Path | None) -> ResponsePrompts:
    """Return the prompts of the data: published pairs or labels, or a folder with relevance or preference items."""
    folder = find_data(INFO.name, data, PAIRS)
    if (folder / PAIRS).is_file():
        pairs = ResponsePairs(folder)
        first: dict[str, Situation] = {}
        for pair in pairs.pairs:
            first.setdefault(pair.situation.id, pair.situation)
        return ResponsePrompts(pairs, list(first.values()))
    relevance = RelevanceLabels(folder) if (folder / LABELS).is_file() else FolderBenchmark(folder, RELEVANCE)
    if found := _from_relevance(relevance):
        return ResponsePrompts(relevance, found)
    if not (folder / LABELS).is_file() and (found := _from_preferences(own := PreferenceFolder(folder))):
        return ResponsePrompts(own, found)
    raise UserError(
        f"{folder} has no prompt for which an attribute is marked relevant; see docs/reference/folder.md."
    )


def _from_relevance(source: Benchmark) -> list[Situation]:
    texts = {product.id: product.text for product in source.products() if product.kind == "attribute"}
    items = list(source.items())
    yes = {row.item for row in source.gold() if row.rater == source.info.gold and row.label == YES}
    lists: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        if texts[item.products[0]].strip():
            lists.setdefault((item.person, item.prompt), []).append(item)
    found = []
    for (person, prompt), members in lists.items():
        known, relevant = (
            tuple(dict.fromkeys(texts[item.products[0]] for item in chosen))
            for chosen in (members, [item for item in members if item.id in yes])
        )
        if relevant:
            found.append(
                Situation(members[0].id.rpartition("/")[0] or members[0].id, person, prompt, known, relevant)
            )
    return found


def _from_preferences(source: Benchmark) -> list[Situation]:
    texts = {product.id: product.text for product in source.products()}
    people = {person.id: person for person in source.people()}
    found: dict[tuple[str, str], Situation] = {}
    for item in source.items():
        relevant = tuple(texts[product] for product in item.products[PERSONAL + 1 :])
        on_record = (attribute.text for attribute in people[item.person].attributes)
        known = tuple(dict.fromkeys([*on_record, *relevant]))
        found.setdefault(
            (item.person, item.prompt), Situation(item.group, item.person, item.prompt, known, relevant)
        )
    return list(found.values())


def _apart(situations: Sequence[Situation]) -> Iterator[Situation]:
    """Iterate over the situations under unique ids: item ids may share a prefix, and a group may hold several people or prompts."""
    counts = Counter(one.id for one in situations)
    for one in situations:
        own = f"{one.id}@{hash_text(one.person, one.prompt)[:8]}"
        yield one if counts[one.id] == 1 else replace(one, id=own)


class MadeResponses(PreferencePairs):
    """Pairs of a system's generic and personalized answers; the latter is "" if none was made."""

    def __init__(
        self,
        prompts: ResponsePrompts,
        answers: Sequence[tuple[str, str, Situation, str, str]],
        notes: Sequence[str],
    ) -> None:
        self._prompts = prompts
        self._notes = list(notes)
        self.pairs = [
            ResponsePair(f"{hash_text(system)[:6]}/{told}/{one.id}", one, system, told, generic, personal)
            for system, told, one, generic, personal in answers
        ]
        source = prompts.source
        self.info = INFO.model_copy(
            update={
                "version": source.version,
                "title": f"{source.name}: does using the attributes help?",
                "description": "Answers made by the systems under test, judged by the attributes people called relevant.",
                "licence": source.licence,
                "language": source.language,
            }
        )

    def people(self) -> Iterator[Person]:
        return self._prompts.people()

    def notes(self) -> list[str]:
        return self._notes
