"""Pairs of a generic and a personalized answer: the published ones, `response_pairs.jsonl`, the preference items of a folder, and those
that systems make of the prompts.

The published pairs come without ratings. A folder may have gold and, in `votes.jsonl`, what single raters said: those are
kept as judgments of theirs, so that the report can say how far people agree. Whose pair it is stands in the slices. Systems are put only
prompts for which people called at least one attribute relevant: by those attributes their answers are judged.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from personafit._errors import UserError, located
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.folder_records import FolderRecords
from personafit.benchmarks.lines import read_lines, required_text, validated
from personafit.benchmarks.recentering.labels import LABELS, RelevanceLabels
from personafit.benchmarks.starter import FOLDER
from personafit.items.preference import CONTEXT, PERSONAL, PREFERENCE
from personafit.items.relevance import RELEVANCE, YES
from personafit.people import Attribute, Person
from personafit.store import Item, Judgment, Product, RaterRecord

PAIRS = "response_pairs.jsonl"
CONTROLS = Controls(views=[], raters=["rule:length", "rule:mention"])
GENERATOR, GIVEN = "generator", "given"
HUMAN, SIMULATED = "human", "simulated"

INFO = BenchmarkInfo(
    name="responses",
    version="2606.06614",
    title="Re-Centering Humans: does using the attributes help?",
    description="Generic and personalized answers to the same prompt; the published pairs have no human ratings.",
    licence="CC BY-SA 4.0 says the paper; prompts from LIMA (non-commercial), users from WildChat (ODC-BY)",
    language=["en"],
    gold="human",
    metric="rating",
    view=CONTEXT.name,
    layout=[[GENERATOR], [GIVEN]],
    controls=CONTROLS,
)


class PublishedPair(NamedTuple):
    """One row of the published responses: a generic and a personalized answer to a prompt of a user."""

    user: str
    number: str
    """The prompt's."""
    prompt: str
    generator: str
    attributes: tuple[tuple[str, bool], ...]
    generic: str
    personalized: str

    @property
    def relevant(self) -> list[str]:
        """The attributes that people called relevant, each once."""
        return list(dict.fromkeys(text for text, relevant in self.attributes if relevant and text.strip()))


class ResponsePairs(Benchmark):
    """The pairs of a folder in the published layout."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._path = folder / PAIRS

    def people(self) -> Iterator[Person]:
        """Every user, with their attributes in the order of the file."""
        attributes: dict[str, dict[str, None]] = {}
        for row in self.rows:
            attributes.setdefault(row.user, {}).update(
                (text, None) for text, _ in row.attributes if text.strip()
            )
        for user, texts in attributes.items():
            listed = [Attribute(id=f"a{number}", text=text) for number, text in enumerate(texts)]
            yield Person(id=user, language="en", attributes=listed)

    def products(self) -> Iterator[Product]:
        """Both answers of each pair, and the attributes they are judged by."""
        for row in self._judged:
            yield from _products(row)

    def items(self) -> Iterator[Item]:
        """One item per line with at least one attribute that people called relevant."""
        for row in self._judged:
            group = f"recentering/{row.user}/{row.number}"
            yield Item(
                id=f"{group}/{row.generator}",
                kind=PREFERENCE,
                person=row.user,
                prompt=row.prompt,
                products=[product.id for product in _products(row)],
                group=group,
                slices={GENERATOR: row.generator, GIVEN: "attributes:human", "prompt_index": row.number},
            )

    def notes(self) -> list[str]:
        """What a reader must know of the pairs."""
        notes = ["The pairs were released without ratings, so no judge can be held against people here."]
        if left := len(self.rows) - len(self._judged):
            notes.append(f"{left} pairs have no attribute that people called relevant: they are left out.")
        return notes

    @property
    def _judged(self) -> list[PublishedPair]:
        return [row for row in self.rows if row.relevant]

    @cached_property
    def rows(self) -> list[PublishedPair]:
        """All lines."""
        rows = list(self._read())
        if not rows:
            raise UserError(f"{self._path} is empty; each line is one prompt with two answers.")
        return rows

    def _read(self) -> Iterator[PublishedPair]:
        seen: dict[tuple[str, str, str], int] = {}
        for number, row in read_lines(self._path):
            texts = {
                name: required_text(row, name, self._path, number)
                for name in ("user", "prompt", "generator", "generic", "personalized")
            }
            index = row.get("prompt_index")
            if type(index) is not int and not (isinstance(index, str) and index.strip()):
                raise UserError(f"{located(self._path, number, 'prompt_index')} must be a number or a name.")
            key = (texts["user"], str(index), texts["generator"])
            if key in seen:
                raise UserError(
                    f"{located(self._path, number)} is about the same user, prompt and generator as line {seen[key]}."
                )
            seen[key] = number
            yield PublishedPair(
                number=str(index), attributes=self._attributes(row.get("attributes"), number), **texts
            )

    def _attributes(self, value: Any, number: int) -> tuple[tuple[str, bool], ...]:
        if not isinstance(value, list):
            raise UserError(f"{located(self._path, number, 'attributes')} must be a list.")
        read = []
        for place, one in enumerate(value):
            where = f"attributes.{place}"
            if not isinstance(one, dict) or not isinstance(one.get("attribute"), str):
                raise UserError(f"{located(self._path, number, where)} must have an 'attribute', a text.")
            if not isinstance(one.get("is_relevant"), bool):
                raise UserError(
                    f"{located(self._path, number, f'{where}.is_relevant')} must be true or false."
                )
            read.append((one["attribute"], one["is_relevant"]))
        return tuple(read)


class PreferenceFolder(FolderBenchmark):
    """The preference items of a benchmark folder, with its gold and its single votes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, kind=PREFERENCE)
        self._folder = folder
        own = {
            "title": f"{self.info.name}: does using the attributes help?",
            "metric": "rating",
            "view": CONTEXT.name,
        }
        self.info = self.info.model_copy(update={**own, "layout": INFO.layout, "controls": CONTROLS})

    def items(self) -> Iterator[Item]:
        """The items; who wrote the personalized answer becomes a slice where none says so."""
        makers = {product.id: product.maker for product in self.products()}
        for item in super().items():
            maker = makers.get(item.products[PERSONAL])
            slices = (
                item.slices
                if GENERATOR in item.slices or maker is None
                else {**item.slices, GENERATOR: maker}
            )
            yield item.model_copy(update={"slices": slices})

    def gold(self) -> Iterator[Judgment]:
        """The gold, then the votes."""
        yield from super().gold()
        yield from folder_votes(self._folder, PREFERENCE)


def folder_votes(folder: Path, question: str) -> Iterator[Judgment]:
    """The single votes of a folder about one question, the last of a rater counting; `extra.voter` says what they are."""
    if not (folder / "votes.jsonl").is_file():
        return
    kinds = rater_kinds(folder)
    records = FolderRecords(folder)
    known = {item.id for item in records.items()}
    last: dict[tuple[str, str, str], Judgment] = {}
    for vote in records.votes():
        if vote.question == question and vote.item in known:
            last[vote.item, vote.target, vote.rater] = vote
    for vote in last.values():
        voter = kinds.get(vote.rater, HUMAN)
        yield vote.model_copy(update={"extra": {**(vote.extra or {}), "voter": voter}})


def rater_kinds(folder: Path) -> dict[str, str]:
    """What each rater of `raters.jsonl` is: human, simulated, llm, ...; by fingerprint and by name."""
    path = folder / "raters.jsonl"
    if not path.is_file():
        return {}
    records = [validated(RaterRecord, row, path, number) for number, row in read_lines(path)]
    return {record.name: record.kind for record in records} | {
        record.fingerprint: record.kind for record in records
    }


def open_responses(data: Path | None) -> Benchmark:
    """The pairs of answers that --data names."""
    folder = data_folder(data)
    if (folder / PAIRS).is_file():
        return ResponsePairs(folder)
    if not (folder / "benchmark.toml").is_file():
        raise UserError(
            f"{folder} holds neither {PAIRS} (the published layout) nor benchmark.toml (a benchmark folder)."
        )
    opened = PreferenceFolder(folder)
    if next(opened.items(), None) is None:
        raise UserError(
            f"{folder / 'items.jsonl'} has no items of kind 'preference'; see docs/reference/folder.md."
        )
    return opened


def data_folder(data: Path | None) -> Path:
    """The folder --data names; `starter` is the small set that comes with personafit."""
    if data is None:
        raise UserError(
            f"responses needs --data FOLDER with {PAIRS} as published, a benchmark folder that has preference items, or "
            "--data starter for the small set that comes with personafit."
        )
    return FOLDER if str(data) == "starter" and not data.exists() else data


def _products(row: PublishedPair) -> list[Product]:
    answers = [
        Product(kind="answer", text=text, maker=row.generator) for text in (row.generic, row.personalized)
    ]
    return answers + [Product(kind="attribute", text=text, about=row.user) for text in row.relevant]


@dataclass(frozen=True)
class Situation:
    """A prompt, and what is known of the person who puts it."""

    id: str
    person: str
    prompt: str
    known: tuple[str, ...]
    """All attributes."""
    relevant: tuple[str, ...]
    """Those people called relevant to the prompt."""


class ResponsePrompts(Benchmark):
    """The prompts as a benchmark without answers."""

    becomes = PREFERENCE
    """The kind of item that a system's answers make of them."""

    def __init__(
        self, info: BenchmarkInfo, people: Sequence[Person], situations: Sequence[Situation]
    ) -> None:
        self.info = BenchmarkInfo(
            name=f"{info.name}-prompts",
            version=info.version,
            licence=info.licence,
            language=info.language,
            layout=[],
        )
        self.source = info
        self.situations = {one.id: one for one in _apart(situations)}
        known: dict[str, dict[str, None]] = {}
        for one in situations:
            known.setdefault(one.person, {}).update(dict.fromkeys(one.known))
        self._people = [_with_attributes(person, known[person.id]) for person in people if person.id in known]

    def people(self) -> Iterator[Person]:
        """Everyone who puts a prompt, with all that is known of them on record."""
        return iter(self._people)

    def products(self) -> Iterator[Product]:
        """None: they are about to be made."""
        yield from ()

    def items(self) -> Iterator[Item]:
        """The prompts."""
        for one in self.situations.values():
            yield Item(
                id=one.id, kind="prompt", person=one.person, prompt=one.prompt, products=[], group=one.id
            )


def open_prompts(data: Path | None) -> ResponsePrompts:
    """The prompts of whatever --data names: published pairs or labels, or a folder with relevance or preference items."""
    folder = data_folder(data)
    if (folder / PAIRS).is_file():
        pairs = ResponsePairs(folder)
        found = _from_pairs(pairs)
        return ResponsePrompts(pairs.info, list(pairs.people()), found)
    source: Benchmark
    if (folder / LABELS).is_file():
        source = RelevanceLabels(folder)
        found = _from_relevance(source)
    else:
        source = FolderBenchmark(folder, kind=RELEVANCE)
        found = _from_relevance(source)
        if not found:
            source = PreferenceFolder(folder)
            found = _from_preferences(source)
    if not found:
        raise UserError(
            f"{folder} has no prompt for which an attribute is marked relevant; see docs/reference/folder.md."
        )
    return ResponsePrompts(source.info, list(source.people()), found)


def _from_pairs(pairs: ResponsePairs) -> list[Situation]:
    found: dict[str, Situation] = {}
    for row in pairs.rows:
        key = f"recentering/{row.user}/{row.number}"
        if row.relevant and key not in found:
            known = tuple(dict.fromkeys(text for text, _ in row.attributes if text.strip()))
            found[key] = Situation(key, row.user, row.prompt, known, tuple(row.relevant))
    return list(found.values())


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
    """The same under ids of their own: ids of items may begin alike, and a group may hold several people or prompts."""
    counts = Counter(one.id for one in situations)
    for one in situations:
        own = f"{one.id}@{hash_text(one.person, one.prompt)[:8]}"
        yield one if counts[one.id] == 1 else replace(one, id=own)


def _with_attributes(person: Person, texts: dict[str, None]) -> Person:
    listed = {attribute.text for attribute in person.attributes}
    new = [
        Attribute(id=f"known{number}", text=text) for number, text in enumerate(texts) if text not in listed
    ]
    return person.model_copy(update={"attributes": [*person.attributes, *new]})


class MadeResponses(Benchmark):
    """Pairs of a system's generic answer and one that it made knowing something, "" where it made none."""

    def __init__(
        self,
        prompts: ResponsePrompts,
        answers: Sequence[tuple[str, str, Situation, str, str]],
        notes: Sequence[str],
    ) -> None:
        self._prompts = prompts
        self._answers = answers
        self._notes = list(notes)
        source = prompts.source
        self.info = BenchmarkInfo(
            name=INFO.name,
            version=source.version,
            title=f"{source.name}: does using the attributes help?",
            description="Answers made by the systems under test, judged by the attributes people called relevant.",
            licence=source.licence,
            language=source.language,
            gold=INFO.gold,
            metric=INFO.metric,
            view=CONTEXT.name,
            layout=INFO.layout,
            controls=CONTROLS,
        )

    def people(self) -> Iterator[Person]:
        """Everyone who put a prompt."""
        return self._prompts.people()

    def products(self) -> Iterator[Product]:
        """The answers and the attributes."""
        for system, given, situation, generic, personal in self._answers:
            yield from _pair_products(system, given, situation, generic, personal)

    def items(self) -> Iterator[Item]:
        """One item per system, context and prompt."""
        for system, given, situation, generic, personal in self._answers:
            yield Item(
                id=f"{hash_text(system)[:6]}/{given}/{situation.id}",
                kind=PREFERENCE,
                person=situation.person,
                prompt=situation.prompt,
                products=[p.id for p in _pair_products(system, given, situation, generic, personal)],
                group=situation.id,
                slices={GENERATOR: system, GIVEN: given},
            )

    def notes(self) -> list[str]:
        """What could not be made."""
        return self._notes


def _pair_products(
    system: str, given: str, situation: Situation, generic: str, personal: str
) -> list[Product]:
    answers = [
        Product(kind="answer", text=generic, maker=system),
        Product(kind="answer", text=personal, maker=system, given=given),
    ]
    return answers + [
        Product(kind="attribute", text=text, about=situation.person) for text in situation.relevant
    ]
