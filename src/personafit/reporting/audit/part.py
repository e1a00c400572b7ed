"""An audit as flat records, as one JSON object, and as a part of a report, whether it was made just now or read from audit.json."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.reporting.audit import CANNOT_TELL, COUNTS, Audit
from personafit.reporting.drawing import save
from personafit.reporting.pieces import (
    Cell,
    Grid,
    Instrument,
    Picture,
    Row,
    Section,
    Sentences,
    count_row,
    percent_cell,
)
from personafit.reporting.plots import Dot, Panel, PlotRow, panels_figure, series_figure
from personafit.reporting.report import ReportPart
from personafit.reporting.report_page import write_page
from personafit.reporting.results import Result
from personafit.statistics import Estimate

FILE = "audit.json"
ALL, BUT = "all", "all but "
BLIND, INFORMED = "surface features, no person", "surface features with overlap"
RULE = "rule:"
FAILS, WARNS = "fails", "warns"
SYMBOLS = {"passes": "✓", WARNS: "!", FAILS: "✗", CANNOT_TELL: "?"}
CAPTION = "Accuracy in %, 95 % intervals below, clustered by person (and prompt, where prompts recur); a tie counts ½."
BOTH = ("only this group", "all but this group")

Lines = dict[str, dict[str, Result]]


@dataclass(frozen=True)
class AuditRecord:
    """An audit as its JSON object keeps it."""

    benchmark: str
    verdicts: Sequence[tuple[str, str, str]]
    """Check, grade and finding."""
    repeats: Mapping[str, Any]
    leaks: Sequence[Mapping[str, Any]]
    results: Sequence[Result]
    command: str | None = None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "AuditRecord":
        """The record in an object that `audit_object` made."""
        return cls(
            str(body["benchmark"]),
            [(one["check"], one["grade"], one["finding"]) for one in body["verdicts"]],
            body["repeats"],
            body["leaks"],
            [Result.from_dict(row) for row in body["results"]],
            body.get("command"),
        )


def read_audit(path: Path) -> AuditRecord:
    """The audit in a file that `personafit audit` wrote."""
    try:
        return AuditRecord.of(orjson.loads(path.read_bytes()))
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({error}); make it again with `personafit audit`.") from error


def audit_object(audit: Audit) -> dict[str, Any]:
    """The whole audit as `--json` prints it."""
    return {
        "benchmark": audit.pairs.name,
        "verdicts": [
            {"check": verdict.check, "grade": verdict.grade, "finding": verdict.finding}
            for verdict in audit.verdicts()
        ],
        "repeats": {
            "rows": audit.repeats.rows,
            "distinct": audit.repeats.distinct,
            "repeated_rows": audit.repeats.repeated_rows,
            "contradictory_pairs": audit.repeats.contradictory_pairs,
            "by_tier": {
                tier: {"rows": rows, "repeat_another_tier": repeated, "with_opposite_gold": opposite}
                for tier, (rows, repeated, opposite) in audit.repeats.by_tier.items()
            },
        },
        "leaks": [leak.__dict__ for leak in audit.leaks],
        "surface_weights": audit.surface.weights,
        "results": [result.as_dict() for result in audit_results(audit)],
    }


def audit_results(audit: Audit) -> Iterator[Result]:
    """Every number of the audit as a flat record."""
    for scores in audit.rules:
        for part, estimate in scores.by_part.items():
            yield _result(f"{RULE}{scores.rule}", _tier(part), estimate)
    for part, estimate in audit.surface.by_part.items():
        yield _result(BLIND, _tier(part), estimate)
    yield _result(INFORMED, {}, audit.surface.informed)
    for subset in audit.subsets:
        for rule, estimate in subset.by_rule.items():
            yield _result(f"{RULE}{rule}", {"subset": subset.name}, estimate)
    for group in audit.fields:
        yield _result(f"{RULE}overlap", {"fields": group.group}, group.only)
        yield _result(f"{RULE}overlap", {"fields": BUT + group.group}, group.without)
    for part, estimate in audit.occurrences.items():
        yield _result(COUNTS, _tier(part), estimate)


def _tier(part: str) -> dict[str, str]:
    return {} if part == ALL else {"tier": part}


def _result(rater: str, where: dict[str, str], estimate: Estimate) -> Result:
    return Result.of(estimate, rater=rater, metric="accuracy", slice=where, coverage=1.0, control="shortcut")


def shortcuts(results: Sequence[Result]) -> Lines:
    """Each shortcut's accuracy on all pairs and on every tier."""
    lines: Lines = {}
    for one in results:
        if set(one.slice) <= {"tier"} and one.rater != INFORMED:
            name = str(one.rater).removeprefix(RULE)
            lines.setdefault(name, {})[one.slice.get("tier", ALL)] = one
    return lines


def subsets(results: Sequence[Result]) -> Lines:
    """Each subset of pairs on which shortcuts must fail, and the rules' accuracy there."""
    lines: Lines = {}
    for one in results:
        if "subset" in one.slice:
            lines.setdefault(one.slice["subset"], {})[str(one.rater).removeprefix(RULE)] = one
    return lines


def field_groups(results: Sequence[Result]) -> Lines:
    """Each group of fields, and the overlap rule's accuracy with it alone and with everything but it."""
    found = {one.slice["fields"]: one for one in results if "fields" in one.slice}
    return {
        name: dict(zip(BOTH, (one, found[BUT + name]), strict=True))
        for name, one in found.items()
        if BUT + name in found
    }


def tiers(results: Sequence[Result]) -> list[str]:
    """All pairs, then the tiers in their order."""
    return list(dict.fromkeys(part for line in shortcuts(results).values() for part in line))


def audit_sentences(one: AuditRecord) -> list[str]:
    """How many checks fail, then each finding that fails or warns, the worst first."""
    by_grade = {grade: [row for row in one.verdicts if row[1] == grade] for grade in (FAILS, WARNS)}
    unclear = sum(grade == CANNOT_TELL for _, grade, _ in one.verdicts)
    counted = (
        f"{len(by_grade[FAILS])} of {len(one.verdicts)} checks of {one.benchmark} fail, {len(by_grade[WARNS])} warn, "
        f"{unclear} cannot tell."
    )
    return [counted, *(f"{check}: {finding}." for grade in by_grade.values() for check, _, finding in grade)]


def audit_part(one: AuditRecord, pictures: Mapping[str, Picture]) -> ReportPart:
    """The audit as a part of a report, with those of the pictures of `audit_pictures` that are given."""
    drawn = {
        name: [pictures[name]] if name in pictures else [] for name in ("shortcuts", "fields", "subsets")
    }
    verdicts = [
        Row([check], [Cell(f"{SYMBOLS.get(grade, '')} {grade}".strip()), Cell(finding)])
        for check, grade, finding in one.verdicts
    ]
    rules = dict.fromkeys(rule for line in subsets(one.results).values() for rule in line)
    sections = [
        Section(
            "Shortcuts in numbers",
            [_grid("Shortcuts by tier", "shortcut", tiers(one.results), shortcuts(one.results))],
            "What rules that understand nothing score, and features fitted on the labels of other people.",
        ),
        Section(
            "Fields that the labels reward",
            [
                *drawn["fields"],
                _grid("The overlap rule by fields", "fields", BOTH, field_groups(one.results)),
            ],
            "Overlap with one group of fields alone, and with everything but that group.",
        ),
        Section(
            "Pairs on which shortcuts must fail",
            [
                *drawn["subsets"],
                _grid("Rules on these pairs", "pairs", list(rules), subsets(one.results)),
            ],
            "Report a model on these pairs beside its headline.",
        ),
        _repeats(one),
        _leaks(one),
    ]
    people = max((result.people for result in one.results), default=0)
    return ReportPart(
        one.benchmark,
        f"Audit of {one.benchmark}: what its labels reward",
        audit_sentences(one),
        [
            *drawn["shortcuts"],
            Grid("Verdicts", "One row a check.", ["check"], ["verdict", "finding"], verdicts),
        ],
        [section for section in sections if _filled(section)],
        instrument=Instrument(one.command, {"benchmark": one.benchmark}) if one.command else None,
        facts=[f"{one.repeats['rows']:,} pairs", f"{people:,} people", "nothing was judged: the data alone"],
    )


def write_audit(audit: Audit, folder: Path, command: str | None = None) -> Path:
    """Write audit.html, audit.json and the plots as PNG into a folder; returns the page's path."""
    body = audit_object(audit) | ({} if command is None else {"command": command})
    one = AuditRecord.of(body)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = audit_pictures(one.results)
    for name, picture in pictures.items():
        save(picture.figure, folder / f"{name}.png")
    (folder / FILE).write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
    write_page([audit_part(one, pictures)], folder / "audit.html")
    return folder / "audit.html"


def _filled(section: Section) -> bool:
    return any(not isinstance(piece, Grid) or piece.rows for piece in section.pieces)


def _grid(title: str, head: str, columns: Sequence[str], lines: Lines) -> Grid:
    rows = [
        Row([name], [percent_cell(line.get(column)) for column in columns]) for name, line in lines.items()
    ]
    return Grid(title, CAPTION, [head], columns, rows)


def _repeats(one: AuditRecord) -> Section:
    counts = one.repeats
    said = (
        f"{counts['rows']:,} rows hold {counts['distinct']:,} distinct pairs (person, question, two answers); "
        f"{counts['contradictory_pairs']:,} of them occur with either answer as gold."
    )
    names = ["rows", "repeat_another_tier", "with_opposite_gold"]
    rows = [count_row([tier], [found[name] for name in names]) for tier, found in counts["by_tier"].items()]
    headings = ["rows", "repeat a pair of another tier", "of these with opposite gold"]
    by_tier = [Grid("Repeats by tier", "Counts.", ["tier"], headings, rows)] if rows else []
    return Section("Repeats and contradictions", [Sentences([said]), *by_tier])


def _leaks(one: AuditRecord) -> Section:
    names = ["people", "prompts", "answers", "pairs"]
    rows = [count_row([leak["first"], leak["second"]], [leak[name] for name in names]) for leak in one.leaks]
    grid = Grid(
        "Shared between two", "Counts.", ["between", "and"], ["people", "questions", *names[2:]], rows
    )
    return Section("What splits or tiers share", [grid], "What two of them share must not be split by row.")


def audit_pictures(results: Sequence[Result]) -> dict[str, Picture]:
    """The pictures of an audit by the names of their files."""
    rows = [
        PlotRow(name, _dots(line.values()), control=name not in (BLIND, COUNTS))
        for name, line in shortcuts(results).items()
    ]
    found = {
        "shortcuts": Picture(
            "Shortcuts by tier",
            "How to read it: each mark is the share of pairs a shortcut gets right, the bar its 95 % interval; hollow squares are "
            "rules, dots are fitted or counted on the labels; at the dotted line a shortcut does no better than a coin. "
            "A benchmark that asks for the person should have every shortcut there.",
            panels_figure(rows, [Panel(part, 50.0) for part in tiers(results)]),
        )
    }
    fields = [PlotRow(group, _dots(both.values())) for group, both in field_groups(results).items()]
    if fields:
        found["fields"] = Picture(
            "Which fields the labels reward",
            "A group whose absence costs nothing is not needed to score.",
            series_figure(fields, BOTH, 50.0, "accuracy of the overlap rule, %"),
        )
    disarmed = [
        PlotRow(f"{name} ({line['length'].n:,})", _dots((line["length"], line["overlap"])))
        for name, line in subsets(results).items()
    ]
    found["subsets"] = Picture(
        "Where shortcuts must fail",
        "The length and overlap rules on the pairs that disarm them.",
        series_figure(disarmed, ["length", "overlap"], 50.0, "accuracy, %"),
    )
    return found


def _dots(results: Iterable[Result]) -> Sequence[Dot]:
    return [
        Dot(*(None if number is None else 100 * number for number in (one.value, one.low, one.high)))
        for one in results
    ]
