"""The report of a run of choices: scores, controls, contexts, analyses, and a browser of its items."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.contexts import is_remembered
from personafit.kinds.choice_scores import RunScores, choice_lines, columns_of, load_scores, missing_halves
from personafit.reports.asked import asks_section
from personafit.reports.claims import lift_claims
from personafit.reports.kind_report import KindReport
from personafit.reports.line_results import results_of, share_of, worst_coverage
from personafit.reports.naming import LineKey, LineNames, line_of
from personafit.reports.pieces import (
    Cell,
    Grid,
    Picture,
    Prose,
    Row,
    Section,
    Sentences,
    percent_cell,
    share_cell,
)
from personafit.reports.result import Result
from personafit.reports.totals import RunTotals, held_answers, load_totals
from personafit.store import RunRecord, Store

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
    return " ".join(f"{metric.replace('_', ' ').capitalize()}: {DEFINITIONS[metric]}." for metric in shown)


PUBLISHED_TABLE, PUBLISHED_CONTEXTS = "Table 3", "Table 7"  # of the PersonaFeedback paper
MOST_ITEMS = 1_000  # beyond that further analyses are worked out when asked for
MOST_ROWS = 12  # of the first table, controls included


class ChoiceReport(KindReport):
    """A run in which raters chose between answers."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.totals = load_totals(store, run)
        super().__init__(store, run, self.totals.info, results_of(self.totals.opened, self.totals.added))

    @cached_property
    def scores(self) -> RunScores:
        """The run by the item, for analyses that need more than sums."""
        return load_scores(self.store, self.record, held_answers(self.store, self.totals))

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

    def counts(self) -> list[str]:
        """Items and people."""
        return [f"{self.totals.items:,} items", f"{self.totals.people:,} people"]

    def answered(self) -> tuple[int, int]:
        """How many asks were planned, and how many brought an answer."""
        return self.totals.coverage()

    def picture(self) -> Picture | None:
        """Scores with the person, without and with the wrong one; by slice where there is but one context."""
        return self._pictures.get("views") or self._pictures.get("slices")

    @cached_property
    def _pictures(self) -> dict[str, Picture]:
        from personafit.reports.figures import choice_pictures

        return choice_pictures(self.totals, self.results)

    def table(self) -> Grid:
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
                    share_cell(found[metric].coverage),
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
            note=legend(
                name
                for name in ("lift", "restraint")
                if any(name in found and found[name].value is not None for found in heads)
            ),
        ).filled()

    def sections(self) -> Iterator[Section]:
        """Slices, contexts, controls, analyses and asks."""
        totals, drawn = self.totals, self._pictures
        slices = [drawn["slices"]] if "slices" in drawn and "views" in drawn else []
        yield Section("Scores by slice", [*slices, score_grid(totals, self.results)])
        yield Section(
            "Controls and consistency",
            [
                *([Sentences(said)] if (said := lift_claims(self.results, self.margin)) else []),
                worth_grid(totals, self.results),
                *([drawn["position"]] if "position" in drawn else []),
            ],
            "Rules that read nothing are scored beside every rater. A score says something about fitting the person only beside its lift.",
        )
        yield from self._analyses()
        ended = (
            (
                [rater["name"]],
                totals.endings(rater["fingerprint"]),
                sum(totals.asked(rater, view) for view in totals.views),
            )
            for rater in totals.raters
        )
        yield asks_section(ended, "Number of asks by status.")

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
        for title, make in self._analysers().items():
            try:
                section = make()
            except UserError as error:
                section = Section(title, [Prose(str(error), "small")])
            if section is not None:
                yield section

    def _analysers(self) -> dict[str, Callable[[], Section | None]]:
        """Imported when a page is made: a run in the terminal needs none of them."""
        from personafit.reports.agree_part import agreement_section
        from personafit.reports.agree_ratings import run_source
        from personafit.reports.aspects import aspects_section
        from personafit.reports.bias import bias_section
        from personafit.reports.failures import failures_section
        from personafit.reports.studies import ceiling_pieces

        store, scores = self.store, self.scores
        return {
            "Human ceiling": lambda: Section("Human ceiling", ceiling_pieces(store, scores, self.sources)),
            "Agreement": lambda: agreement_section(
                run_source(store, self.record, scores.answers), choice_lines(scores), self.margin
            ),
            "Bias": lambda: bias_section(store, scores, self.margin),
            "Aspects": lambda: aspects_section(store, scores),
            "Failure modes": lambda: failures_section(store, scores),
        }

    def items(self) -> dict[str, Any]:
        """The items."""
        from personafit.reports.browse import browser_data

        words = {"gold": f"gold ({self.info['gold']})", "right": "right", "wrong": "wrong"}
        if self.info["metric"] == "win_rate":
            words = {"gold": "tested answer", "right": "won", "wrong": "lost"}
        return browser_data(self.store, self.totals) | {"words": words}

    def facts(self) -> dict[str, str]:
        """Whose votes are right, what was asked under which contexts, and of what."""
        part = "a part of the items; give the same --limit or --people again"
        return {
            "gold": self.info["gold"],
            "question": self.record.config["question"],
            "contexts": ", ".join(self.totals.views),
            "items judged": f"{self.totals.items:,}",
            "people": f"{self.totals.people:,}",
            "sample": part if self.record.config["selected"] is not None else "",
        }


# -- tables ------------------------------------------------------------------------------------------------------------


def published_rows(totals: RunTotals) -> list[dict[str, Any]]:
    """The published scores of a benchmark that are laid out like its table; with contexts made from memories, those of the paper too."""
    rows = totals.info.get("published", [])
    shown = [row for row in rows if "Table" not in row["source"] or row["source"].endswith(PUBLISHED_TABLE)]
    if any(is_remembered(view.removeprefix("wrong:")) for view in totals.views):
        from personafit.benchmarks.personafeedback import PUBLISHED

        rows = orjson.loads(PUBLISHED.read_bytes())["scores"]
        shown += [row for row in rows if row["source"].endswith(PUBLISHED_CONTEXTS)]
    return shown


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
    published = published_rows(totals)
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
        cells = [share_cell(total.coverage), Cell(str(total.people), sort=float(total.people))]
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


def clustering(results: Sequence[Result]) -> str:
    """What the intervals of a run are clustered by."""
    both = any("clustered by person and prompt" in (result.note or "") for result in results)
    return "person and prompt" if both else "person"


def cell(result: Result | None, difference: bool = False, notes: Sequence[int] = ()) -> Cell:
    """A result in percent, or a difference in points, with its interval and its remarks."""
    if result is None or result.value is None:
        return Cell(notes=notes)
    shown = percent_cell(result, difference)
    return Cell(shown.text, shown.interval, shown.sort, notes)


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
