"""What the card says of the questions: numbers by half and category beside the published ones, lengths, and what was rejected."""

import sys
from collections import Counter
from dataclasses import dataclass

from personafit.factory.bench import REJECTED, Bench
from personafit.factory.questions.blocks import BENCHMARK_SPLIT, TRAINING_SPLIT
from personafit.factory.questions.keeping import GENERAL, SPECIFIC
from personafit.factory.questions.scenarios import categories
from personafit.factory.questions.specific import TEMPLATE

PUBLISHED = {SPECIFIC: "over 4,000", GENERAL: "3,841"}  # questions, section 3.2
SOURCE = "PersonaFeedback, arXiv 2506.12915"
HALVES = (SPECIFIC, GENERAL)


@dataclass
class _Lengths:
    """Characters of some questions."""

    count: int = 0
    total: int = 0
    shortest: int = sys.maxsize
    longest: int = 0

    def add(self, length: int) -> None:
        """One more."""
        self.count, self.total = self.count + 1, self.total + length
        self.shortest, self.longest = min(self.shortest, length), max(self.longest, length)


def questions_card(bench: Bench) -> str:
    """The statistics of all questions, read as a stream."""
    counts: Counter[tuple[str, str]] = Counter()
    scenarios: Counter[tuple[str, str]] = Counter()
    splits: Counter[tuple[str, str]] = Counter()
    lengths: dict[str, _Lengths] = {}
    given_out: set[str] = set()
    templates = 0
    for row in bench.read_rows("questions"):
        half = row["half"]
        splits[half, row["split"]] += 1
        counts[half, row["category"]] += row["split"] == BENCHMARK_SPLIT
        scenarios[row["category"], row["scenario"]] += row["split"] == BENCHMARK_SPLIT
        if half == GENERAL:
            given_out.add(row["text"])
        lengths.setdefault(f"{half}, {row['language']}", _Lengths()).add(len(row["text"]))
        templates += row["maker"] == TEMPLATE
    lines = [
        "## Questions",
        "",
        f"The published column is {SOURCE}, section 3.2 and Table 5; the others were counted here.",
        "",
        "| half | benchmark | training | published |",
        "|---|---|---|---|",
    ]
    for half in HALVES:
        lines.append(
            f"| {half} | {splits[half, BENCHMARK_SPLIT]:,} | {splits[half, TRAINING_SPLIT]:,} | {PUBLISHED[half]} |"
        )
    lines += [
        "",
        f"{templates:,} of the specific ones are our template's ({TEMPLATE}), not the writer's. The general "
        f"ones are {len(given_out):,} different texts.",
        "",
        "| category | specific | share | general | share | published name | published share |",
        "|---|---|---|---|---|---|---|",
    ]
    totals = {half: max(1, splits[half, BENCHMARK_SPLIT]) for half in HALVES}
    for category in categories().values():
        cells = [
            f"{counts[half, category.name]:,} | {counts[half, category.name] / totals[half]:.2%}"
            for half in HALVES
        ]
        lines.append(
            f"| {category.name} | {' | '.join(cells)} | {category.published} | {category.share:.2%} |"
        )
    lines += ["", "| category | scenarios in the benchmark |", "|---|---|"]
    for category in categories().values():
        asked = [(one.name, scenarios[category.name, one.name]) for one in category.scenarios]
        told = ", ".join(f"{name} {count:,}" for name, count in asked if count)
        lines.append(f"| {category.name} | {told or 'none'} |")
    lines += ["", "| questions | mean characters | shortest | longest |", "|---|---|---|---|"]
    for name, found in sorted(lengths.items()):
        lines.append(f"| {name} | {found.total / found.count:.1f} | {found.shortest:,} | {found.longest:,} |")
    reasons = Counter(str(row["reason"]).partition(":")[0] for row in bench.read_rows("questions", REJECTED))
    if reasons:
        lines += ["", "| rejected because | questions |", "|---|---|"]
        lines += [f"| {reason} | {count:,} |" for reason, count in reasons.most_common()]
    return "\n".join(lines)
