"""The end of the line: what the steps made as a benchmark folder, with its card.

Streams of the folder's own names are put together, row by row, in the form `personafit data check` knows and
`personafit run` takes. `makers.jsonl` says who made each product: model, prompt and its version, temperature, seed, take.
`card.md` says what was built, in numbers: rows by step, items by half and tier, categories, lengths, and what each step says.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import select

from personafit._hashing import content_hash
from personafit.benchmarks.benchmark import BenchmarkInfo
from personafit.benchmarks.folder import info_toml
from personafit.benchmarks.folder_records import Names
from personafit.factory.bench import REJECTED, Bench, BuildModels
from personafit.factory.config import BuildConfig
from personafit.factory.questions.scenarios import categories
from personafit.factory.rows import read_rows, write_rows
from personafit.factory.step import BuildStep, table
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
        holders = [folder for folder in folders if (folder / f"{name}.jsonl").is_file()]
        if name == "people":  # a later step's people are the same, with more known about them
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
    parts = [step.card(bench) for step, bench in benches]
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
        description=f"Built by the factory from a config file. Its people are simulated.{voted}",
        licence=build.licence,
        language=list(build.languages),
        gold=gold,
        layout=[["half", "tier"], ["half"], ["tier"]] if gold != "author" else [["tier"]],
        splits=splits,
    )
    return info_toml(info)


TIERS = ("easy", "medium", "hard")
# PersonaFeedback, arXiv 2506.12915, Table 2
PUBLISHED = {"specific": (1_108, 1_667, 1_682), "general": (1_510, 1_321, 1_010)}


def write_card(config: BuildConfig, out: Path, folders: Sequence[Path], parts: Sequence[str]) -> str:
    """The card of a finished build; the folder's files are there already."""
    build = config.build
    sections = [
        f"# {build.title or build.name}",
        f"Every person in this benchmark is simulated. Languages: {', '.join(build.languages)}. Seed: {build.seed}. "
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


def _listed(counts: Sequence[int]) -> str:
    return ", ".join(f"{count:,}" for count in counts)


def _categories(counts: Counter[str]) -> list[str]:
    """Items by category, beside the published shares where a category is one of those."""
    published = {one.name: f"{100 * one.share:.2f} %" for one in categories().values()}
    rows = (
        (category, count, f"{100 * count / counts.total():.2f} %", published.get(category, "–"))
        for category, count in counts.most_common()
    )
    return [*table(("category", "items", "share", "published (Table 5)"), rows), ""]


def _items(out: Path) -> Iterator[str]:
    """Items by half and tier, categories with their shares, and lengths; nothing where there are no items."""
    halves, tiers, kinds, questions = Names(), Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for row in read_rows(out, "items"):
        slices = row.get("slices", {})
        halves.add(row["id"], slices.get("half", "all"))
        if "category" in slices:
            kinds[slices["category"]] += 1
        questions["count"] += 1
        questions["length"] += len(row["prompt"])
    if not questions["count"]:
        return
    for row in read_rows(out, "gold"):
        tier = (row.get("extra") or {}).get("tier", "untiered")
        tiers[halves.get(row["item"]) or "all", tier] += 1
    yield "## Items"
    yield ""
    names = [*(tier for tier in TIERS if any(tier == one for _, one in tiers))]
    names += sorted({tier for _, tier in tiers} - set(TIERS))
    rows = [(half, [tiers[half, tier] for tier in names]) for half in sorted({half for half, _ in tiers})]
    rows.append(("all", [sum(column) for column in zip(*(counts for _, counts in rows), strict=True)]))
    yield from table(("half", *names, "all"), ((half, *counts, sum(counts)) for half, counts in rows))
    yield ""
    told = "; ".join(f"{half} {_listed(counts)}" for half, counts in PUBLISHED.items())
    yield (
        f"Published for PersonaFeedback (arXiv 2506.12915, Table 2; {', '.join(TIERS)}): {told}; "
        f"{sum(map(sum, PUBLISHED.values())):,} in all."
    )
    yield ""
    if kinds:
        yield from _categories(kinds)
    answers = Counter[str]()
    for row in read_rows(out, "products"):
        if row["kind"] == "answer":
            answers["count"] += 1
            answers["length"] += len(row["text"])
    mean = f"{answers['length'] / answers['count']:,.0f}" if answers["count"] else "–"
    yield (
        f"Mean length in characters: questions {questions['length'] / questions['count']:,.0f}, answers {mean} "
        f"({answers['count']:,} answers)."
    )
