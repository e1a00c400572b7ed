"""The last part of a build: write what the steps made as a benchmark folder with its card.

Rows of the steps are joined into the files that `personafit data check` and `personafit run` read. `makers.jsonl` lists
who made each product: model, prompt and its version, temperature, seed, take. `card.md` describes the build in numbers: rows by
step, items by half and tier, and a section from each step.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import func, select

from personafit._hashing import content_hash
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.benchmarks.folder import info_toml
from personafit.build.bench import REJECTED, Bench, BuildModels, read_rows, write_rows
from personafit.build.config import BuildConfig
from personafit.build.people import PeopleSection
from personafit.build.review import describe_review
from personafit.build.step import BuildStep, table
from personafit.store import Store
from personafit.store import tables as t

FILES = ("people", "conversations", "products", "items", "votes", "gold", "tasks")
OPTIONAL = ("conversations", "votes", "tasks")
VERSION_DIGITS = 12
MOST_REASONS = 20


def write_benchmark(
    config: BuildConfig, steps: Sequence[BuildStep], models: BuildModels, out: Path, store: Store
) -> None:
    """Write the benchmark folder from the finished steps, replacing earlier files."""
    folders = [out / "steps" / step.name for step in steps]
    for name in FILES:
        holders = [folder for folder in folders if (folder / f"{name}.jsonl").is_file()]
        if name == "people":  # a later step's people are the same people with more attributes
            holders = holders[-1:]
        path = out / f"{name}.jsonl"
        if name in OPTIONAL and not holders:
            path.unlink(missing_ok=True)
        else:
            write_rows(path, (row for folder in holders for row in read_rows(folder, name)))
    write_rows(out / f"{REJECTED}.jsonl", (row for folder in folders for row in read_rows(folder, REJECTED)))
    write_rows(out / "makers.jsonl", _makers(store))
    benches = [(step, Bench(step.name, config, out, models)) for step in steps]
    splits: dict[str, list[str]] = {}
    for step, bench in benches:
        splits |= step.splits(bench)
    _replace(out / "benchmark.toml", _toml(config, folders, splits))
    parts = [
        _made(store),
        _rejected(out),
        describe_review(out),
        *(step.card(bench) for step, bench in benches),
    ]
    _replace(out / "card.md", write_card(config, out, folders, parts))


def _makers(store: Store) -> Iterator[dict[str, Any]]:
    query = select(t.raters).where(t.raters.c.kind == "maker").order_by(t.raters.c.fingerprint)
    for rows in store.stream(query, 500):
        for row in rows:
            yield {"fingerprint": row.fingerprint, "model": row.name, **orjson.loads(row.settings)}


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
        description=f"Built from a config file. {_people(config)}{voted}",
        licence=build.licence,
        language=list(build.languages),
        gold=gold,
        layout=[["half", "tier"], ["half"], ["tier"]] if gold != "author" else [["tier"]],
        splits=splits,
    )
    return info_toml(info)


def _people(config: BuildConfig) -> str:
    """Describe the source of the people in a sentence."""
    section = config.sections.get("people")
    given = section.given if isinstance(section, PeopleSection) else ""
    return f"Its people were given: {Path(given).name}." if given else "Its people are simulated."


TIERS = ("easy", "medium", "hard")
PUBLISHED = (
    "Published for PersonaFeedback (arXiv 2506.12915, Table 2; easy, medium, hard): specific 1,108, 1,667, 1,682; general 1,510, "
    "1,321, 1,010; 8,298 in all."
)


def write_card(config: BuildConfig, out: Path, folders: Sequence[Path], parts: Sequence[str]) -> str:
    """Return the card of a finished build, whose files must already be written."""
    build = config.build
    sections = [
        f"# {build.title or build.name}",
        f"{_people(config)} Languages: {', '.join(build.languages)}. Seed: {build.seed}. "
        f"Licence: {build.licence}.",
        "\n".join(_steps(folders)),
        "Who made what, with which prompt, at which version and seed: `makers.jsonl`. What was rejected and why: "
        "`rejected.jsonl`.",
        "\n".join(_items(out)),
        *(part.strip() for part in parts),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _steps(folders: Sequence[Path]) -> list[str]:
    rows = []
    for folder in folders:
        done = orjson.loads((folder / "done.json").read_bytes())
        counts = {name: count for name, count in done["counts"].items() if name != REJECTED}
        made = ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing"
        rows.append((done["step"], made, done["counts"].get(REJECTED, 0), done["take"]))
    return table(("step", "rows", "rejected", "take"), rows)


def _made(store: Store) -> str:
    """Return the card's table of products by maker: models with their prompts, rules, and templates; rejected products count too."""
    makers = {row["fingerprint"]: f"{row['model']}, {row['prompt']}" for row in _makers(store)}
    columns = (t.products.c.kind, t.products.c.maker, func.count())
    query = select(*columns).group_by(*columns[:2]).order_by(*columns[:2])
    rows = [
        (kind, makers.get(maker, maker), count)
        for page in store.stream(query, 500)
        for kind, maker, count in map(tuple, page)
        if kind != "verdict"
    ]
    return "\n".join(["## Makers", "", *table(("what", "by", "made"), rows)])


def _rejected(out: Path) -> str:
    """Return the card's table of the most frequent rejection reasons of each step."""
    counts = Counter(
        (row["step"], re.sub(r"\d[\d,.]*", "…", re.split("[:']", row["reason"])[0].strip()))
        for row in read_rows(out, REJECTED)
    )
    rows = [(*key, count) for key, count in counts.most_common(MOST_REASONS)]
    return "\n".join(["## Rejected", "", *table(("step", "because", "times"), rows)]) if rows else ""


def _items(out: Path) -> list[str]:
    """Return the card's table of items by half and tier; empty if there are no items."""
    halves = {row["id"]: row.get("slices", {}).get("half", "all") for row in read_rows(out, "items")}
    tiers = Counter(
        (halves[row["item"]], (row.get("extra") or {}).get("tier", "untiered"))
        for row in read_rows(out, "gold")
    )
    found = {tier for _, tier in tiers}
    names = [*(tier for tier in TIERS if tier in found), *sorted(found - {*TIERS})]
    rows = [(half, [tiers[half, tier] for tier in names]) for half in sorted({half for half, _ in tiers})]
    if not rows:
        return []
    rows.append(("all", [sum(column) for column in zip(*(counts for _, counts in rows), strict=True)]))
    return [
        "## Items",
        "",
        *table(("half", *names, "all"), ((half, *counts, sum(counts)) for half, counts in rows)),
        "",
        PUBLISHED,
    ]
