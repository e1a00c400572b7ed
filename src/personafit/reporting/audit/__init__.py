"""The shortcut audit of a benchmark and its verdicts: what the labels reward besides fitting the person."""

from collections.abc import Iterator
from dataclasses import dataclass

from personafit.benchmarks import Benchmark
from personafit.benchmarks.hostile import describe, profile_text
from personafit.reporting.audit.checks import (
    STRANGER,
    AuditPairs,
    FieldGroup,
    Leak,
    Repeats,
    RuleScores,
    Subset,
    SurfaceScores,
    field_groups,
    hard_subsets,
    load_pairs,
    occurrence_counts,
    overlap_gain,
    repeats,
    rule_table,
    score_rules,
    split_leaks,
    surface_scores,
)
from personafit.reporting.claims import gain_finding, shortcut_finding
from personafit.statistics import Estimate
from personafit.statistics.clusters import FEWEST_PEOPLE
from personafit.statistics.decisions import (
    GateOutcome,
    Hypothesis,
    HypothesisTest,
    decide,
    decide_together,
    is_constant,
)

FAIR = 0.05  # a shortcut this close to a coin is harmless
LOUD = 0.10
CANNOT_TELL = "cannot tell"
GRADES = ("passes", CANNOT_TELL, "warns", "fails")
COUNTS = "answer counts"


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of an audit: its grade and a sentence."""

    check: str
    grade: str
    """passes, warns, fails, or cannot tell."""
    finding: str


@dataclass(frozen=True)
class Audit:
    """Everything an audit found."""

    pairs: AuditPairs
    rules: list[RuleScores]
    surface: SurfaceScores
    subsets: list[Subset]
    fields: list[FieldGroup]
    repeats: Repeats
    occurrences: dict[str, Estimate]
    leaks: list[Leak]
    gain: Estimate
    """Accuracy of overlap with the person minus that of overlap with a stranger, on the same pairs."""

    def rule(self, name: str) -> RuleScores:
        """The scores of one rule."""
        return next(scores for scores in self.rules if scores.rule == name)

    def verdicts(self) -> list[CheckResult]:
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
        gain=overlap_gain(scored),
    )


def _verdicts(audit: Audit) -> Iterator[CheckResult]:
    checks = _checks(audit)
    effects = [
        Hypothesis(estimate, null=0.5, picked_from=check.picked_from, picked_highest=True)
        for check in checks
        for estimate in check.parts.values()
    ]
    findings = iter(decide_together(effects))
    graded = {check.name: _worst(check, {part: next(findings) for part in check.parts}) for check in checks}
    yield from (verdict for name, verdict in graded.items() if name != COUNTS)
    yield _gain_verdict(audit)
    yield from _structure_verdicts(audit, graded[COUNTS])


@dataclass(frozen=True)
class _Check:
    """A shortcut that should do no better than a coin, with what it scores on all pairs or by tier."""

    name: str
    parts: dict[str, Estimate]
    finding: str
    """What is said after the score."""
    picked_from: int = 1
    """How many scores each was picked from as the highest."""


def _checks(audit: Audit) -> list[_Check]:
    rules = [
        _Check(f"{name} rule", audit.rule(name).by_part, f"right by {name} alone")
        for name in ("length", "second-person", "markup", "name")
    ]
    return [
        *rules,
        _Check(
            "overlap with a stranger",
            {"all": audit.rule(STRANGER).by_part["all"]},
            "right by overlap with somebody else's profile: style, not the person",
        ),
        _Check(
            "surface features, no person",
            {"all": audit.surface.blind},
            f"right by {audit.surface.features} surface features fitted on other people, never shown the profile",
        ),
        _Check(COUNTS, audit.occurrences, "right by counting in how many pairs an answer occurs", 2),
    ]


def _worst(check: _Check, findings: dict[str, HypothesisTest]) -> CheckResult:
    """The verdict on the part where a shortcut does most harm; always wrong gives the answer away as always right does."""

    def badness(part: str) -> tuple[int, float]:
        value = check.parts[part].value
        return GRADES.index(_grade(findings[part])), 0.0 if value is None else abs(value - 0.5)

    part = max(findings, key=badness)
    where = f" ({_where(part)})" if len(findings) > 1 else ""
    said = shortcut_finding(check.parts[part], f"{check.finding}{where}", FAIR, findings[part])
    return CheckResult(check.name, _grade(findings[part]), said)


def _grade(finding: HypothesisTest) -> str:
    """Passes only if the interval lies inside the fair band; warns or fails only if it is told apart from a coin."""
    estimate = finding.estimate
    if estimate.value is None or estimate.people < FEWEST_PEOPLE:
        return CANNOT_TELL
    low, high = estimate.low, estimate.high
    inside = low is not None and high is not None and low >= 0.5 - FAIR and high <= 0.5 + FAIR
    if inside or is_constant(estimate, 0.5):
        return "passes"
    distance = abs(estimate.value - 0.5)
    if not finding.decided or distance <= FAIR:
        return CANNOT_TELL
    return "warns" if distance <= LOUD else "fails"


def _gain_verdict(audit: Audit) -> CheckResult:
    """Overlap with the person should be worth more than overlap with a stranger, on the same pairs."""
    outcome = decide(audit.gain, FAIR).outcome
    grade = {GateOutcome.PASSES: "passes", GateOutcome.FAILS: "warns"}.get(outcome, CANNOT_TELL)
    overlap = audit.rule("overlap").by_part["all"]
    return CheckResult("overlap with the person", grade, gain_finding(overlap, audit.gain))


def _structure_verdicts(audit: Audit, counted: CheckResult) -> Iterator[CheckResult]:
    counts = audit.repeats
    share = counts.repeated_rows / counts.rows
    yield CheckResult(
        "repeated pairs",
        "passes" if share == 0 else "warns" if share < 0.05 else "fails",
        f"{counts.repeated_rows:,} of {counts.rows:,} rows repeat a pair; {counts.distinct:,} pairs are distinct",
    )
    yield CheckResult(
        "contradictory gold",
        "passes" if counts.contradictory_pairs == 0 else "fails",
        f"{counts.contradictory_pairs:,} pairs occur with either answer as gold",
    )
    yield counted
    leaking = [leak for leak in audit.leaks if leak.pairs or leak.answers]
    if leaking:
        most = max(leaking, key=lambda leak: leak.answers)
        finding = f"{most.first} and {most.second} share {most.answers:,} answers and {most.pairs:,} pairs"
        yield CheckResult(
            "leakage", "warns" if not audit.pairs.splits else "fails", f"{finding}: never split by row"
        )
    else:
        yield CheckResult("leakage", "passes", "no two splits or tiers share an answer")
    yield _hostile_verdict(audit)


def _hostile_verdict(audit: Audit) -> CheckResult:
    frame = audit.pairs.frame
    answers = dict(zip(frame["chosen_id"], frame["chosen"], strict=True)) | dict(
        zip(frame["rejected_id"], frame["rejected"], strict=True)
    )
    note = describe(
        answers.items(), ((person, profile_text(audit.pairs.people[person])) for person in audit.pairs.people)
    )
    return CheckResult(
        "hostile text", "warns" if note else "passes", note or "no text looks written to steer a judge"
    )


def _where(part: str) -> str:
    return "all pairs" if part == "all" else f"tier {part}"
