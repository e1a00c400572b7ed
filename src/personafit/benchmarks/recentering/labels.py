"""The published relevance labels, `relevance.jsonl`: one prompt, one attribute of one user, and what most people said.

The votes of two models that come with the data are kept as judgments of theirs, so that they stand in the same table;
no rater ever sees them. Why an attribute was inferred is a product of its own, the parent of the attribute's.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls, Published
from personafit.benchmarks.lines import read_lines, required_text
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


class _LabelRow(NamedTuple):
    item: str
    group: str
    user: str
    number: str
    prompt: str
    attribute: str
    reason: str | None
    relevant: bool | None
    votes: dict[str, bool]


class RelevanceLabels:
    """The labels of a folder in the published layout."""

    info = INFO

    def __init__(self, folder: Path) -> None:
        self._path = folder / LABELS

    def people(self) -> Iterator[Person]:
        """Every user, with their attributes in the order of the file."""
        attributes: dict[str, dict[str, None]] = {}
        for row in self._rows:
            texts = attributes.setdefault(row.user, {})
            if row.attribute.strip():
                texts[row.attribute] = None
        for user, texts in attributes.items():
            listed = [Attribute(id=f"a{number}", text=text) for number, text in enumerate(texts)]
            yield Person(id=user, language="en", attributes=listed)

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
                person=row.user,
                prompt=row.prompt,
                products=[_attribute(row).id],
                group=row.group,
                slices={"prompt_index": row.number},
            )

    def gold(self) -> Iterator[Judgment]:
        """What most people said, and beside it the published votes of two models."""
        for row in self._rows:
            if row.relevant is not None:
                yield _judgment(row.item, INFO.gold, row.relevant)
            for model, vote in row.votes.items():
                yield _judgment(row.item, model, vote)

    def published(self) -> list[Published]:
        """Table 3, and how far people agree."""
        return [Published.model_validate(row) for row in orjson.loads(PUBLISHED.read_bytes())["scores"]]

    def notes(self) -> list[str]:
        """What is missing or odd in the file."""
        rows = self._rows
        sizes = orjson.loads(PUBLISHED.read_bytes())["sizes"]
        prompts = len({row.number for row in rows})
        notes = []
        if len(rows) != sizes["pairs"]:
            notes.append(
                f"{len(rows):,} of the {sizes['pairs']:,} labelled pairs are here, on {prompts} of {sizes['prompts']} "
                "prompts; published scores are over other sets."
            )
        repeated = Counter((row.group, row.attribute) for row in rows if row.attribute.strip())
        labels: dict[tuple[str, str], set[bool | None]] = {}
        for row in rows:
            labels.setdefault((row.group, row.attribute), set()).add(row.relevant)
        again = [key for key, count in repeated.items() if count > 1]
        if again:
            opposite = sum({True, False} <= labels[key] for key in again)
            notes.append(
                f"{len(again)} attributes stand twice or more in a list ({opposite} with both labels): each line counts, "
                "and a list shows each text once."
            )
        if empty := sum(not row.attribute.strip() for row in rows):
            notes.append(f"{empty} attributes are empty: they are skipped, and coverage says so.")
        if unlabelled := sum(row.relevant is None for row in rows):
            notes.append(f"{unlabelled} pairs have no majority: they are judged and not scored.")
        return notes

    @cached_property
    def _rows(self) -> list[_LabelRow]:
        rows = list(self._read())
        if not rows:
            raise UserError(f"{self._path} is empty; each line is one prompt and one attribute.")
        return rows

    def _read(self) -> Iterator[_LabelRow]:
        places: Counter[str] = Counter()
        prompts: dict[str, tuple[str, int]] = {}
        for number, row in read_lines(self._path):
            user = required_text(row, "user", self._path, number)
            index = self._index(row, number)
            prompt = required_text(row, "prompt", self._path, number)
            first = prompts.setdefault(index, (prompt, number))
            if first[0] != prompt:
                raise UserError(
                    f"{located(self._path, number, 'prompt')}: prompt_index {index} has another prompt on line "
                    f"{first[1]}."
                )
            group = f"{INFO.name}/{user}/{index}"
            yield _LabelRow(
                item=f"{group}/{places[group]}",
                group=group,
                user=user,
                number=index,
                prompt=prompt,
                attribute=self._text(row, "attribute", number) or "",
                reason=self._text(row, "reason", number, required=False),
                relevant=self._truth(row.get("relevant"), "relevant", number),
                votes=self._votes(row, number),
            )
            places[group] += 1

    def _index(self, row: dict[str, Any], number: int) -> str:
        index = row.get("prompt_index")
        if type(index) is not int and not (isinstance(index, str) and index.strip()):
            raise UserError(f"{located(self._path, number, 'prompt_index')} must be a number or a name.")
        return str(index)

    def _text(self, row: dict[str, Any], field: str, number: int, required: bool = True) -> str | None:
        value = row.get(field)
        if value is None and not required:
            return None
        if not isinstance(value, str):
            what = "is missing" if value is None else f"must be a text, not {type(value).__name__}"
            raise UserError(f"{located(self._path, number, field)} {what}.")
        return value

    def _truth(self, value: Any, field: str, number: int) -> bool | None:
        if value is not None and not isinstance(value, bool):
            raise UserError(
                f"{located(self._path, number, field)} must be true, false or null, not {value!r:.40}."
            )
        return value

    def _votes(self, row: dict[str, Any], number: int) -> dict[str, bool]:
        votes = row.get("model_votes") or {}
        if not isinstance(votes, dict):
            raise UserError(f"{located(self._path, number, 'model_votes')} must map models to true or false.")
        read = {
            model: self._truth(vote, f"model_votes.{model}", number)
            for model, vote in votes.items()
            if model != INFO.gold
        }
        return {model: vote for model, vote in read.items() if vote is not None}


def published_remarks() -> list[str]:
    """What has to be said beside the published figures: what they were measured on, and how far people agree."""
    body = orjson.loads(PUBLISHED.read_bytes())
    return [body["caveat"], body["ceiling"]]


def _reason(row: _LabelRow) -> Product | None:
    if not row.reason or not row.reason.strip():
        return None
    return Product(kind=REASON, text=row.reason, about=row.user)


def _attribute(row: _LabelRow) -> Product:
    reason = _reason(row)
    return Product(
        kind="attribute", text=row.attribute, about=row.user, parents=[reason.id] if reason else []
    )


def _judgment(item: str, rater: str, vote: bool) -> Judgment:
    return Judgment(item=item, question=RELEVANCE, rater=rater, label=YES if vote else NO, value=float(vote))
