"""card.md: what was built, in numbers: rows by step, items by half and tier, categories, lengths, and what each step says."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from personafit.benchmarks.names import Names
from personafit.factory.bench import REJECTED
from personafit.factory.config import BuildConfig
from personafit.factory.questions.scenarios import categories
from personafit.factory.rows import read_rows

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


def _steps(folders: Sequence[Path]) -> Iterator[str]:
    yield "| step | rows | rejected | take |"
    yield "|---|---|---|---|"
    for folder in folders:
        done = orjson.loads((folder / "done.json").read_bytes())
        counts = {name: count for name, count in done["counts"].items() if name != REJECTED}
        made = ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing"
        yield f"| {done['step']} | {made} | {done['counts'].get(REJECTED, 0):,} | {done['take']} |"


def _row(name: str, counts: Sequence[int]) -> str:
    return f"| {name} | {' | '.join(f'{count:,}' for count in counts)} | {sum(counts):,} |"


def _listed(counts: Sequence[int]) -> str:
    return ", ".join(f"{count:,}" for count in counts)


def _categories(counts: Counter[str]) -> Iterator[str]:
    """Items by category, beside the published shares where a category is one of those."""
    published = {one.name: f"{100 * one.share:.2f} %" for one in categories().values()}
    yield "| category | items | share | published (Table 5) |"
    yield "|---|---|---|---|"
    for category, count in counts.most_common():
        share = f"{100 * count / counts.total():.2f} %"
        yield f"| {category} | {count:,} | {share} | {published.get(category, '–')} |"
    yield ""


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
    yield f"| half | {' | '.join(names)} | all |"
    yield "|---" * (len(names) + 2) + "|"
    for half in sorted({half for half, _ in tiers}):
        yield _row(half, [tiers[half, tier] for tier in names])
    yield _row("all", [sum(count for (_, one), count in tiers.items() if one == tier) for tier in names])
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
