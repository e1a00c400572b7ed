"""The chapter on the benchmark itself: what its labels reward besides fitting the person, from what `audit` keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from personafit._errors import UserError
from personafit.reporting.audit import records
from personafit.reporting.audit.findings import CANNOT_TELL
from personafit.reporting.audit.page import MARKS, audit_figures
from personafit.reporting.number_tables import NumberRow
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell
from personafit.reporting.whole.content import (
    Chapter,
    Grid,
    Picture,
    Piece,
    Sentences,
    count_row,
    made_chapter,
    percent_cell,
)

if TYPE_CHECKING:
    from personafit.reporting.whole.collected import Collected

FILE = "audit.json"
CAPTION = "Accuracy in %, 95 % intervals below, clustered by person (and prompt, where prompts recur); a tie counts ½."
FAILS, WARNS = "fails", "warns"


@dataclass(frozen=True)
class ReadAudit:
    """An audit as it was kept."""

    benchmark: str
    verdicts: Sequence[tuple[str, str, str]]
    """Check, grade and finding."""
    repeats: Mapping[str, Any]
    leaks: Sequence[Mapping[str, Any]]
    results: Sequence[Result]
    command: str | None


def read_audit(path: Path) -> ReadAudit:
    """The audit in a file that `personafit audit` wrote."""
    try:
        body = orjson.loads(path.read_bytes())
        return ReadAudit(
            str(body["benchmark"]),
            [(one["check"], one["grade"], one["finding"]) for one in body["verdicts"]],
            body["repeats"],
            body["leaks"],
            [Result(**row) for row in body["results"]],
            body.get("command"),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UserError(f"{path} cannot be read ({error}); make it again with `personafit audit`.") from error


def audit_words(one: ReadAudit) -> list[str]:
    """What fails and what warns, the worst first."""
    by_grade = {grade: [row for row in one.verdicts if row[1] == grade] for grade in (FAILS, WARNS)}
    unclear = sum(grade == CANNOT_TELL for _, grade, _ in one.verdicts)
    counted = (
        f"{len(by_grade[FAILS])} of {len(one.verdicts)} checks of {one.benchmark} fail, {len(by_grade[WARNS])} warn, "
        f"{unclear} cannot tell."
    )
    return [counted, *(f"{check}: {finding}." for grade in by_grade.values() for check, _, finding in grade)]


def audits(given: "Collected") -> Chapter:
    """What the labels of the benchmarks reward."""
    return made_chapter(
        "audit",
        "What the labels reward",
        "The benchmark itself, before anybody is judged on it: what rules that understand nothing score, which fields are needed, "
        "and what its own structure gives away.",
        {name: _pieces(one) for name, one in given.audits.items()},
        "No audit was given: `personafit audit BENCHMARK --data DIR --out audit` makes one; name the folder audit beside the runs.",
    )


def _pieces(one: ReadAudit) -> list[Piece]:
    shortcuts, parts = records.shortcuts(one.results), records.parts(one.results)
    verdicts = [
        NumberRow([check], [Cell(f"{MARKS.get(grade, '')} {grade}".strip()), Cell(finding)])
        for check, grade, finding in one.verdicts
    ]
    pieces: list[Piece] = [
        Sentences(audit_words(one)[:1]),
        Grid("Verdicts", "One line a check.", ["check"], ["verdict", "finding"], verdicts),
        *(Picture(title, caption, figure) for _, title, caption, figure in audit_figures(one.results)),
        _grid("Shortcuts in numbers", "shortcut", parts, shortcuts),
    ]
    if fields := records.field_groups(one.results):
        both = ["only this group", "all but this group"]
        lines = {name: dict(zip(both, pair, strict=True)) for name, pair in fields.items()}
        pieces.append(_grid("The overlap rule by fields", "fields", both, lines))
    if subsets := records.subsets(one.results):
        rules = list(dict.fromkeys(rule for line in subsets.values() for rule in line))
        pieces.append(_grid("Where shortcuts must fail", "pairs", rules, subsets))
    return [*pieces, *_structure(one)]


def _grid(title: str, head: str, columns: Sequence[str], lines: Mapping[str, Mapping[str, Result]]) -> Grid:
    rows = [
        NumberRow([name], [percent_cell(line.get(column)) for column in columns])
        for name, line in lines.items()
    ]
    return Grid(title, CAPTION, [head], columns, rows)


def _structure(one: ReadAudit) -> list[Piece]:
    """Pairs that stand in the data more than once, and what its parts share."""
    pieces: list[Piece] = []
    if tiers := one.repeats["by_tier"]:
        names = ["rows", "repeat_another_tier", "with_opposite_gold"]
        rows = [count_row([tier], [found[name] for name in names]) for tier, found in tiers.items()]
        headings = ["rows", "repeat a pair of another tier", "of these with opposite gold"]
        caption = f"{one.repeats['rows']:,} rows hold {one.repeats['distinct']:,} distinct pairs."
        pieces.append(Grid("Repeats and contradictions", caption, ["tier"], headings, rows))
    if one.leaks:
        names = ["people", "prompts", "answers", "pairs"]
        rows = [
            count_row([leak["first"], leak["second"]], [leak[name] for name in names]) for leak in one.leaks
        ]
        headings = ["people", "questions", "answers", "pairs"]
        pieces.append(Grid("What parts share", "Counts.", ["between", "and"], headings, rows, folded=True))
    return pieces
