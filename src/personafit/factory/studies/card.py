"""What the card says of the two studies: who voted, what came of it, and what simple rules score on what was built."""

from collections import Counter

from personafit.factory.bench import REJECTED, Bench
from personafit.factory.studies.balance import REPORTED, RULED, right
from personafit.factory.studies.simulated import SIMULATED
from personafit.statistics.tiers import HELD_OUT

TIERS = ("easy", "medium", "hard")
NOT_PEOPLE = "**All votes are simulated.** Nothing here says what people think."


def truth_card(bench: Bench) -> str:
    """The first study."""
    best: Counter[str] = Counter()
    shares, raters, pairs, simulated, total = 0.0, set[str](), 0, False, 0
    for row in bench.read_rows("truth"):
        total += 1
        simulated = simulated or row["simulated"]
        if "truth" in row:
            best[row["strategy"]] += 1
            shares += row["share"]
        pairs += bool(row.get("kept"))
    votes = 0
    for row in bench.read_rows("truth", "ballots"):
        votes += 1
        raters.add(row["rater"])
    splits: Counter[str] = Counter(row["split"] for row in bench.read_rows("truth", "splits"))
    chosen = ", ".join(f"{name} {count:,}" for name, count in sorted(best.items()))
    lines = [
        "## First study: the best of three",
        "",
        f"{votes:,} votes of {len(raters):,} {'simulated raters' if simulated else 'raters'} on {total:,} questions; "
        f"{best.total():,} have a majority ({shares / max(1, best.total()):.0%} of the votes on average). Best: "
        f"{chosen or 'none'}. {pairs:,} Easy pairs set the best against one that is generic or written for another person.",
        "",
        f"People by split, with no person and no question in two: {_listed(splits)}.",
        *_left_out(bench, "truth"),
    ]
    return "\n".join([*lines, "", NOT_PEOPLE] if simulated else lines)


def tiers_card(bench: Bench) -> str:
    """The second study, and the rules."""
    votes: Counter[str] = Counter(row["rater"] for row in bench.read_rows("tiers", "votes"))
    simulated = any(rater.startswith(SIMULATED) for rater in votes)
    lines = [
        "## Second study: the better of two",
        "",
        f"{votes.total():,} votes of {len(votes):,} {'simulated raters' if simulated else 'raters'} on the pairs that are in a tier.",
        "",
        "| tier | pairs | share of the majority | Fleiss' kappa, held out |",
        "|---|---|---|---|",
    ]
    for row in bench.read_rows("tiers", "tiers"):
        interval = (
            f" ({row['low']:.2f} to {row['high']:.2f})"
            if row.get("low") is not None and row.get("high") is not None
            else ""
        )
        lines.append(
            f"| {row['tier']} | {row['pairs']:,} | {row['least']:.2f} to {row['below']:.2f} | {_number(row.get('kappa'))}{interval} |"
        )
    lines += ["", HELD_OUT, ""]
    lines += [f"- {row['warning']}" for row in bench.read_rows("tiers", "warnings")]
    lines += _left_out(bench, "tiers")
    return "\n".join([*lines, *_rules(bench)])


def _rules(bench: Bench) -> list[str]:
    """Each rule's share of right answers by tier, counted as the audit counts."""
    sizes, sums = Counter[str](), dict[str, list[int]]()
    for step in ("truth", "tiers"):
        for row in bench.read_rows(step, RULED):
            for tier in (row["tier"], "all"):
                sizes[tier] += 1
                so_far = sums.get(tier) or [0] * len(REPORTED)
                sums[tier] = [all_ + one for all_, one in zip(so_far, row["said"], strict=True)]
    lines = [
        "",
        "## What simple rules score",
        "",
        "Counted as `personafit audit` counts; within 45 to 55 % a rule tells nothing. Overlap is reported and not balanced.",
        "",
        f"| tier | pairs | {' | '.join(REPORTED)} |",
        "|---|---" + "|---" * len(REPORTED) + "|",
    ]
    for tier in ("all", *TIERS):
        if sizes[tier]:
            shares = " | ".join(f"{100 * right(one, sizes[tier]):.1f} %" for one in sums[tier])
            lines.append(f"| {tier} | {sizes[tier]:,} | {shares} |")
    return lines


def _left_out(bench: Bench, step: str) -> list[str]:
    reasons = Counter(str(row["reason"]).partition(":")[0] for row in bench.read_rows(step, REJECTED))
    return ["", f"Left out: {_listed(reasons)}."] if reasons else []


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
