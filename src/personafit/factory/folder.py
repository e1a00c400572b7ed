"""The end of the line: what the steps made as a benchmark folder, with its card.

Streams of the folder's own names are put together, row by row, in the form `personafit data check` knows and
`personafit run` takes. `makers.jsonl` says who made each product: model, prompt and its version, temperature, seed, take.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import select

from personafit._hashing import content_hash
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.benchmarks.folder import info_toml
from personafit.factory.bench import REJECTED, Bench, BuildModels
from personafit.factory.card import write_card
from personafit.factory.config import BuildConfig
from personafit.factory.rows import read_rows, streams
from personafit.factory.step import BuildStep
from personafit.store import Store
from personafit.store import tables as t

FILES = ("people", "conversations", "products", "items", "votes", "gold", "tasks")
OPTIONAL = ("conversations", "votes", "tasks")
VERSION_DIGITS = 12


def write_benchmark(
    config: BuildConfig, steps: Sequence[BuildStep], models: BuildModels, out: Path, store: Store
) -> None:
    """Write the folder anew from the finished steps."""
    folders = [out / "steps" / step.name for step in steps]
    for name in FILES:
        holders = [folder for folder in folders if name in streams(folder)]
        if name == "people":  # a later step's people are the same, with more known about them
            holders = holders[-1:]
        path = out / f"{name}.jsonl"
        if name in OPTIONAL and not holders:
            path.unlink(missing_ok=True)
        else:
            _write(path, (row for folder in holders for row in read_rows(folder, name)))
    _write(out / f"{REJECTED}.jsonl", (row for folder in folders for row in read_rows(folder, REJECTED)))
    _write(out / "makers.jsonl", _makers(store))
    benches = [(step, Bench(step.name, config, out, models)) for step in steps]
    splits: dict[str, list[str]] = {}
    for step, bench in benches:
        splits |= step.splits(bench)
    _replace(out / "benchmark.toml", _toml(config, folders, splits))
    parts = [step.card(bench) for step, bench in benches]
    _replace(out / "card.md", write_card(config, out, folders, parts))


def _makers(store: Store) -> Iterator[dict[str, Any]]:
    query = select(t.raters).where(t.raters.c.kind == "maker").order_by(t.raters.c.fingerprint)
    for rows in store.stream(query, 500):
        for row in rows:
            yield {"fingerprint": row.fingerprint, "model": row.name, **orjson.loads(row.settings)}


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    fresh = path.with_suffix(".part")
    with fresh.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    fresh.replace(path)


def _replace(path: Path, text: str) -> None:
    fresh = path.with_suffix(".part")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def _toml(config: BuildConfig, folders: Sequence[Path], splits: dict[str, list[str]]) -> str:
    build = config.build
    digests = [orjson.loads((folder / "done.json").read_bytes())["digest"] for folder in folders]
    gold = next((row["rater"] for folder in folders for row in read_rows(folder, "gold")), "author")
    voted = " Its votes and gold are simulated too: nobody voted." if "simulated" in gold else ""
    info = BenchmarkInfo(
        name=build.name,
        version=content_hash(digests)[:VERSION_DIGITS],
        title=build.title,
        description=f"Built by the factory from a config file. Its people are simulated.{voted}",
        licence=build.licence,
        language=list(build.languages),
        gold=gold,
        layout=[["half", "tier"], ["half"], ["tier"]] if gold != "author" else [["tier"]],
        splits=splits,
    )
    return info_toml(info)
