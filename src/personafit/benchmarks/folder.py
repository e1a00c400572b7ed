"""The benchmark folder, the exchange format: read it, check it, write it.

`benchmark.toml` describes the benchmark; `people.jsonl`, `products.jsonl`, `items.jsonl` and `gold.jsonl` hold the records, one per line;
other files are optional. A folder may hold items of several kinds; a benchmark has one kind, and only checking, counting and copying read
them all.

A folder comes from others, so it never chooses code, hosts, keys or paths: the raters and contexts it names are checked against fixed lists.
What users type, or write into a suite or build config that they name, is trusted. See docs/guides/security.md.
"""

import json
import re
import shutil
import tomllib
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import orjson

from personafit._errors import UserError, located, refuse_faults
from personafit._names import RULE, is_name
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo
from personafit.benchmarks.folder_records import FolderRecords
from personafit.benchmarks.lines import read_lines, validated
from personafit.contexts import PLAIN, is_plain
from personafit.models import one_line
from personafit.people import Conversation, Person
from personafit.store import Item, Judgment, Product

REQUIRED = ("benchmark.toml", "people.jsonl", "products.jsonl", "items.jsonl", "gold.jsonl")
OPTIONAL = (
    "conversations.jsonl",
    "relevant_memories.jsonl",
    "tasks.jsonl",
    "votes.jsonl",
    "raters.jsonl",
    "card.md",
)


MOST_NAMED = 5  # raters named in a note
_RATER = re.compile(r"rule:[a-z0-9-]{1,40}|embedding")  # the bundled embedder: no address, no model name
_SHOWN = 80  # characters quoted in an error message


class Refused(UserError):
    """Data that names what it may not name; unlike other faults this ends reading at once."""


class FolderBenchmark(Benchmark):
    """A benchmark read from a folder; at the first fault all faults are raised as one error naming file, line and field."""

    def __init__(self, folder: Path, kind: str | None = "choice") -> None:
        for name in REQUIRED:
            if not (folder / name).is_file():
                raise UserError(
                    f"{folder} is not a benchmark folder: {name} is missing; see docs/reference/folder.md."
                )
        self.info = read_info(folder / "benchmark.toml")
        self.folder = folder
        self.kind = kind
        """The kind of item that is read; None reads all."""
        self._records = FolderRecords(folder, self._refuse, kind=self.info.kind)

    def kind_place(self, kind: str) -> str:
        """Return file, line and field that give the items this kind, for error messages."""
        if self.info.kind is not None:
            return located(self.folder / "benchmark.toml", None, "kind")
        path = self.folder / "items.jsonl"
        return located(
            path, next((line for line, row in read_lines(path) if row.get("kind") == kind), None), "kind"
        )

    def _refuse(self, fault: str) -> None:
        refuse_faults(_faults(self.folder, self.info.kind) or [fault], self.folder)

    def people(self) -> Iterator[Person]:
        return self._records.people()

    def products(self) -> Iterator[Product]:
        return self._records.products()

    def items(self) -> Iterator[Item]:
        return (item for item in self._records.items() if self.kind in (None, item.kind))

    def gold(self) -> Iterator[Judgment]:
        gold = self._records.gold()
        return (row for row in gold if self.kind in (None, self._records.kind(row.item)))

    def conversations(self) -> Iterator[Conversation]:
        deque(self._records.people(), maxlen=0)
        return self._records.conversations()

    def notes(self) -> list[str]:
        """Return the folder's description, and why nothing is scored if it has no labels, or none by whom `gold` names."""
        said = [self.info.description] if self.info.description else []
        raters: set[str] = set()
        for row in self.gold():
            if row.rater == self.info.gold:
                return said
            raters.add(row.rater)
        if not raters and self.kind in ("choice", "relevance"):
            said.append(f"{self.folder / 'gold.jsonl'} has no labels, so nothing is scored.")
        if raters:
            place = located(self.folder / "benchmark.toml", None, "gold")
            named = ", ".join(sorted(raters)[:MOST_NAMED])
            said.append(
                f"{place}: no label in gold.jsonl is by '{self.info.gold}', so nothing is scored; they are by {named}."
            )
        return said


def read_info(path: Path) -> BenchmarkInfo:
    """Read a benchmark.toml; raise `Refused` if it names what data may not name."""
    try:
        with path.open("rb") as file:
            info = validated(BenchmarkInfo, tomllib.load(file), path, None)
            orjson.dumps(info.model_dump())  # TOML has numbers that JSON, and so the store, cannot represent
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {one_line(error)}.") from error
    except TypeError as error:
        raise UserError(f"{path} holds a value that cannot be stored: {one_line(error)}.") from error
    refuse_reach(info, path)
    return info


def refuse_reach(info: BenchmarkInfo, path: Path) -> None:
    """Raise `Refused` if a benchmark.toml names more than rules, plain contexts and a plain name."""
    if not is_name(info.name):
        raise Refused(
            f"{located(path, field='name')}: '{info.name[:_SHOWN]}' cannot name a benchmark: {RULE}."
        )
    for rater in info.controls.raters:
        if not _RATER.fullmatch(rater):
            raise Refused(
                f"{located(path, field='controls.raters')}: '{rater[:_SHOWN]}' is not for data to name, only rule:NAME is; "
                "take it out, and name it with --rater if you want it."
            )
    refuse_context(info.context, located(path, field="context"))
    for context in info.controls.contexts:
        refuse_context(context, located(path, field="controls.contexts"))


def refuse_context(context: str, place: str) -> None:
    """Raise `Refused` if a context is more than the person's record."""
    if not is_plain(context):
        raise Refused(
            f"{place}: '{context[:_SHOWN]}' is not for data to name, only {PLAIN}; take it out, and name it with --context if you want it."
        )


def check_folder(folder: Path) -> list[str]:
    """Return all faults of a benchmark folder, one sentence each; an empty list means it can be run.

    A folder that names what data may not name raises at once instead of being listed among other faults.
    """
    try:
        kind = FolderBenchmark(folder).info.kind
    except Refused:
        raise
    except UserError as error:
        return [str(error)]
    return _faults(folder, kind, strict=True)


def _faults(folder: Path, kind: str | None, strict: bool = False) -> list[str]:
    """Return the faults in a folder's records; `strict` includes what can be run: unlabelled items, repeated names and answers."""
    problems: list[str] = []
    records = FolderRecords(folder, problems.append, strict, kind)
    for stream in (records.people(), records.products(), records.items(), records.gold()):
        deque(stream, maxlen=0)
    problems += records.unlabelled() if strict else []
    for rest in (records.conversations(), records.tasks(), records.votes()):
        deque(rest, maxlen=0)
    return problems


def write_folder(folder: Path, benchmark: Benchmark, card: str = "") -> None:
    """Write a benchmark as a folder that can be read again."""
    refuse_reach(benchmark.info, folder / "benchmark.toml")
    folder.mkdir(parents=True, exist_ok=True)
    kind = benchmark.info.kind or getattr(benchmark, "becomes", None)
    info = benchmark.info.model_copy(update={"kind": kind})
    (folder / "benchmark.toml").write_text(info_toml(info), encoding="utf-8")
    for name, records in (
        ("people.jsonl", benchmark.people()),
        ("products.jsonl", _distinct(benchmark.products())),
        ("items.jsonl", benchmark.items()),
        ("gold.jsonl", benchmark.gold()),
    ):
        with (folder / name).open("w", encoding="utf-8") as file:
            for record in records:
                file.write(record.model_dump_json(exclude_defaults=True) + "\n")
    (folder / "card.md").write_text(
        card or f"# {benchmark.info.title or benchmark.info.name}\n", encoding="utf-8"
    )


def copy_folder(source: Path, folder: Path) -> None:
    """Copy a benchmark folder with items of every kind and all optional files."""
    if problems := check_folder(source):
        raise UserError(problems[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name in (*REQUIRED, *OPTIONAL):
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)


def _distinct(products: Iterator[Product]) -> Iterator[Product]:
    seen: set[str] = set()
    for product in products:
        if product.id not in seen:
            seen.add(product.id)
            yield product


def info_toml(info: BenchmarkInfo) -> str:
    """Render the contents of a benchmark.toml."""
    said = info.model_dump(exclude_none=True)
    tables = {name: said.pop(name) for name in ("controls", "splits", "metrics")}
    lines = [f"{name} = {_toml(value)}" for name, value in said.items()]
    for name, entries in tables.items():
        if entries:
            lines += [f"\n[{name}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in entries.items())]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """Render a JSON value in TOML, where only tables differ."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
