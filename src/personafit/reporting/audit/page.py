"""The audit as a page with plots, as a table in the terminal, and as flat records."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup
from rich.table import Table
from rich.text import Text

from personafit.reporting.audit import records
from personafit.reporting.audit.findings import Audit
from personafit.reporting.drawing import save, svg
from personafit.reporting.figures import Drawn
from personafit.reporting.page import PACKAGE, fill_page, put_page
from personafit.reporting.plots import Dot, Panel, PlotRow, panels_figure, series_figure
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell
from personafit.statistics import Estimate

MARKS = {"passes": "✓", "warns": "!", "fails": "✗", "cannot tell": "?"}


def write_audit(audit: Audit, folder: Path) -> Path:
    """Write audit.html and its plots as PNG; returns the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    figures = []
    for name, title, caption, figure in audit_figures(list(audit_results(audit))):
        save(figure, folder / f"{name}.png")
        drawn = Markup(svg(figure, name))
        words = str(figure.get_label())
        figures.append({"name": name, "title": title, "caption": caption, "svg": drawn, "words": words})
    page = fill_page(
        PACKAGE,
        "audit.html.j2",
        "",
        audit=audit,
        parts=[part for part, _ in audit.pairs.parts],
        marks=MARKS,
        cell=_cell,
        figures=figures,
    )
    path = folder / "audit.html"
    put_page(path, page)
    return path


def verdict_table(audit: Audit) -> Table:
    """The verdicts for the terminal."""
    table = Table(
        title=Text(f"{audit.pairs.name}: what the labels reward ({len(audit.pairs.frame):,} pairs)"),
        title_justify="left",
    )
    for heading in ("", "check", "finding"):
        table.add_column(heading, overflow="fold")
    for verdict in audit.verdicts():
        table.add_row(f"{MARKS[verdict.grade]} {verdict.grade}", verdict.check, Text(verdict.finding))
    return table


def rules_table(audit: Audit) -> Table:
    """Every rule by tier for the terminal."""
    table = Table(title="Accuracy of shortcuts in %, 95 % interval below", title_justify="left")
    table.add_column("rule")
    for part, _ in audit.pairs.parts:
        table.add_column(Text(part), justify="right")
    for scores in audit.rules:
        table.add_row(scores.rule, *(show(estimate, "\n") for estimate in scores.by_part.values()))
    table.add_row(
        "surface features, no person", *(show(estimate, "\n") for estimate in audit.surface.by_part.values())
    )
    table.add_row("answer counts", *(show(estimate, "\n") for estimate in audit.occurrences.values()))
    return table


def audit_results(audit: Audit) -> Iterator[Result]:
    """Every number of the audit as a flat record."""
    for scores in audit.rules:
        for part, estimate in scores.by_part.items():
            yield _result(f"rule:{scores.rule}", "accuracy", _slice(part), estimate)
    for part, estimate in audit.surface.by_part.items():
        yield _result(records.BLIND, "accuracy", _slice(part), estimate)
    yield _result(records.INFORMED, "accuracy", {}, audit.surface.informed)
    for subset in audit.subsets:
        for rule, estimate in subset.by_rule.items():
            yield _result(f"rule:{rule}", "accuracy", {"subset": subset.name}, estimate)
    for group in audit.fields:
        yield _result("rule:overlap", "accuracy", {"fields": group.group}, group.only)
        yield _result("rule:overlap", "accuracy", {"fields": records.BUT + group.group}, group.without)
    for part, estimate in audit.occurrences.items():
        yield _result(records.COUNTS, "accuracy", _slice(part), estimate)


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


def show(estimate: Estimate, gap: str = " ") -> str:
    """A number with its interval, in percent."""
    if estimate.value is None:
        return "–"
    text = f"{100 * estimate.value:.1f}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text}{gap}({100 * estimate.low:.1f}–{100 * estimate.high:.1f})"


def _cell(estimate: Estimate) -> Cell:
    """The same for the page, where the interval stands below."""
    if estimate.value is None:
        return Cell()
    text, _, interval = show(estimate, "\n").partition("\n")
    return Cell(text, interval.strip("()"), estimate.value)


def _slice(part: str) -> dict[str, str]:
    return {} if part == "all" else {"tier": part}


def _result(rater: str, metric: str, where: dict[str, str], estimate: Estimate) -> Result:
    return Result.of(
        estimate,
        rater=rater,
        metric=metric,
        slice=where,
        coverage=1.0,
        control="shortcut",
    )


def audit_figures(results: Sequence[Result]) -> Iterator[Drawn]:
    """The figures of an audit, each with its name, its title and how to read it."""
    parts = records.parts(results)
    rows = [
        PlotRow(name, _dots(line.values()), control=name not in (records.BLIND, records.COUNTS))
        for name, line in records.shortcuts(results).items()
    ]
    yield (
        "shortcuts",
        "Shortcuts by tier",
        "How to read it: each mark is the share of pairs a shortcut gets right, the bar its 95 % interval; hollow squares are rules, "
        "dots are fitted or counted on the labels; at the dotted line a shortcut does no better than a coin. "
        "A benchmark that asks for the person should have every shortcut there.",
        panels_figure(rows, [Panel(part, 50.0) for part in parts]),
    )
    fields = [PlotRow(group, _dots(both)) for group, both in records.field_groups(results).items()]
    if fields:
        yield (
            "fields",
            "Which fields the labels reward",
            "Overlap with one group of fields alone, and with everything but that group. A group whose absence costs "
            "nothing is not needed to score.",
            series_figure(
                fields, ["only this group", "all but this group"], 50.0, "accuracy of the overlap rule, %"
            ),
        )
    subsets = [
        PlotRow(f"{name} ({line['length'].n:,})", _dots((line["length"], line["overlap"])))
        for name, line in records.subsets(results).items()
    ]
    yield (
        "subsets",
        "Where shortcuts must fail",
        "The length and overlap rules on the pairs that disarm them. Report a model on these beside its headline.",
        series_figure(subsets, ["length", "overlap"], 50.0, "accuracy, %"),
    )


def _dots(results: Iterable[Result]) -> Sequence[Dot]:
    return [
        Dot(*(None if number is None else 100 * number for number in (one.value, one.low, one.high)))
        for one in results
    ]
