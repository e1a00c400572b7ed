"""Results as tables in the terminal: the benchmark's own table first, then what each score is worth."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.reporting.claims import count_of, line_name, same_words
from personafit.reporting.definitions import legend
from personafit.reporting.judged_run import JudgedRun
from personafit.reporting.results import Result

TIERS = ("easy", "medium", "hard")
PUBLISHED_TABLE = "Table 3"  # of the PersonaFeedback paper
HALVES = ("specific", "general")
WIDE = 150  # terminal columns that the widest table takes
MOST_NARROW = 5
WORTH_WIDE = 125

Column = tuple[str, dict[str, str]]


def columns_of(scores: JudgedRun) -> list[Column]:
    """Headings and slices of the benchmark's table, in their customary order; a missing half keeps its columns."""
    names = {name for layout in scores.info["layout"] for name in layout}
    if {"half", "tier"} <= names:
        columns: list[Column] = []
        for half in HALVES:
            columns += [(f"{half} {tier}", {"half": half, "tier": tier}) for tier in TIERS]
            columns.append((f"{half} avg", {"half": half}))
        return [*columns, ("total", {})]
    columns = []
    for layout in scores.info["layout"]:
        columns += [(" ".join(row.values()), row) for row in scores.slice_rows(layout)]
    return [*columns, ("total", {})]


def published_rows(info: dict[str, Any]) -> list[dict[str, Any]]:
    """The published scores of a benchmark that are laid out like its table: of numbered tables that is the one."""
    rows = info.get("published", [])
    return [row for row in rows if "Table" not in row["source"] or row["source"].endswith(PUBLISHED_TABLE)]


def missing_halves(scores: JudgedRun) -> list[str]:
    """The halves a benchmark of two halves does not have here."""
    if not any("half" in layout for layout in scores.info["layout"]):
        return []
    present = {row["half"] for row in scores.slice_rows(["half"])}
    return [half for half in HALVES if half not in present]


def print_run(console: Console, scores: JudgedRun, results: Sequence[Result]) -> None:
    """The two tables and the notes of a run."""
    for columns in _fitting(columns_of(scores), missing_halves(scores), console.width):
        console.print(_score_table(scores, results, columns))
    worth = worth_columns(scores.info["metric"])
    parts = [worth] if console.width >= WORTH_WIDE else [worth[:2], worth[2:]]
    for part in parts:
        console.print(_worth_table(scores, results, part, first=part is parts[0]))
    console.print(Text(legend(result.metric for result in results), style="dim"))
    for note in scores.run.config["notes"]:
        console.print(Text(note, style="dim"))


def _fitting(columns: list[Column], absent: list[str], width: int) -> list[list[Column]]:
    """The columns as one table, or in a narrow terminal as one per half that is there, so that nothing is cut."""
    if width >= WIDE or len(columns) <= MOST_NARROW:
        return [columns]
    parts = [
        [column for column in columns if column[1].get("half") == half]
        for half in HALVES
        if half not in absent
    ]
    if not any(parts):  # no halves: cut by number
        return [columns[start : start + MOST_NARROW] for start in range(0, len(columns), MOST_NARROW)]
    parts[-1] = [*parts[-1], *(column for column in columns if not column[1])]
    return parts


def _score_table(scores: JudgedRun, results: Sequence[Result], columns: list[Column]) -> Table:
    metric = scores.info["metric"]
    absent = missing_halves(scores)
    table = Table(
        title=_plain(f"{scores.info['title'] or scores.info['name']}: {metric} in %, 95 % interval below"),
        title_justify="left",
    )
    table.add_column("rater", overflow="fold", min_width=12)
    table.add_column("view", overflow="fold", min_width=7)
    for heading, _ in columns:
        table.add_column(_plain(heading.replace(" ", "\n")), justify="right", no_wrap=True)
    index = {(r.rater, r.system, r.given, r.view, _key(r.slice)): r for r in results if r.metric == metric}
    groups = dict.fromkeys(
        (r.rater, r.system, r.given, r.view, r.control) for r in results if r.metric == metric
    )
    for rater, system, given, view, control in groups:
        cells = []
        for heading, where in columns:
            blank = heading == "total" and bool(absent)
            cells.append("" if blank else _cell(index.get((rater, system, given, view, _key(where)))))
        table.add_row(
            _plain(line_name(rater, system, given)), _plain(str(view)), *cells, style="dim" if control else ""
        )
    if published := published_rows(scores.info):
        table.add_section()
        table.add_row(Text("published, not measured here:", style="italic"))
        for row in published:
            cells = [_percent(row["scores"].get("/".join(where.values()))) for _, where in columns]
            table.add_row(_plain(row["model"]), Text(_short_source(row["source"])), *cells, style="dim")
    return table


def worth_columns(metric: str) -> list[tuple[str, str, dict[str, str]]]:
    """Heading, metric and slice of the columns that say what a score is worth."""
    common: list[tuple[str, str, dict[str, str]]] = [
        ("consistency", "consistency", {}),
        ("lift", "lift", {}),
        ("restraint", "restraint", {"expect": "generic"}),
    ]
    if metric == "win_rate":
        controlled = "win_rate_length_controlled"
        return [
            ("at equal length\nvs generic", controlled, {"against": "generic"}),
            ("at equal length\nvs wrong", controlled, {"against": "wrong"}),
            *common,
        ]
    return [(metric, metric, {}), (f"{metric}\ndebiased", f"{metric}_debiased", {}), *common]


def _worth_table(
    scores: JudgedRun, results: Sequence[Result], columns: list[tuple[str, str, dict[str, str]]], first: bool
) -> Table:
    metric = scores.info["metric"]
    table = Table(title="What each score is worth, over all items here", title_justify="left")
    table.add_column("rater", overflow="fold", min_width=12)
    table.add_column("view", overflow="fold", min_width=7)
    for heading in [*(["coverage", "people"] if first else []), *(heading for heading, _, _ in columns)]:
        table.add_column(heading, justify="right")
    groups: dict[tuple[Any, ...], dict[tuple[Any, ...], Result]] = {}
    for result in results:
        group = groups.setdefault((result.rater, result.system, result.given, result.view), {})
        group[result.metric, _key(result.slice)] = result
    for (rater, system, given, view), found in groups.items():
        head = found[metric, ()]
        table.add_row(
            _plain(line_name(rater, system, given)),
            _plain(str(view)),
            *(
                [_percent(None if head.coverage is None else 100 * head.coverage), str(head.people)]
                if first
                else []
            ),
            *(_cell(found.get((metric_name, _key(where)))) for _, metric_name, where in columns),
            style="dim" if head.control else "",
        )
    return table


def _plain(text: str) -> Text:
    return Text(text)  # names come from outside: never read as markup


def _cell(result: Result | None) -> str:
    if result is None or result.value is None:
        return ""
    if few := count_of(result):
        return "\n".join(few)
    value = f"{100 * result.value:.1f}"
    if same := same_words(result, result.metric == "lift"):
        return f"{value}\n[dim]{same.replace('ties throughout', 'all ties')}[/dim]"  # columns are narrow
    if result.low is None or result.high is None:
        return value
    return f"{value}\n[dim]{100 * result.low:.1f}–{100 * result.high:.1f}[/dim]"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _key(where: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(where.items()))


def _short_source(source: str) -> str:
    return source.split(", ", 1)[1].replace("arXiv ", "") if ", " in source else source
