"""The shortcut audit of a benchmark: what its labels reward besides fitting the person."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.benchmarks import Benchmark
from personafit.benchmarks.hostile import describe, profile_pieces
from personafit.reports.audit.checks import (
    ALL,
    COUNTINGS,
    FEATURES,
    STRANGER,
    AuditPairs,
    Estimates,
    Leak,
    Repeats,
    load_pairs,
    occurrence_counts,
    overlap_gain,
    repeats,
    rule_table,
    score_rules,
    split_leaks,
    surface_scores,
)
from personafit.reports.claims import POINTS, TOO_FEW, counted, interval_words, is_few, people_words
from personafit.reports.pieces import Cell, Grid, Instrument, Picture, Row, Section, percent_cell
from personafit.reports.plots import Panel, PlotRow, dot_of, panels_figure
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, with_interval
from personafit.statistics import Estimate
from personafit.statistics.clusters import FEWEST_PEOPLE
from personafit.statistics.decisions import (
    GateOutcome,
    Hypothesis,
    HypothesisTest,
    Measured,
    decide,
    decide_together,
    is_constant,
)

FAIR = 0.05  # a shortcut this close to chance is harmless
LOUD = 0.10
CANNOT_TELL = "cannot tell"
GRADES = ("passes", CANNOT_TELL, "warns", "fails")
COUNTS = "answer counts"
FILE = "audit.json"
BLIND = "surface features, no person"
RULE = "rule:"
PERSONAL = ("overlap", "name")  # rules that read the right person's profile
SYMBOLS = {"passes": "✓", "warns": "!", "fails": "✗", CANNOT_TELL: "?"}
CAPTION = "Accuracy in %, 95 % intervals below, clustered by person (and prompt, where prompts recur); a tie counts ½."

Lines = dict[str, dict[str, Result]]
"""Row of a table → results by column."""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check of an audit: its grade and a sentence."""

    check: str
    grade: str
    """passes, warns, fails, or cannot tell."""
    finding: str


@dataclass(frozen=True)
class Audit:
    """All findings of an audit."""

    pairs: AuditPairs
    rules: dict[str, Estimates]
    surface: Estimates
    repeats: Repeats
    occurrences: Estimates
    leaks: list[Leak]
    gain: Estimate
    """Accuracy of overlap with the person minus that of overlap with a stranger, on the same pairs."""

    def verdicts(self) -> list[CheckResult]:
        checks = _checks(self)
        effects = [
            Hypothesis(estimate, null=0.5, picked_from=check.picked_from, picked_highest=True)
            for check in checks
            for estimate in check.parts.values()
        ]
        found = iter(decide_together(effects))
        graded = {check.name: _worst(check, {part: next(found) for part in check.parts}) for check in checks}
        counted = graded.pop(COUNTS)
        return [*graded.values(), _gain_verdict(self), *_structure_verdicts(self, counted)]


def audit_benchmark(benchmark: Benchmark, seed: int = 0) -> Audit:
    """Audit the data of a benchmark; no model is asked."""
    pairs = load_pairs(benchmark)
    scored = score_rules(pairs, seed)
    return Audit(
        pairs=pairs,
        rules=rule_table(scored),
        surface=surface_scores(pairs, seed),
        repeats=repeats(pairs),
        occurrences=occurrence_counts(pairs),
        leaks=split_leaks(pairs),
        gain=overlap_gain(scored),
    )


@dataclass(frozen=True)
class _Check:
    """A shortcut that should do no better than chance, with its scores on all pairs or by tier."""

    name: str
    parts: Estimates
    finding: str
    """The words that follow the score."""
    picked_from: int = 1
    """The number of scores of which each is the highest."""


def _checks(audit: Audit) -> list[_Check]:
    rules = [
        _Check(f"{name} rule", audit.rules[name], f"right by {name} alone")
        for name in ("length", "second-person", "markup", "name")
    ]
    return [
        *rules,
        _Check(
            "overlap with a stranger",
            {ALL: audit.rules[STRANGER][ALL]},
            "right by overlap with somebody else's profile: style, not the person",
        ),
        _Check(
            BLIND,
            {ALL: audit.surface[ALL]},
            f"right by {len(FEATURES)} surface features fitted on other people, never shown the profile",
        ),
        _Check(
            COUNTS,
            audit.occurrences,
            "right by counting the pairs an answer occurs in, or the people its template was written to",
            COUNTINGS,
        ),
    ]


def _worst(check: _Check, findings: dict[str, HypothesisTest]) -> CheckResult:
    """Return the verdict on the part where a shortcut does most harm; scores below chance count like those above it."""

    def badness(part: str) -> tuple[int, float]:
        value = check.parts[part].value
        return GRADES.index(_grade(findings[part])), 0.0 if value is None else abs(value - 0.5)

    part = max(findings, key=badness)
    where = f" ({'all pairs' if part == ALL else f'tier {part}'})" if len(findings) > 1 else ""
    said = _shortcut_in_words(findings[part], f"{check.finding}{where}")
    return CheckResult(check.name, _grade(findings[part]), said)


def _shortcut_in_words(tested: HypothesisTest, does: str) -> str:
    """Describe a shortcut's score; if it cannot be told from chance, also what the data could have detected."""
    estimate = tested.estimate
    if estimate.value is None:
        return f"undefined: nothing is {does}"
    if is_few(estimate):
        return f"{counted(estimate)} {does}; {TOO_FEW}"
    if is_constant(estimate, 0.5):
        return f"ties throughout: no pair is {does}"
    said = f"{with_interval(estimate, unit=' %')} {does}"
    if tested.decided or _is_fair(estimate) or tested.detectable is None:
        return said
    if tested.detectable > 0.5:  # no score is further from chance
        return f"{said}; these data are too few to tell any score from chance"
    return f"{said}; these data could have detected {POINTS.plain(tested.detectable)} or more from chance"


def _is_fair(estimate: Measured) -> bool:
    """Return whether the whole interval is harmlessly close to chance."""
    low, high = estimate.low, estimate.high
    return low is not None and high is not None and low >= 0.5 - FAIR and high <= 0.5 + FAIR


def _grade(finding: HypothesisTest) -> str:
    """Grade a shortcut: passes only if the interval lies in the fair band; warns or fails only if it differs from chance."""
    estimate = finding.estimate
    if estimate.value is None or estimate.people < FEWEST_PEOPLE:
        return CANNOT_TELL
    if _is_fair(estimate) or is_constant(estimate, 0.5):
        return "passes"
    distance = abs(estimate.value - 0.5)
    if not finding.decided or distance <= FAIR:
        return CANNOT_TELL
    return "warns" if distance <= LOUD else "fails"


def _gain_verdict(audit: Audit) -> CheckResult:
    """Return the verdict on overlap with the person, which should beat overlap with a stranger on the same pairs."""
    outcome = decide(audit.gain, FAIR).outcome
    grade = {GateOutcome.PASSES: "passes", GateOutcome.FAILS: "warns"}.get(outcome, CANNOT_TELL)
    overlap, gain = audit.rules["overlap"][ALL], audit.gain
    if overlap.value is None:
        said = "undefined: no pair overlaps"
    elif gain.value is None:
        said = "undefined: nobody shares anybody's language, so there is no stranger to compare with"
    elif is_few(gain):
        said = f"{counted(overlap)} right by overlap with the right profile; {TOO_FEW}"
    else:
        said = (
            f"{100 * overlap.value:.1f} % right by overlap with the right profile, {POINTS.signed(gain.value)} points"
            f"{interval_words(gain)} over a stranger's"
        )
    return CheckResult("overlap with the person", grade, said)


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
        grade = "warns" if not audit.pairs.splits else "fails"
        yield CheckResult("leakage", grade, f"{finding}; split by person, never by row")
    else:
        yield CheckResult("leakage", "passes", "no two splits or tiers share an answer")
    yield _hostile_verdict(audit)


def _hostile_verdict(audit: Audit) -> CheckResult:
    frame = audit.pairs.frame
    answers = {
        product: [text]
        for side in ("chosen", "rejected")
        for product, text in zip(frame[f"{side}_id"], frame[side], strict=True)
    }
    note = describe(
        answers.items(), ((person, profile_pieces(known)) for person, known in audit.pairs.people.items())
    )
    return CheckResult(
        "hostile text", "warns" if note else "passes", note or "no text looks written to steer a judge"
    )


# -- results and report -------------------------------------------------------------------------------------------------------


def read_audit(path: Path) -> ReportPart:
    """Read a file written by `personafit audit` as a report part."""
    try:
        return audit_part(orjson.loads(path.read_bytes()))
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({error}); make it again with `personafit audit`.") from error


def audit_object(audit: Audit) -> dict[str, Any]:
    """Return the audit as `--json` prints it."""
    return {
        "benchmark": audit.pairs.name,
        "verdicts": [asdict(verdict) for verdict in audit.verdicts()],
        "repeats": asdict(audit.repeats),
        "leaks": [asdict(leak) for leak in audit.leaks],
        "results": [result.as_dict() for result in audit_results(audit)],
    }


def audit_results(audit: Audit) -> Iterator[Result]:
    """Yield every number of the audit as a result."""
    shortcuts = {f"{RULE}{rule}": estimates for rule, estimates in audit.rules.items()}
    shortcuts |= {BLIND: audit.surface, COUNTS: audit.occurrences}
    for rater, estimates in shortcuts.items():
        for part, estimate in estimates.items():
            where = {} if part == ALL else {"tier": part}
            yield Result.of(
                estimate, rater=rater, metric="accuracy", slice=where, coverage=1.0, control="shortcut"
            )


def audit_part(body: Mapping[str, Any], picture: bool = True) -> ReportPart:
    """Return the report part of an audit written by `audit_object`."""
    name, verdicts, repeats = str(body["benchmark"]), body["verdicts"], body["repeats"]
    results = [Result.from_dict(row) for row in body["results"]]
    shortcuts: Lines = {}
    for one in results:
        shortcuts.setdefault(str(one.rater).removeprefix(RULE), {})[one.slice.get("tier", ALL)] = one
    counts = {grade: sum(one["grade"] == grade for one in verdicts) for grade in SYMBOLS}
    said = [
        *_best_shortcut(shortcuts),
        f"{counts['fails']} of {len(verdicts)} checks of {name} fail, {counts['warns']} warn, "
        f"{counts[CANNOT_TELL]} cannot tell.",
    ]
    for grade in ("fails", "warns"):
        said += [
            f"{str(one['check']).capitalize()}: {one['finding']}."
            for one in verdicts
            if one["grade"] == grade
        ]
    rows = [
        Row([one["check"]], [Cell(f"{SYMBOLS[one['grade']]} {one['grade']}"), Cell(one["finding"])])
        for one in verdicts
    ]
    drawn = [shortcuts_picture(shortcuts)] if picture else []
    why = "What simple rules score, and surface features fitted on the labels of other people."
    sections = [Section("Shortcuts in numbers", [_shortcuts_grid(shortcuts)], why)]
    people = max((result.people for result in results), default=0)
    command = body.get("command")
    return ReportPart(
        name,
        f"Audit of {name}: how far is it solved without the person?",
        said,
        [*drawn, Grid("Verdicts", "The worst tier of each check.", ["check"], ["verdict", "finding"], rows)],
        sections,
        instrument=Instrument(command, {"benchmark": name}) if command else None,
        facts=[f"{repeats['rows']:,} pairs", people_words(people), "no model was asked"],
    )


def _best_shortcut(shortcuts: Lines) -> list[str]:
    """Return a sentence on the shortcut that is right most often without the person; empty if none has a score."""
    whole = {name: line[ALL] for name, line in shortcuts.items() if name not in PERSONAL and ALL in line}
    known = [(one.value, name) for name, one in whole.items() if one.value is not None]
    if not known:
        return []
    name = max(known)[1]
    share = with_interval(whole[name], unit=" %")
    return [
        f"Without the person, “{name}” does best: right in {share} of {whole[name].n:,} pairs, where chance is 50 %."
    ]


def _shortcuts_grid(lines: Lines) -> Grid:
    columns = list(dict.fromkeys(column for line in lines.values() for column in line))
    rows = [
        Row([name], [percent_cell(line.get(column)) for column in columns]) for name, line in lines.items()
    ]
    return Grid("Shortcuts by tier", CAPTION, ["shortcut"], columns, rows)


def shortcuts_picture(shortcuts: Lines) -> Picture:
    """Plot the score of every shortcut by tier."""
    tiers = list(dict.fromkeys(tier for line in shortcuts.values() for tier in line))
    rows = [
        PlotRow(name, [dot_of(line.get(tier)) for tier in tiers], people=name in PERSONAL)
        for name, line in shortcuts.items()
    ]
    return Picture(
        "Shortcuts by tier",
        "Share of pairs that each shortcut gets right, in %, with 95 % intervals. At the dotted line, chance, every shortcut is in a "
        "benchmark that needs the person; only what reads the right person's profile (diamonds) may do better.",
        panels_figure(rows, [Panel(tier, 50.0) for tier in tiers]),
    )
