"""Pairs of a generic and a personalized answer: the published ones, `response_pairs.jsonl`, or the preference items of a folder.

The published pairs come without ratings. A folder may have gold and, in `votes.jsonl`, what single raters said: those are
kept as judgments of theirs, so that the report can say how far people agree. Whose pair it is stands in the slices.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Published
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.folder_records import FolderRecords
from personafit.benchmarks.lines import read_lines, required_text, validated
from personafit.benchmarks.starter import FOLDER
from personafit.items.preference import CONTEXT, PERSONAL, PREFERENCE
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


class ResponsePairs:
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

    def gold(self) -> Iterator[Judgment]:
        """None: the ratings were not released."""
        yield from ()

    def published(self) -> list[Published]:
        """What was published is in scale points and is read by the report."""
        return []

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
    records = FolderRecords(folder, _refuse)
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


def _refuse(sentence: str) -> None:
    raise UserError(sentence)
