"""The report of a run of choices: scores, controls, contexts, analyses, and a browser of its items."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.contexts import is_remembered
from personafit.kinds.choice_scores import RunScores, choice_lines, columns_of, load_scores, missing_halves
from personafit.reporting import plots
from personafit.reporting.agree_part import agreement_section
from personafit.reporting.agree_ratings import run_source
from personafit.reporting.asked import ERRORS_SHOWN, rater_facts
from personafit.reporting.aspects import aspects_section
from personafit.reporting.bias import bias_section
from personafit.reporting.browse import browser_data
from personafit.reporting.claims import lift_claims
from personafit.reporting.failures import failures_section
from personafit.reporting.figures import draw_figures, guessing
from personafit.reporting.line_results import share_of, worst_coverage
from personafit.reporting.naming import LineKey, LineNames, line_of
from personafit.reporting.pieces import (
    Cell,
    Errors,
    Grid,
    Instrument,
    Participant,
    Picture,
    Piece,
    Prose,
    Row,
    Section,
    Sentences,
    count_row,
    percent_cell,
)
from personafit.reporting.plots import Dot, PlotRow
from personafit.reporting.report import KindReport, ReportPart
from personafit.reporting.report_page import browser_piece
from personafit.reporting.result import Result
from personafit.reporting.results import load_totals, overall_coverage, run_results
from personafit.reporting.studies import ceiling_pieces
from personafit.reporting.totals import RunTotals, held_answers
from personafit.reporting.written import when
from personafit.store import RunRecord, Status, Store

DEFINITIONS = {
    "accuracy": "share of items on which the gold answer was chosen, averaged over both orders; a tie counts ½",
    "win_rate": "share of comparisons that the tested answer won, averaged over both orders; a tie counts ½",
    "accuracy_debiased": "accuracy of the choice that both orders together speak for, so a preference for a position cancels",
    "win_rate_debiased": "win rate of the choice that both orders together speak for, so a preference for a position cancels",
    "win_rate_length_controlled": "win rate that a logistic regression predicts for two answers of equal length",
    "consistency": "share of items that got the same choice in both orders",
    "lift": "score with the person minus the larger of the scores without and with a wrong person, on the same items, in points",
    "restraint": "score on the items whose right answer is the less personal one",
}


def legend(metrics: Iterable[str]) -> str:
    """One line with what the figures shown mean; figures without a definition are left out."""
    shown = dict.fromkeys(metric for metric in metrics if metric in DEFINITIONS)
    return " ".join(f"{name(metric).capitalize()}: {DEFINITIONS[metric]}." for metric in shown)


def name(metric: str) -> str:
    """A metric as headings write it."""
    return metric.replace("_", " ")


PUBLISHED_TABLE, PUBLISHED_CONTEXTS = "Table 3", "Table 7"  # of the PersonaFeedback paper
ORDERS = {1: "one (each answer is scored by itself)", 2: "both"}
MOST_ITEMS = 1_000  # beyond that further analyses are worked out when asked for
MOST_ROWS = 12  # of the first table, controls included


class ChoiceReport(KindReport):
    """A run in which raters chose between answers."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.store = store
        self.totals = load_totals(store, run)
        self.benchmark: str = self.totals.info["name"]
        self.coverage_bar: float = self.totals.info["coverage_bar"]
        self.results = run_results(self.totals)

    @cached_property
    def scores(self) -> RunScores:
        """The run by the item, for analyses that need more than sums."""
        return load_scores(self.store, self.totals.run, held_answers(self.store, self.totals))

    def sentences(self) -> list[str]:
        """Nothing: the verdict says it all."""
        return []

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater and context with the least coverage."""
        totals = self.totals
        return worst_coverage(
            (
                f"{rater['name']} ({view})",
                share_of(totals.answered(rater["fingerprint"], view), totals.asked(rater, view)),
                not rater["control"],
            )
            for rater in totals.raters
            for view in totals.views
        )

    def part(self) -> ReportPart:
        """The run as a part of a report."""
        drawn = self._pictures
        return replace(
            self.brief(),
            sections=[section for section in self._sections(drawn) if section.pieces],
            browser=[
                browser_piece(self.totals.run.name, "choice", data=item_browser(self.store, self.totals))
            ],
            instrument=self._instrument(),
        )

    def brief(self) -> ReportPart:
        """The first picture and table."""
        totals, info = self.totals, self.totals.info
        coverage = overall_coverage(totals)
        first = self._pictures.get("views") or self._pictures.get("slices")
        facts = [
            f"run {totals.run.name}",
            when(totals.run.started),
            f"{totals.items:,} items",
            f"{totals.people:,} people",
            *([] if coverage is None else [f"coverage {100 * coverage:.1f} %"]),
        ]
        lead = [*self._warnings(coverage), *([first] if first else []), self._first_table()]
        return ReportPart(
            totals.run.name,
            str(info["title"] or info["name"]),
            self.sentences(),
            lead,
            facts=facts,
            about=str(info["description"]).strip(),
        )

    @cached_property
    def _pictures(self) -> dict[str, Picture]:
        drawn = draw_figures(self.totals, self.results, self.totals.headline_view)
        return {name: Picture(title, caption, figure) for name, title, caption, figure in drawn}

    def _warnings(self, coverage: float | None) -> Iterator[Piece]:
        if self.totals.run.finished is None:
            yield Prose(
                "This run is not finished: the same command resumes it, and all figures may still change.",
                "warning",
            )
        elif coverage is not None and coverage < self.coverage_bar:
            yield Prose(
                f"Coverage is {100 * coverage:.1f} %, below the bar of {100 * self.coverage_bar:.0f} %: what is missing may not be "
                "like what is there.",
                "warning",
            )

    def _first_table(self) -> Grid:
        """Score, lift, restraint and coverage under the headline context, those asked for first."""
        totals = self.totals
        view, metric = totals.headline_view, totals.info["metric"]
        lines: dict[LineKey, dict[str, Result]] = {}
        for result in self.results:
            if result.view == view and (not result.slice or result.metric == "restraint"):
                lines.setdefault(line_of(result), {})[result.metric] = result
        heads = sorted(lines.values(), key=lambda found: found[metric].control is not None)
        naming = LineNames(found[metric] for found in heads)
        rows = [
            Row(
                naming.names(found[metric]),
                [
                    cell(found[metric]),
                    cell(found.get("lift"), difference=True),
                    cell(found.get("restraint")),
                    _percent(found[metric].coverage),
                ],
                found[metric].control,
            )
            for found in heads
        ]
        shown = metric.replace("_", " ")
        return Grid(
            "Scores",
            f"Context: {view}. {shown.capitalize()} and restraint in %, lift in points; 95 % intervals, clustered by "
            f"{clustering(self.results)}.",
            naming.heads,
            [shown, "lift", "restraint", "coverage"],
            rows[:MOST_ROWS],
            note=f"Lift: {DEFINITIONS['lift']}. Restraint: {DEFINITIONS['restraint']}.",
        ).filled()

    def _sections(self, drawn: Mapping[str, Picture]) -> Iterator[Section]:
        totals = self.totals
        slices = [drawn["slices"]] if "slices" in drawn and "views" in drawn else []
        yield Section("Scores by slice", [*slices, score_grid(totals, self.results)])
        yield Section(
            "Contexts",
            context_pieces(totals, self.results),
            "The same raters on the same items, told more or less about the person.",
        )
        yield Section(
            "Controls and consistency",
            self._controls(drawn),
            "Rules that read nothing are scored beside every rater. A score says something about fitting the person only beside its lift.",
        )
        yield from self._analyses()
        yield Section("Asks", self._asks(), "A failed ask is never counted as a score: it lowers coverage.")
        if notes := run_notes(totals):
            yield Section("Notes", [Sentences(notes)])

    def _controls(self, drawn: Mapping[str, Picture]) -> list[Piece]:
        said = [
            *lift_claims(self.results, self.margin),
            *filter(None, [best_control(self.totals, self.results)]),
        ]
        pieces: list[Piece] = [Sentences(said)] if said else []
        pieces.append(worth_grid(self.totals, self.results))
        return [*pieces, *([drawn["position"]] if "position" in drawn else [])]

    def _analyses(self) -> Iterator[Section]:
        """Agreement, bias, aspects and failure modes; of a large run, which commands give them."""
        name = self.totals.run.name
        if self.totals.items > MOST_ITEMS and not self.complete:
            how = (
                f"For a run of {self.totals.items:,} items agreement, bias, aspects and failure modes are computed on demand: "
                f"`personafit report {name} --out FILE.html` includes them."
            )
            yield Section("Further analyses", [Prose(how, "small")])
            return
        for title, make in ANALYSES.items():
            try:
                section = make(self)
            except UserError as error:
                section = Section(title, [Prose(str(error), "small")])
            if section is not None:
                yield section

    def _asks(self) -> list[Piece]:
        totals = self.totals
        rows, errors = [], []
        for rater in totals.raters:
            fingerprint = rater["fingerprint"]
            counts = [totals.statuses.get((fingerprint, status.value), 0) for status in Status]
            missing = sum(totals.asked(rater, view) for view in totals.views) - sum(counts)
            rows.append(count_row([rater["name"]], [*counts, missing]))
            met = [(*key[1:], count) for key, count in totals.errors.items() if key[0] == fingerprint]
            if met:
                errors.append(Errors(rater["name"], sorted(met, key=lambda error: -error[2])[:ERRORS_SHOWN]))
        columns = [*(status.value for status in Status), "not yet asked"]
        return [Grid("How asks ended", "Number of asks by status.", ["rater"], columns, rows), *errors]

    def _instrument(self) -> Instrument:
        totals = self.totals
        config, info, run = totals.run.config, totals.info, totals.run
        facts = {
            "run": run.name,
            "data set": run.dataset,
            "benchmark version": info["version"],
            "licence of the data": info["licence"],
            "gold": info["gold"],
            "question": config["question"],
            "contexts": ", ".join(totals.views),
            "seed": str(config["seed"]),
            "samples per ask": str(config["samples"]),
            "items judged": f"{totals.items:,}",
            "people": f"{totals.people:,}",
            "started": when(run.started),
            "finished": "not finished" if run.finished is None else when(run.finished),
        }
        if config["selected"] is not None:
            facts["sample"] = "a part of the items; give the same --limit or --people again"
        members = [
            Participant(
                one["name"],
                f"{one['kind']}, {one['role']}",
                one["fingerprint"],
                {"orders": ORDERS.get(rater["orders"], str(rater["orders"])), **one["settings"]},
            )
            for rater, one in zip(totals.raters, rater_facts(self.store, totals.raters), strict=True)
        ]
        return Instrument(config.get("command") or "(started from Python)", facts, members)


# -- analyses ----------------------------------------------------------------------------------------------------------


def _agreement(report: ChoiceReport) -> Section:
    source = run_source(report.store, report.totals.run, report.scores.answers)
    return agreement_section(source, choice_lines(report.scores), report.margin)


ANALYSES: dict[str, Callable[[ChoiceReport], Section | None]] = {
    "Human ceiling": lambda report: Section(
        "Human ceiling", ceiling_pieces(report.store, report.scores, report.sources)
    ),
    "Agreement": _agreement,
    "Bias": lambda report: bias_section(report.store, report.scores, report.margin),
    "Aspects": lambda report: aspects_section(report.store, report.scores),
    "Failure modes": lambda report: failures_section(report.store, report.scores),
}


# -- tables ------------------------------------------------------------------------------------------------------------


def published_rows(info: Mapping[str, Any], table: str = PUBLISHED_TABLE) -> list[dict[str, Any]]:
    """The published scores of a benchmark that are laid out like its table: of numbered tables that one."""
    rows = info.get("published", [])
    return [row for row in rows if "Table" not in row["source"] or row["source"].endswith(table)]


def score_grid(totals: RunTotals, results: Sequence[Result]) -> Grid:
    """The benchmark's own table, published rows below; a total over a missing half stays blank."""
    metric = totals.info["metric"]
    columns = [
        (f"against {heading}" if "against" in where else heading, metric, where)
        for heading, where in columns_of(totals)
    ]
    controlled = f"{metric}_length_controlled"
    if any(result.metric == controlled for result in results):
        columns += [(f"{heading}, equal length", controlled, where) for heading, _, where in columns[:-1]]
    blank = bool(missing_halves(totals))
    naming = LineNames(results)
    index = {(line_of(r), r.view, r.metric, _key(r.slice)): r for r in results}
    rows: dict[tuple[Any, ...], tuple[Row, list[str]]] = {}
    for line, view in dict.fromkeys((line_of(r), r.view) for r in results if r.metric == metric):
        total = index[line, view, metric, ()]
        cells = [
            Cell() if blank and not where else cell(index.get((line, view, name, _key(where))))
            for _, name, where in columns
        ]
        # A rule that reads no person has the same figures in every context: one row says so.
        same = (line, total.control, tuple(one.text + one.interval for one in cells))
        rows.setdefault(same, (Row(naming.names(total), cells, total.control), []))[1].append(str(view))
    shown = [Row([*row.names, ", ".join(views)], row.cells, row.control) for row, views in rows.values()]
    published = published_rows(totals.info)
    for row in published:
        cells = [_percent_of_100(row["scores"].get("/".join(where.values()))) for _, _, where in columns]
        shown.append(Row(naming.published(row["model"], row["view"]), cells, source=row["source"]))
    name = metric.replace("_", " ")
    sources = dict.fromkeys(row["source"] for row in published)
    note = f"Published rows are quoted from {'; '.join(sources)}." if sources else ""
    return Grid(
        f"{name.capitalize()} by slice",
        f"{name.capitalize()} in %, 95 % intervals below.",
        [*naming.heads, "context"],
        [heading for heading, _, _ in columns],
        shown,
        note=note,
    ).filled()


def worth_grid(totals: RunTotals, results: Sequence[Result]) -> Grid:
    """Coverage, people, order, lift and restraint of every line; why a number is missing stands in the remarks."""
    metric = totals.info["metric"]
    names = [metric, f"{metric}_debiased", "consistency", "lift", "restraint"]
    found: dict[tuple[LineKey, str | None], dict[str, Result]] = {}
    for result in results:
        if not result.slice or result.metric == "restraint":
            found.setdefault((line_of(result), result.view), {})[result.metric] = result
    common = _common([r.note for numbers in found.values() for r in numbers.values() if r.low is not None])
    remarks: dict[str, int] = {}
    naming = LineNames(results)
    rows = []
    for (_, view), numbers in found.items():
        total = numbers[metric]
        cells = [_percent(total.coverage), Cell(str(total.people), sort=float(total.people))]
        for name in names:
            number = numbers.get(name)
            own = [note for note in _split(number.note if number else None) if note not in common]
            numbered = [remarks.setdefault(note, len(remarks) + 1) for note in own]
            cells.append(cell(number, name == "lift", numbered))
        rows.append(Row([*naming.names(total), str(view)], cells, total.control))
    note = f"In all rows: {'; '.join(common)}. " if common else ""
    return Grid(
        "Controls and consistency",
        "All items, in %; lift in points.",
        [*naming.heads, "context"],
        ["coverage", "people", *(name.replace("_", " ") for name in names)],
        rows,
        list(remarks),
        note + legend(dict.fromkeys(result.metric for result in results)),
    )


def context_pieces(totals: RunTotals, results: Sequence[Result]) -> list[Piece]:
    """Every rater under every context, where some are made from memories; the paper's own such rows beside them."""
    if not any(is_remembered(view.removeprefix("wrong:")) for view in totals.views):
        return []
    whole = [one for one in results if one.metric == totals.info["metric"] and not one.slice]
    published = _published_contexts()
    contexts = list(dict.fromkeys([*totals.views, *(row["view"] for row in published)]))
    naming = LineNames(whole)
    rows = []
    for line in dict.fromkeys(map(line_of, whole)):
        own = {one.view: one for one in whole if line_of(one) == line}
        control = None if any(one.control is None for one in own.values()) else "control"
        names = naming.names(next(iter(own.values())))
        rows.append(Row(names, [cell(own.get(name)) for name in contexts], control))
    dots = [
        PlotRow(" on ".join(row.names), [_dot(one) for one in row.cells]) for row in rows if not row.control
    ]
    for model in dict.fromkeys(row["model"] for row in published):
        scores = {row["view"]: row["scores"][""] for row in published if row["model"] == model}
        cells = [_percent_of_100(scores.get(name)) for name in contexts]
        rows.append(Row(naming.published(model), cells, source=published[0]["source"]))
        dots.append(PlotRow(model, [Dot(scores.get(name)) for name in contexts], published=True))
    caption = (
        "One line per model, one mark per context; bars are 95 % intervals, the dotted line is guessing. Published lines were measured by "
        "others on other items."
    )
    label = f"{totals.info['metric'].replace('_', ' ')} in %"
    figure = plots.series_figure(dots, contexts, guessing(totals), label)
    grid = Grid("Scores by context", "In %, 95 % intervals below.", naming.heads, contexts, rows)
    return [Picture("Scores by context", caption, figure), grid]


def _published_contexts() -> list[dict[str, Any]]:
    from personafit.benchmarks.personafeedback import PUBLISHED

    rows = orjson.loads(PUBLISHED.read_bytes())["scores"]
    return [row for row in rows if row["source"].endswith(PUBLISHED_CONTEXTS)]


def _dot(one: Cell) -> Dot:
    if one.sort is None:
        return Dot()
    ends = (
        [float(end.replace("−", "-")) for end in one.interval.split("–")]
        if "–" in one.interval
        else [None, None]
    )
    return Dot(100 * one.sort, *ends)


# -- words -------------------------------------------------------------------------------------------------------------


def best_control(totals: RunTotals, results: Sequence[Result]) -> str | None:
    """A sentence on the rule that reads nothing and scores best."""
    view = totals.headline_view
    found = [
        one
        for one in results
        if one.metric == "accuracy" == totals.info["metric"]
        and one.view == view
        and one.control
        and not one.slice
        and one.value is not None
    ]
    if not found:
        return None
    best = max(found, key=lambda one: one.value or 0.0)
    shown = cell(best)
    interval = f" ({shown.interval})" if shown.interval else ""
    return f"The best control, “{best.control}” ({best.rater}), is right on {shown.text} %{interval} of the items."


def run_notes(totals: RunTotals) -> list[str]:
    """What was found odd in the data, each remark once."""
    said = {"", totals.info["description"].strip()}
    return [note for note in dict.fromkeys(map(str.strip, totals.run.config["notes"])) if note not in said]


def clustering(results: Sequence[Result]) -> str:
    """What the intervals of a run are clustered by."""
    both = any("clustered by person and prompt" in (result.note or "") for result in results)
    return "person and prompt" if both else "person"


def item_browser(store: Store, totals: RunTotals) -> dict[str, Any]:
    """What the item browser shows of a run of choices."""
    if totals.info["metric"] == "win_rate":
        words = {"gold": "tested answer", "right": "won", "wrong": "lost"}
    else:
        words = {"gold": f"gold ({totals.info['gold']})", "right": "right", "wrong": "wrong"}
    return browser_data(store, totals) | {"words": words}


def cell(result: Result | None, difference: bool = False, notes: Sequence[int] = ()) -> Cell:
    """A result in percent, or a difference in points, with its interval and its remarks."""
    if result is None or result.value is None:
        return Cell(notes=notes)
    shown = percent_cell(result, difference)
    return Cell(shown.text, shown.interval, shown.sort, notes)


def _percent(share: float | None) -> Cell:
    return Cell() if share is None else Cell(f"{100 * share:.1f}", sort=share)


def _percent_of_100(value: float | None) -> Cell:
    return Cell() if value is None else Cell(f"{value:.1f}", sort=value / 100)


def _split(note: str | None) -> list[str]:
    return note.split("; ") if note else []


def _common(notes: Sequence[str | None]) -> list[str]:
    """The parts that all of these remarks share: said once, not at every number."""
    if not notes:
        return []
    return [part for part in _split(notes[0]) if all(part in _split(note) for note in notes)]


def _key(where: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(where.items()))
