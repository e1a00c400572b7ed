"""The published relevance labels, `relevance.jsonl`: one prompt, one attribute of one user, and what most people said.

The votes of two models that come with the data are kept as judgments of theirs, so that they stand in the same table;
no rater ever sees them. Why an attribute was inferred is a product of its own, the parent of the attribute's.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import orjson

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Published
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.hub import data_folder
from personafit.benchmarks.lines import FilledText, PublishedLine, read_lines, validated
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.items.relevance import ALONE, NO, REASON, RELEVANCE, YES
from personafit.people import Attribute, Person
from personafit.store import Item, Judgment, Product

LABELS = "relevance.jsonl"
PUBLISHED = Path(__file__).parent / "published.json"

CONTROLS = Controls(views=[ALONE], raters=["rule:always-yes", "rule:bm25", "embedding"])

INFO = BenchmarkInfo(
    name="recentering",
    version="2606.06614",
    title="Re-Centering Humans: which attributes matter for a prompt?",
    description="Prompt and attribute pairs; gold is the majority of three people who did not see whose profile it is.",
    licence="CC BY-SA 4.0 says the paper; prompts from LIMA (non-commercial), users from WildChat (ODC-BY)",
    language=["en"],
    gold="majority",
    metric="f1",
    view="none",
    layout=[["hedged"], ["list"], ["prompt"]],
    controls=CONTROLS,
)


class _LabelLine(PublishedLine):
    user: FilledText
    prompt_index: int | FilledText
    prompt: FilledText
    attribute: str
    reason: str | None = None
    relevant: bool | None = None
    model_votes: dict[str, bool | None] | None = None


class _LabelRow(NamedTuple):
    item: str
    group: str
    line: _LabelLine

    @property
    def votes(self) -> dict[str, bool]:
        """What models said, by name."""
        votes = (self.line.model_votes or {}).items()
        return {model: vote for model, vote in votes if vote is not None and model != INFO.gold}


class RelevanceLabels:
    """The labels of a folder in the published layout."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._path = folder / LABELS

    def people(self) -> Iterator[Person]:
        """Every user, with their attributes in the order of the file."""
        return users_with(((row.line.user, row.line.attribute) for row in self._rows), {})

    def products(self) -> Iterator[Product]:
        """The attributes, and before each the reason it was inferred for."""
        for row in self._rows:
            reason = _reason(row)
            if reason is not None:
                yield reason
            yield _attribute(row)

    def items(self) -> Iterator[Item]:
        """One item per line; a group is all that is known of one user when one prompt is put."""
        for row in self._rows:
            yield Item(
                id=row.item,
                kind=RELEVANCE,
                person=row.line.user,
                prompt=row.line.prompt,
                products=[_attribute(row).id],
                group=row.group,
                slices={"prompt_index": str(row.line.prompt_index)},
            )

    def gold(self) -> Iterator[Judgment]:
        """What most people said, and beside it the published votes of two models."""
        for row in self._rows:
            if row.line.relevant is not None:
                yield _judgment(row.item, INFO.gold, row.line.relevant)
            for model, vote in row.votes.items():
                yield _judgment(row.item, model, vote)

    def published(self) -> list[Published]:
        """Table 3, and how far people agree."""
        return [Published.model_validate(row) for row in orjson.loads(PUBLISHED.read_bytes())["scores"]]

    def notes(self) -> list[str]:
        """What is missing or odd in the file."""
        rows = self._rows
        sizes = orjson.loads(PUBLISHED.read_bytes())["sizes"]
        prompts = len({str(row.line.prompt_index) for row in rows})
        notes = []
        if len(rows) != sizes["pairs"]:
            notes.append(
                f"{len(rows):,} of the {sizes['pairs']:,} labelled pairs are here, on {prompts} of {sizes['prompts']} "
                "prompts; published scores are over other sets."
            )
        repeated: Counter[tuple[str, str]] = Counter()
        labels: dict[tuple[str, str], set[bool | None]] = {}
        for row in rows:
            key = row.group, row.line.attribute
            repeated[key] += bool(row.line.attribute.strip())
            labels.setdefault(key, set()).add(row.line.relevant)
        again = [key for key, count in repeated.items() if count > 1]
        if again:
            opposite = sum({True, False} <= labels[key] for key in again)
            notes.append(
                f"{len(again)} attributes stand twice or more in a list ({opposite} with both labels): each line counts, "
                "and a list shows each text once."
            )
        if empty := sum(not row.line.attribute.strip() for row in rows):
            notes.append(f"{empty} attributes are empty: they are skipped, and coverage says so.")
        if unlabelled := sum(row.line.relevant is None for row in rows):
            notes.append(f"{unlabelled} pairs have no majority: they are judged and not scored.")
        return notes

    @cached_property
    def _rows(self) -> list[_LabelRow]:
        rows: list[_LabelRow] = []
        places: Counter[str] = Counter()
        prompts: dict[str, tuple[str, int]] = {}
        for number, read in read_lines(self._path):
            line = validated(_LabelLine, read, self._path, number)
            first, where = prompts.setdefault(str(line.prompt_index), (line.prompt, number))
            if first != line.prompt:
                raise UserError(
                    f"{located(self._path, number, 'prompt')}: prompt_index {line.prompt_index} has another prompt on line {where}."
                )
            group = f"{INFO.name}/{line.user}/{line.prompt_index}"
            rows.append(_LabelRow(f"{group}/{places[group]}", group, line))
            places[group] += 1
        if not rows:
            raise UserError(f"{self._path} is empty; each line is one prompt and one attribute.")
        return rows


def find_data(name: str, data: Path | None, file: str, kind: str) -> Path:
    """The folder --data names, or a copy that was fetched; `starter` is the small set that comes with personafit."""
    found = data_folder(name, data)
    if found is None:
        raise UserError(
            f"{name} needs --data FOLDER with {file} as published, a benchmark folder that has {kind} items, or "
            "--data starter for the small set that comes with personafit."
        )
    return STARTER if str(found) == "starter" and not found.exists() else found


def open_data(
    folder: Path,
    file: str,
    kind: str,
    published: Callable[[Path], Benchmark],
    own: Callable[[Path], Benchmark],
) -> Benchmark:
    """What a folder holds: a published file, or items of a kind."""
    if (folder / file).is_file():
        return published(folder)
    if not (folder / "benchmark.toml").is_file():
        raise UserError(
            f"{folder} holds neither {file} (the published layout) nor benchmark.toml (a benchmark folder)."
        )
    opened = own(folder)
    if next(opened.items(), None) is None:
        raise UserError(
            f"{folder / 'items.jsonl'} has no items of kind '{kind}'; see docs/reference/folder.md."
        )
    return opened


def open_relevance(data: Path | None) -> Benchmark:
    """The relevance items that --data names."""
    folder = find_data(INFO.name, data, LABELS, RELEVANCE)
    return open_data(folder, LABELS, RELEVANCE, RelevanceLabels, partial(FolderBenchmark, kind=RELEVANCE))


def users_with(attributes: Iterable[tuple[str, str]], known: Mapping[str, Person]) -> Iterator[Person]:
    """Everyone who has attributes, each text once and in order, after those that are on record of whoever is known."""
    texts: dict[str, dict[str, None]] = {}
    for user, text in attributes:
        texts.setdefault(user, {}).update({text: None} if text.strip() else {})
    for user, own in texts.items():
        person = known.get(user) or Person(id=user, language="en")
        there = {attribute.text for attribute in person.attributes}
        prefix = "known" if user in known else "a"
        new = [
            Attribute(id=f"{prefix}{number}", text=text)
            for number, text in enumerate(own)
            if text not in there
        ]
        yield person.model_copy(update={"attributes": [*person.attributes, *new]})


def published_remarks() -> list[str]:
    """What has to be said beside the published figures: what they were measured on, and how far people agree."""
    body = orjson.loads(PUBLISHED.read_bytes())
    return [body["caveat"], body["ceiling"]]


def _reason(row: _LabelRow) -> Product | None:
    if not (row.line.reason or "").strip():
        return None
    return Product(kind=REASON, text=str(row.line.reason), about=row.line.user)


def _attribute(row: _LabelRow) -> Product:
    reason = _reason(row)
    parents = [reason.id] if reason else []
    return Product(kind="attribute", text=row.line.attribute, about=row.line.user, parents=parents)


def _judgment(item: str, rater: str, vote: bool) -> Judgment:
    return Judgment(item=item, question=RELEVANCE, rater=rater, label=YES if vote else NO, value=float(vote))
