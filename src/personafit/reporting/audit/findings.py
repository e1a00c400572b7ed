"""The whole audit of one benchmark, and its verdicts: what the labels reward besides fitting the person."""

from collections.abc import Iterator
from dataclasses import dataclass

from personafit.benchmarks import Benchmark
from personafit.benchmarks.hostile import describe, profile_text
from personafit.reporting.audit.pairs import Pairs, load_pairs
from personafit.reporting.audit.shortcuts import (
    STRANGER,
    FieldGroup,
    RuleScores,
    Subset,
    field_groups,
    hard_subsets,
    rule_table,
    score_rules,
)
from personafit.reporting.audit.structure import Leak, Repeats, occurrence_counts, repeats, split_leaks
from personafit.reporting.audit.surface import SurfaceScores, surface_scores
from personafit.statistics import Estimate

FAIR = 0.05  # a shortcut this close to a coin is harmless
LOUD = 0.10


@dataclass(frozen=True)
class Verdict:
    """One line of the verdict table."""

    check: str
    grade: str
    """passes, warns or fails."""
    finding: str


@dataclass(frozen=True)
class Audit:
    """Everything an audit found."""

    pairs: Pairs
    rules: list[RuleScores]
    surface: SurfaceScores
    subsets: list[Subset]
    fields: list[FieldGroup]
    repeats: Repeats
    occurrences: dict[str, Estimate]
    leaks: list[Leak]

    def rule(self, name: str) -> RuleScores:
        """The scores of one rule."""
        return next(scores for scores in self.rules if scores.rule == name)

    def verdicts(self) -> list[Verdict]:
        """What a careful reader should take away."""
        return list(_verdicts(self))


def audit_benchmark(benchmark: Benchmark, seed: int = 0) -> Audit:
    """Audit the data of a benchmark; nothing is judged and nothing is asked."""
    pairs = load_pairs(benchmark)
    scored = score_rules(pairs, seed)
    return Audit(
        pairs=pairs,
        rules=rule_table(pairs, scored),
        surface=surface_scores(pairs, scored, seed),
        subsets=hard_subsets(scored),
        fields=field_groups(pairs),
        repeats=repeats(pairs),
        occurrences=occurrence_counts(pairs),
        leaks=split_leaks(pairs),
    )


def _verdicts(audit: Audit) -> Iterator[Verdict]:
    for name in ("length", "second-person", "markup", "name"):
        worst, estimate = _farthest(audit.rule(name).by_part)
        yield Verdict(
            f"{name} rule", _grade(estimate), f"{_percent(estimate)} right by {name} alone ({_where(worst)})"
        )
    overlap, wrong = audit.rule("overlap").by_part["all"], audit.rule(STRANGER).by_part["all"]
    yield Verdict(
        "overlap with a stranger",
        _grade(wrong),
        f"{_percent(wrong)} right by overlap with somebody else's profile: style, not the person",
    )
    gain = (overlap.value or 0.0) - (wrong.value or 0.0)
    yield Verdict(
        "overlap with the person",
        "passes" if gain > FAIR else "warns",
        f"{_percent(overlap)} right by overlap with the right profile, {100 * gain:+.1f} points over a stranger's",
    )
    yield Verdict(
        "surface features, no person",
        _grade(audit.surface.blind),
        f"{_percent(audit.surface.blind)} right by {audit.surface.features} surface features fitted on other people, "
        "never shown the profile",
    )
    yield from _structure_verdicts(audit)


def _structure_verdicts(audit: Audit) -> Iterator[Verdict]:
    counts = audit.repeats
    share = counts.repeated_rows / counts.rows
    yield Verdict(
        "repeated pairs",
        "passes" if share == 0 else "warns" if share < 0.05 else "fails",
        f"{counts.repeated_rows:,} of {counts.rows:,} rows repeat a pair; {counts.distinct:,} pairs are distinct",
    )
    yield Verdict(
        "contradictory gold",
        "passes" if counts.contradictory_pairs == 0 else "fails",
        f"{counts.contradictory_pairs:,} pairs occur with either answer as gold",
    )
    where, worst = _farthest(audit.occurrences)
    yield Verdict(
        "answer counts",
        _grade(worst),
        f"{_percent(worst)} right by counting in how many pairs an answer occurs ({_where(where)})",
    )
    leaking = [leak for leak in audit.leaks if leak.pairs or leak.answers]
    if leaking:
        most = max(leaking, key=lambda leak: leak.answers)
        finding = f"{most.first} and {most.second} share {most.answers:,} answers and {most.pairs:,} pairs"
        yield Verdict(
            "leakage", "warns" if not audit.pairs.splits else "fails", f"{finding}: never split by row"
        )
    else:
        yield Verdict("leakage", "passes", "no two splits or tiers share an answer")
    yield _hostile_verdict(audit)


def _hostile_verdict(audit: Audit) -> Verdict:
    frame = audit.pairs.frame
    answers = dict(zip(frame["chosen_id"], frame["chosen"], strict=True)) | dict(
        zip(frame["rejected_id"], frame["rejected"], strict=True)
    )
    note = describe(
        answers.items(), ((person, profile_text(audit.pairs.people[person])) for person in audit.pairs.people)
    )
    return Verdict(
        "hostile text", "warns" if note else "passes", note or "no text looks written to steer a judge"
    )


def _farthest(parts: dict[str, Estimate]) -> tuple[str, Estimate]:
    """The part where a shortcut is farthest from a coin, either way: always wrong gives the answer away too."""
    return max(parts.items(), key=lambda part: 0.0 if part[1].value is None else abs(part[1].value - 0.5))


def _grade(estimate: Estimate) -> str:
    if estimate.value is None:
        return "warns"
    distance = abs(estimate.value - 0.5)
    # A small tier scatters: what its interval does not tell from a coin is no finding.
    if estimate.low is not None and estimate.high is not None and estimate.low <= 0.5 <= estimate.high:
        return "passes" if distance <= LOUD else "warns"
    return "passes" if distance <= FAIR else "warns" if distance <= LOUD else "fails"


def _percent(estimate: Estimate) -> str:
    return "undefined" if estimate.value is None else f"{100 * estimate.value:.1f} %"


def _where(part: str) -> str:
    return "all pairs" if part == "all" else f"tier {part}"
