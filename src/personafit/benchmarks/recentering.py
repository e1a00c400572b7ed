"""Re-Centering Humans (arXiv 2606.06614): which attributes of a person matter for a prompt, by majority of people.

Reads the published labels, `relevance.jsonl`, with a prompt, an attribute of a user and the majority label on each line; a benchmark folder
with relevance items; or the starter set.

The votes of two models that come with the data are stored as their judgments, in the same table; no rater ever sees them. The reason why an
attribute was inferred is a product of its own, the parent of the attribute's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from personafit._errors import UserError, located, refuse_faults
from personafit.benchmarks.benchmark import Benchmark, Published
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.hub import data_folder
from personafit.benchmarks.lines import FilledText, IdText, PublishedLine, read_records
from personafit.benchmarks.published import not_found, published_file, published_info, published_scores
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.items.relevance import NO, REASON, RELEVANCE, YES
from personafit.people import Attribute, Person
from personafit.store import Item, Judgment, Product

LABELS = "relevance.jsonl"

INFO = published_info("recentering")


class _LabelLine(PublishedLine):
    user: IdText
    prompt_index: IdText
    prompt: FilledText
    attribute: str
    reason: str | None = None
    relevant: bool | None = None
    model_votes: dict[str, bool | None] | None = None


class _LabelRow(NamedTuple):
    item: str
    group: str
    line: _LabelLine
    reason: Product | None
    attribute: Product


class RelevanceLabels(Benchmark):
    """The labels of a folder in the published layout."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._path = folder / LABELS

    def people(self) -> Iterator[Person]:
        return users_with(((row.line.user, row.line.attribute) for row in self._rows), {})

    def products(self) -> Iterator[Product]:
        for row in self._rows:
            yield from filter(None, (row.reason, row.attribute))

    def items(self) -> Iterator[Item]:
        for row in self._rows:
            yield Item(
                id=row.item,
                kind=RELEVANCE,
                person=row.line.user,
                prompt=row.line.prompt,
                products=[row.attribute.id],
                group=row.group,
                slices={"prompt_index": row.line.prompt_index},
            )

    def gold(self) -> Iterator[Judgment]:
        for row in self._rows:
            votes = {INFO.gold: None} | (row.line.model_votes or {}) | {INFO.gold: row.line.relevant}
            for rater, vote in votes.items():
                if vote is not None:
                    label = YES if vote else NO
                    yield Judgment(
                        item=row.item, question=RELEVANCE, rater=rater, label=label, value=float(vote)
                    )

    def published(self) -> list[Published]:
        return published_scores(INFO.name)

    def notes(self) -> list[str]:
        rows = self._rows
        sizes = published_file(INFO.name)["sizes"]
        prompts = len({row.line.prompt_index for row in rows})
        notes = []
        if len(rows) != sizes["pairs"]:
            notes.append(
                f"{len(rows):,} of the {sizes['pairs']:,} labelled pairs are here, on {prompts} of {sizes['prompts']} "
                "prompts; published scores are over other sets."
            )
        if unlabelled := sum(row.line.relevant is None for row in rows):
            notes.append(f"Pairs without a majority, judged and not scored: {unlabelled:,}.")
        return notes

    @cached_property
    def _rows(self) -> list[_LabelRow]:
        rows: list[_LabelRow] = []
        places: Counter[str] = Counter()
        prompts: dict[str, tuple[str, int]] = {}
        faults: list[str] = []
        for number, line in read_records(self._path, _LabelLine, faults.append):
            first, where = prompts.setdefault(line.prompt_index, (line.prompt, number))
            if first != line.prompt:
                faults.append(
                    f"{located(self._path, number, 'prompt')}: prompt_index {line.prompt_index} has another prompt on line {where}."
                )
            group = f"{INFO.name}/{line.user}/{line.prompt_index}"
            said = (line.reason or "").strip()
            reason = Product(kind=REASON, text=str(line.reason), about=line.user) if said else None
            parents = [reason.id] if reason else []
            attribute = Product(kind="attribute", text=line.attribute, about=line.user, parents=parents)
            rows.append(_LabelRow(f"{group}/{places[group]}", group, line, reason, attribute))
            places[group] += 1
        refuse_faults(faults, self._path)
        if not rows:
            raise UserError(f"{self._path} is empty; each line is one prompt and one attribute.")
        return rows


def find_data(name: str, data: Path | None, file: str) -> Path:
    """Return the folder given by --data, or a copy fetched before; `starter` is the shipped set."""
    found = data_folder(name, data)
    if str(found) == "starter" and not found.exists():
        return STARTER
    if found.name == file and found.is_file():  # the file itself was named
        found = found.parent
    if not (found / file).is_file() and not (found / "benchmark.toml").is_file():
        raise not_found(name, found)
    return found


def has_items(benchmark: FolderBenchmark) -> FolderBenchmark:
    """Return the folder; raise `UserError` if it has no items of its kind."""
    if next(benchmark.items(), None) is None:
        raise UserError(
            f"{benchmark.folder / 'items.jsonl'} has no items of kind '{benchmark.kind}'; see docs/reference/folder.md."
        )
    return benchmark


def open_relevance(data: Path | None) -> Benchmark:
    """Return the relevance items given by --data."""
    folder = find_data(INFO.name, data, LABELS)
    if (folder / LABELS).is_file():
        return RelevanceLabels(folder)
    return has_items(FolderBenchmark(folder, kind=RELEVANCE))


def users_with(attributes: Iterable[tuple[str, str]], known: Mapping[str, Person]) -> Iterator[Person]:
    """Iterate over the people with attributes, each text once and in order, after those already recorded of known people."""
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
    """Return the caveats of the published scores: what they were measured on, and how far people agree."""
    body = published_file(INFO.name)
    return [body["caveat"], body["ceiling"]]
