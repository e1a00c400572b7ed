"""What the card says of the answers: how many by which strategy and model, how long, what was masked and what was rejected."""

from collections import Counter

from personafit.factory.answers.templates import TEMPLATE
from personafit.factory.bench import REJECTED, Bench


def answers_card(bench: Bench) -> str:
    """The statistics of all answers, read as a stream."""
    kinds: Counter[str] = Counter()
    lengths: Counter[str] = Counter()
    by: Counter[str] = Counter()
    ways: Counter[str] = Counter()
    masked = 0
    for row in bench.read_rows("answers"):
        strategy = row["strategy"]
        kinds[strategy] += 1
        lengths[strategy] += len(row["text"])
        masked += len(row.get("masked", ()))
        by[TEMPLATE if row["maker"] == TEMPLATE else row["model"]] += 1
        if row.get("direction"):
            ways[row["direction"]] += 1
    lines = [
        "## Answers",
        "",
        f"{kinds.total():,} answers: {_listed(by)}. For A2 {masked / max(1, kinds['A2']):.1f} fields of the profile were "
        f"masked on average; `steps/answers/` says which. Written anew: {_listed(ways) or 'none'}.",
        "",
        "| strategy | answers | mean characters |",
        "|---|---|---|",
    ]
    lines += [
        f"| {name} | {count:,} | {lengths[name] / count:,.0f} |" for name, count in sorted(kinds.items())
    ]
    if by[TEMPLATE]:
        lines += [
            "",
            f"{by[TEMPLATE]:,} of them are put together by our template ({TEMPLATE}), which stands in for replies that failed "
            "their checks; they show the line and not what a model can do.",
        ]
    reasons = Counter(str(row["reason"]).partition(",")[0] for row in bench.read_rows("answers", REJECTED))
    if reasons:
        lines += ["", "| rejected because | answers |", "|---|---|"]
        lines += [f"| {reason} | {count:,} |" for reason, count in reasons.most_common(12)]
    return "\n".join(lines)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items()))
