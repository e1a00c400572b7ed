"""card.md: what was built, in numbers: rows by step, items by half and tier, categories, lengths, and what each step says."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from personafit.benchmarks.names import Names
from personafit.factory.bench import REJECTED
from personafit.factory.config import BuildConfig
from personafit.factory.rows import read_rows

TIERS = ("easy", "medium", "hard")


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


def _steps(folders: Sequence[Path]) -> Iterator[str]:
    yield "| step | rows | rejected | take |"
    yield "|---|---|---|---|"
    for folder in folders:
        done = orjson.loads((folder / "done.json").read_bytes())
        counts = {name: count for name, count in done["counts"].items() if name != REJECTED}
        made = ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing"
        yield f"| {done['step']} | {made} | {done['counts'].get(REJECTED, 0):,} | {done['take']} |"


def _items(out: Path) -> Iterator[str]:
    """Items by half and tier, categories with their shares, and lengths; nothing where there are no items."""
    halves, tiers, categories, questions = Names(), Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for row in read_rows(out, "items"):
        slices = row.get("slices", {})
        halves.add(row["id"], slices.get("half", "all"))
        if "category" in slices:
            categories[slices["category"]] += 1
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
    yield f"| half | {' | '.join(names)} | all |"
    yield "|---" * (len(names) + 2) + "|"
    for half in sorted({half for half, _ in tiers}):
        counts = [tiers[half, tier] for tier in names]
        yield f"| {half} | {' | '.join(f'{count:,}' for count in counts)} | {sum(counts):,} |"
    yield ""
    if categories:
        yield "| category | items | share |"
        yield "|---|---|---|"
        total = sum(categories.values())
        for category, count in categories.most_common():
            yield f"| {category} | {count:,} | {100 * count / total:.2f} % |"
        yield ""
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
