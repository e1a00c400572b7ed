"""Compare runs of any kind, paired by unit and clustered by person and prompt; rank three or more contestants.

Two scores are comparable if the instrument is the same except for what is compared: same data, same question, same context; systems
need the same judge. Anything else is refused without `--anyway`, with which only shared units count. All comparisons of a command are
tested together; if no difference is found, the sentence says what the runs could have detected.

Rankings are by Bradley–Terry strengths: on each item that two contestants both answered, the higher score wins and equal scores
tie. Systems are ranked separately for each judge, because one judge's scores say nothing about another's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import polars as pl

from personafit._errors import UserError
from personafit.kinds.lines import DISTANCE, UNIT_SCALE, Line, Metric, RunLines, paired_rows
from personafit.reports.analysis import count_cell, estimate_fields, small_notes
from personafit.reports.claims import (
    LOG_ODDS,
    MARKS,
    POINTS,
    TOO_FEW,
    FigureUnit,
    count_words,
    interval_words,
    legend_for,
    line_name,
    null_words,
    people_words,
    shown_p,
)
from personafit.reports.kind_report import same_but_style, user_style
from personafit.reports.pieces import (
    Cell,
    Grid,
    Picture,
    Piece,
    Row,
    Section,
    Sentences,
    metric_name,
    result_cell,
)
from personafit.reports.plots import Panel, PlotRow, dot_of, panels_figure
from personafit.reports.report import ReportPart
from personafit.statistics import Estimate
from personafit.statistics.clusters import negated
from personafit.statistics.decisions import (
    MARGIN,
    Conclusion,
    Hypothesis,
    HypothesisTest,
    decide_together,
    log_odds_margin,
)
from personafit.statistics.ranking import bradley_terry
from personafit.store import MET

HOW = (
    "The ranking counts who did better on each item, by however little, so it can tell two apart whose mean difference is not "
    "distinguishable. Its intervals and tests cluster by person and, where prompts recur, by prompt."
)
FEWEST = 3  # two are a comparison, not a ranking


@dataclass(frozen=True)
class Contestant:
    """A rater, or a system as judged by a rater, in one context of one run."""

    run: str
    line: Line
    met_people: bool = False
    """Whether the rater was fitted on people of this run."""
    user: str = ""
    """The simulated user's style, if there is one."""
    unnamed: bool = False
    """Whether products of a system without a name were judged: a log's answers."""

    @property
    def rater(self) -> str | None:
        return self.line.rater

    @property
    def made(self) -> tuple[str | None, str | None]:
        """The system whose products were judged, and its system context."""
        return self.line.system, self.line.system_context

    @property
    def name(self) -> str:
        """The contestant's name, with its judge."""
        judged = self.makes and self.line.rater
        return f"{self.alone} (judged by {self.line.rater})" if judged else self.alone

    @property
    def makes(self) -> bool:
        """Whether this is a system, so that its judge is somebody else."""
        return self.unnamed or self.line.system is not None

    @property
    def alone(self) -> str:
        """The name of a rater, or of a system without its judge."""
        line = self.line
        if line.system:
            return f"{line.system} given {line.system_context}" if line.system_context else line.system
        if self.unnamed:
            return "your assistant"
        return f"{line.rater} ({line.context})"


@dataclass(frozen=True)
class Comparison:
    """The difference between two contestants (first minus second), tested together with the command's other comparisons."""

    first: Contestant
    second: Contestant
    measured: Metric
    difference: Estimate
    tested: HypothesisTest
    scores: tuple[float, float] | None
    """The sum of each one's scores on the shared units; None where a sum is not meaningful."""

    @property
    def metric(self) -> str:
        return self.measured.name

    @property
    def met_people(self) -> list[str]:
        """Contestants fitted on people of their run, about which nothing is claimed."""
        return [one.name for one in (self.first, self.second) if one.met_people]

    @property
    def distinguishable(self) -> bool | None:
        """Whether a difference is shown after correction; None if it cannot be tested or claimed."""
        if self.met_people or self.tested.verdict in (Conclusion.UNDEFINED, Conclusion.TOO_FEW):
            return None
        return self.tested.decided

    @property
    def judge(self) -> str | None:
        """The judge of both systems; None if the two are raters, or systems with different judges or none."""
        first, second = self.first, self.second
        same = first.rater == second.rater and first.makes and second.makes
        return first.rater if same else None

    @property
    def names(self) -> tuple[str, str]:
        """The names of both, without the judge they share, and with their users or runs if the names are equal."""
        first, second = self.first, self.second
        one, two = (each.alone if self.judge else each.name for each in (first, second))
        if self._judges_differ or self.measured.name == DISTANCE:
            one, two = (line_name(each.rater, *each.made) for each in (first, second))
        if one != two:
            return one, two
        if self._users_differ:
            return f"{one}, user {first.user}", f"{two}, user {second.user}"
        return f"{one} in {first.run}", f"{two} in {second.run}"

    def sentence(self) -> str:
        """Return a sentence that says which of the two is better or, if that is not shown, what the runs could have detected."""
        tested, gap, unit = self.tested, self.difference, unit_of(self.measured)
        one, two = self.names
        both = f"{one} and {two}"
        if gap.value is None and not self.met_people:
            return f"{both} cannot be compared: no item has an answer from both."
        points = f"{unit.plain(abs(gap.value or 0.0))} of {scaled_name(self.measured)}"
        if self.met_people:
            return no_claim(
                both, self.met_people, f" (they differ by {points})" if gap.value is not None else ""
            )
        judged = f", judged by {self.judge}" if self.judge else ""
        shared = f"{gap.n:,} shared items, {people_words(gap.people)}{judged}"
        if tested.verdict is Conclusion.CONSTANT:
            return f"{both} score the same on every item ({shared})."
        if tested.verdict is Conclusion.TOO_FEW:
            if self.scores is None:
                return f"{both} differ by {points} ({shared}): {TOO_FEW}."
            ours, theirs = (f"{count_words(score)} of {gap.n:,}" for score in self.scores)
            return f"{one} {ours}, {two} {theirs}, {people_words(gap.people)}{judged}: {TOO_FEW}."
        if tested.p is None:
            return f"{both} differ by {points} ({shared}): without an interval nothing can be told."
        p = f", p {shown_p(tested.p)}"
        if tested.tests > 1:
            p += f", Holm p {shown_p(tested.p_adjusted)} over {tested.tests} comparisons"
        if tested.decided:
            turned = tested.verdict is Conclusion.BELOW
            better, worse = (two, one) if turned is not self._lower_is_better else (one, two)
            interval = _difference_interval(negated(gap) if turned else gap, unit)
            return f"{better} {self._above} {worse} by {points} ({interval}{p}; {shared})."
        excludes_zero = gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
        once = f" once all {tested.tests} comparisons are counted" if excludes_zero else ""
        equal = " and equivalent" if tested.verdict is Conclusion.EQUIVALENT else ""
        return (
            f"{both} are not distinguishable{equal}{once}: they differ by {points} ({_difference_interval(gap, unit)}, first minus "
            f"second{p}; {shared}; {null_words(tested, unit)})."
        )

    @property
    def _judges_differ(self) -> bool:
        return _judges_differ(self.first, self.second, self.measured)

    @property
    def _users_differ(self) -> bool:
        return self.first.user != self.second.user

    @property
    def _lower_is_better(self) -> bool:
        return self.measured.better == "lower" and not self._judges_differ and not self._users_differ

    @property
    def _above(self) -> str:
        """The verb that relates the better one to the other; a judge that gives higher marks is not better for it."""
        if self.measured.name == DISTANCE:
            return "is closer to people than"
        if self._judges_differ and unit_of(self.measured) == MARKS:
            return "gives higher marks than"
        one_system = self._judges_differ or self._users_differ
        return "is better than" if self.measured.better and not one_system else "is above"


def _difference_interval(gap: Estimate, unit: FigureUnit) -> str:
    ends = interval_words(gap, unit).removeprefix(", ")
    return f"95 % interval {ends}" if ends else "no interval"


def no_claim(both: str, met: Sequence[str], gap: str = "") -> str:
    """Return the sentence used when either of two contestants was fitted on people of the run."""
    were = "was" if len(met) == 1 else "were"
    return f"{both}: no claim, as {' and '.join(met)} {were} fitted on people of these runs{gap}."


def unit_of(metric: Metric) -> FigureUnit:
    """Return the unit of differences of a metric: points for shares, otherwise marks."""
    return POINTS if metric.bounds in (UNIT_SCALE, (-1.0, 1.0)) else MARKS


def scaled_name(metric: Metric) -> str:
    """Return the metric's display name, with its scale unless it is a share."""
    name = metric_name(metric.name)
    if metric.bounds is None or metric.name == DISTANCE or unit_of(metric) == POINTS:
        return name
    return f"{name} ({metric.bounds[0]:g} to {metric.bounds[1]:g})"


def scale_width(metric: Metric) -> float:
    """Return the width of the metric's scale, which margins and planned differences are shares of; 1 if it is unbounded."""
    return 1.0 if metric.bounds is None else metric.bounds[1] - metric.bounds[0]


def fitted_notes(runs: Sequence[RunLines]) -> list[str]:
    """Return the runs' notes on raters fitted on people they rate here, whose scores are no evidence."""
    notes = (note for opened in runs for note in opened.run.config.get("notes", []))
    return list(dict.fromkeys(note for note in notes if MET in note))


def compare_runs(
    *runs: RunLines, anyway: bool = False, margin: float = MARGIN, metric: str | None = None
) -> list[Comparison]:
    """Compare every contestant of the first run with those of the other runs; p-values are corrected over all comparisons.

    Of a single run, its own contestants are compared, each with the first.

    `margin` is a share of the metric's scale; `metric` names another than those a run of this kind is summed up by.
    """
    made = [one for other in runs[1:] or (None,) for one in _compared(runs[0], other, anyway, metric)]
    if not made and len(runs) == 1:
        raise UserError(
            "compare needs two runs, or one with two systems or raters; `personafit report last` shows one."
        )
    if not made:
        listed = " and ".join(opened.run.name for opened in runs)
        raise UserError(
            f"{listed} have no rater or system in common that scored the same: nothing can be compared."
        )
    tested = decide_together(
        [Hypothesis(gap, margin=margin * scale_width(measured)) for _, _, measured, gap, _ in made]
    )
    return [
        Comparison(one, two, measured, gap, test, scores)
        for (one, two, measured, gap, scores), test in zip(made, tested, strict=True)
    ]


def _compared(
    first: RunLines, second: RunLines | None, anyway: bool, metric: str | None
) -> list[tuple[Contestant, Contestant, Metric, Estimate, tuple[float, float] | None]]:
    """Pair contestants by metric; return each pair's difference on shared units and, for counted metrics, both sums.

    Without a second run, the contestants of the first are paired.
    """
    if (
        second and first.run.dataset != second.run.dataset
    ):  # systems may have answered the same questions in both
        first, second = first.by_system(), second.by_system()
    measured = wanted_metrics(first, metric)
    for one_metric in measured:
        if not one_metric.paired:
            raise UserError(f"{one_metric.name} is not a mean over items, so runs cannot be compared by it.")
    if second and not anyway:
        _check_comparable(first, second, measured)
    found = []
    for one_metric in measured:
        ours = list(contestants(first, one_metric))
        pairs = (
            _pairs(ours, list(contestants(second, one_metric)), one_metric) if second else _pairs_within(ours)
        )
        for one, two in pairs:
            for tested in (one_metric, *_distances(first, one, two, one_metric)):
                both = paired_rows(one.line, two.line, tested)
                gap = tested.difference(both)
                sums = float(both["value"].sum()), float(both["other"].sum())
                counted = tested.values is None and tested.bounds == UNIT_SCALE
                found.append((one, two, tested, gap, sums if counted else None))
    return found


def wanted_metrics(opened: RunLines, metric: str | None) -> Sequence[Metric]:
    """Return the metric of that name, or all headline metrics of the run."""
    return opened.headlines if metric is None else [opened.metric(metric)]


def _distances(opened: RunLines, one: Contestant, two: Contestant, metric: Metric) -> Iterator[Metric]:
    """Yield the distance-to-people metric for two judges that rated the same products, if people rated them too."""
    if _judges_differ(one, two, metric):
        for reference in opened.references:
            if reference.metric == metric.name and all(reference.known(c.line) for c in (one, two)):
                yield reference.distance


def _judges_differ(one: Contestant, two: Contestant, metric: Metric) -> bool:
    """Return whether the two are different judges of the same products."""
    return metric.about == "product" and one.made == two.made and one.rater != two.rater


def _check_comparable(first: RunLines, second: RunLines, metrics: Sequence[Metric]) -> None:
    one, two = first.run, second.run
    if first.kind != second.kind:
        raise UserError(
            f"{one.name} is a run of {first.kind} items and {two.name} one of {second.kind} items: nothing is measured in both."
        )
    if first.headline.name != second.headline.name:
        raise UserError(f"{one.name} reports {first.headline.name} and {two.name} {second.headline.name}.")
    users = [run.config.get("user") or {} for run in (one, two)]
    if users[0] != users[1] and not same_but_style(*users):
        raise UserError(
            f"{one.name} and {two.name} were held with different user agents: differences would be the users'. "
            "Run both with the same --user, or with one that differs in style= or -K history= alone, or say --anyway."
        )
    same_data = one.dataset == two.dataset
    if any(metric.about == "product" for metric in metrics):
        judges = [{rater["fingerprint"] for rater in run.config["raters"]} for run in (one, two)]
        products = [
            {(line.system, line.system_context) for line in opened.lines} for opened in (first, second)
        ]
        same_products = same_data and products[0] == products[1]
        if any(judges) and not judges[0] & judges[1] and not same_products:
            raise UserError(
                f"{one.name} and {two.name} have no judge in common: differences would be the judges'. "
                "Run both with the same judge, or say --anyway."
            )
    elif not same_data:
        raise UserError(
            f"{one.name} and {two.name} were run on different data ({one.dataset}, {two.dataset}); "
            "say --anyway to compare them on the items they share."
        )
    if one.config.get("instrument") != two.config.get("instrument"):
        raise UserError(
            f"{one.name} and {two.name} asked the question differently; say --anyway to compare them."
        )


def contestants(opened: RunLines, metric: Metric | None = None) -> Iterator[Contestant]:
    """Yield the contestants of a run under its headline context: raters, or systems as judged by each rater.

    Control systems are not contestants, nor are systems with no context or a wrong person's if they ran with others too.
    """
    measured = opened.headline if metric is None else metric
    lines = [line for line in opened.lines if measured.applies(line)]
    lines = [line for line in lines if line.asked_for] or lines
    headline = opened.headline_context(lines)
    lines = [line for line in lines if line.context == headline]
    proper = {line.rater for line in lines if line.control is None}
    for line in lines:
        if line.control is None or line.rater not in proper:
            met = line.fingerprint in opened.run.met_people
            user = user_style(opened.run.config.get("user") or {})
            yield Contestant(opened.run.name, line, met, user, unnamed=measured.about == "product")


def _pairs(
    first: Sequence[Contestant], second: Sequence[Contestant], metric: Metric
) -> Iterator[tuple[Contestant, Contestant]]:
    """Yield the pairs of contestants to compare: the same judge's in both runs if judges recur, otherwise judges of the same product.

    If the simulated users differ in style, only the same assistant is compared: otherwise two differences would be mixed.
    """
    shared = {one.rater for one in first} & {two.rater for two in second}
    products = {one.made for one in first} & {two.made for two in second}
    for one, two in product(first, second):
        if one.user != two.user and products and one.made != two.made:
            continue
        if shared:
            if one.rater == two.rater:
                yield one, two
        elif metric.about == "rater" or not products or one.made == two.made:
            yield one, two


def _pairs_within(found: Sequence[Contestant]) -> Iterator[tuple[Contestant, Contestant]]:
    """Yield the first contestant of a run with each other: systems by the same judge or, if there is one system, its judges."""
    several = len({one.made for one in found}) > 1
    groups: dict[str | None, list[Contestant]] = {}
    for one in found:
        groups.setdefault(one.rater if several else None, []).append(one)
    for first, *others in groups.values():
        for other in others:
            yield first, other


# -- rankings ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ranked:
    """Contestants by strength, strongest first; in the order given if strengths are undefined."""

    judge: str | None
    names: tuple[str, ...]
    strengths: tuple[Estimate, ...]
    contrasts: Mapping[tuple[int, int], HypothesisTest]
    """Two places in the ranking → the gap in log-odds between them, tested together with all others."""
    met_people: frozenset[str]
    """Contestants fitted on people of the runs, about which nothing is claimed."""
    note: str | None
    metric: str = "accuracy"
    place: str = ""
    """A suffix for the title such as ` on personalization`; empty for the benchmark's own metric."""

    def sentences(self) -> list[str]:
        """Return a sentence on each two neighbours in the ranking."""
        if self.note is not None and not self.contrasts:
            whole = f"the ranking is {self.note}" if self.note.startswith("undefined") else self.note
            return [f"{whole[0].upper()}{whole[1:]}."]
        return [
            self._neighbours(one, tested) for (one, two), tested in self.contrasts.items() if two == one + 1
        ]

    def _neighbours(self, place: int, tested: HypothesisTest) -> str:
        """Return the sentence on a contestant and the one ranked below; `tested` is the gap between them in log-odds."""
        one, two, where = self.names[place], self.names[place + 1], self.place
        if met := self._met(place, place + 1):
            return no_claim(f"{one} and {two}", met)
        if tested.verdict is Conclusion.CONSTANT:
            return f"{one} and {two} do equally well against everyone{where}: they rank alike."
        if tested.p is None:
            return f"{one} and {two} are not distinguishable in rank{where}: without an interval nothing can be told."
        p = f"Holm p {shown_p(tested.p_adjusted)} over all pairs"
        if tested.decided:
            higher, lower = (two, one) if tested.verdict is Conclusion.BELOW else (one, two)
            return f"{higher} ranks above {lower}{where} ({p})."
        equal = " and equivalent" if tested.verdict is Conclusion.EQUIVALENT else ""
        return f"{one} and {two} are not distinguishable in rank{where}{equal} ({p}; {null_words(tested, LOG_ODDS)})."

    def _met(self, *places: int) -> list[str]:
        return [self.names[place] for place in places if self.names[place] in self.met_people]

    def as_dict(self) -> dict[str, Any]:
        return {
            "judge": self.judge,
            "metric": self.metric,
            "contestants": [
                {
                    "rank": None if e.value is None else place,
                    "name": name,
                    "strength": e.value,
                    **estimate_fields(e, "low", "high", "n", "people", "note"),
                }
                for place, (name, e) in enumerate(zip(self.names, self.strengths, strict=True), 1)
            ],
            "contrasts": [
                {
                    "first": self.names[one],
                    "second": self.names[two],
                    "difference": tested.estimate.value,
                    **estimate_fields(tested.estimate, "low", "high"),
                    "p_holm": tested.p_adjusted,
                    "distinguishable": None if self._met(one, two) else tested.decided,
                    "equivalent": tested.verdict is Conclusion.EQUIVALENT,
                    "detectable": tested.detectable,
                }
                for (one, two), tested in self.contrasts.items()
            ],
            "note": self.note,
            "words": self.sentences(),
        }

    def grid(self) -> Grid:
        judged = f", judged by {self.judge}" if self.judge else ""
        rows = [
            Row([name], [_gap_cell(e, LOG_ODDS), count_cell(e.n)])
            for name, e in zip(self.names, self.strengths, strict=True)
        ]
        caption = "Bradley–Terry strength in log-odds, mean 0, 95 % interval below."
        return Grid(
            f"Ranking{self.place}{judged}", caption, ["contestant"], ["strength", "comparisons"], rows
        )


def rank_runs(runs: Sequence[RunLines], margin: float = MARGIN, metric: str | None = None) -> list[Ranked]:
    """Rank the contestants of all runs, for systems once per judge; fewer than three contestants are not ranked.

    `margin` is a difference in how often one does better than the other: at 0.05, 55 to 45. Metrics without a value per item,
    such as F1, give no ranking.
    """
    once = {opened.run.name: opened for opened in runs}
    found = []
    for measured in wanted_metrics(runs[0], metric):
        if measured.values is not None or measured.better is None:
            continue
        groups: dict[str | None, list[Contestant]] = {}
        for opened in once.values():
            for one in contestants(opened, measured):
                groups.setdefault(None if measured.about == "rater" else one.rater, []).append(one)
        place = "" if measured.name == runs[0].info["metric"] else f" on {measured.name}"
        found += [
            replace(_rank(judge, measured, group, margin), place=place)
            for judge, group in groups.items()
            if len(group) >= FEWEST
        ]
    return found


def _rank(judge: str | None, metric: Metric, group: Sequence[Contestant], margin: float) -> Ranked:
    toward = -1 if metric.better == "lower" else 1
    rows = pl.concat(
        paired_rows(group[i].line, group[j].line, metric).select(
            pl.lit(i).alias("first"),
            pl.lit(j).alias("second"),
            ((toward * pl.col("difference").sign() + 1) / 2).alias("won"),
            pl.col("person", "prompt").cast(pl.String),
        )
        for i, j in combinations(range(len(group)), 2)
    )
    first, second, won, people, prompts = (column.to_numpy() for column in rows)
    found = bradley_terry(first, second, won, people, len(group), prompts)
    order = sorted(range(len(group)), key=lambda place: -(found.strengths[place].value or 0.0))
    names = [one.alone if judge else one.name for one in group]
    told_apart = [
        f"{name} in {one.run}" if names.count(name) > 1 else name
        for name, one in zip(names, group, strict=True)
    ]
    gaps = {(c.first, c.second): c.gap for c in found.contrasts}
    gaps |= {(two, one): negated(gap) for (one, two), gap in gaps.items()}
    ranks = [(i, j) for i, j in combinations(range(len(group)), 2) if found.contrasts]
    tested = decide_together(
        [Hypothesis(gaps[order[i], order[j]], margin=log_odds_margin(margin)) for i, j in ranks]
    )
    return Ranked(
        judge=judge,
        metric=metric.name,
        names=tuple(told_apart[place] for place in order),
        strengths=tuple(found.strengths[place] for place in order),
        contrasts=dict(zip(ranks, tested, strict=True)),
        met_people=frozenset(name for name, one in zip(told_apart, group, strict=True) if one.met_people),
        note=found.note,
    )


def comparison_part(
    comparisons: Sequence[Comparison], rankings: Sequence[Ranked], notes: Sequence[str], pictures: bool = True
) -> ReportPart:
    """Return the report part on a comparison: a sentence and a row per comparison, then the rankings."""
    runs = list(dict.fromkeys(name for one in comparisons for name in (one.first.run, one.second.run)))
    legend = [*legend_for(one.tested for one in comparisons), *notes, *([HOW] if rankings else [])]
    drawn = _differences_picture(comparisons) if pictures else []
    items = max((one.difference.n for one in comparisons), default=0)
    return ReportPart(
        ", ".join(runs),
        f"Comparison of {', '.join(runs)}",
        [one.sentence() for one in comparisons],
        [*drawn, _differences_grid(comparisons)],
        [
            *(Section(one.grid().title, [one.grid(), Sentences(one.sentences())]) for one in rankings),
            *([Section("How differences were tested", small_notes(legend))] if legend else []),
        ],
        facts=[f"{len(runs)} runs", f"{items:,} shared items"],
    )


def _gap_cell(gap: Estimate, unit: FigureUnit) -> Cell:
    """Return a signed difference with its interval, or a dash."""
    return Cell("–") if gap.value is None else result_cell(gap, unit.signed, to=" to ")


def _differences_grid(comparisons: Sequence[Comparison]) -> Grid:
    judges = {one.judge for one in comparisons}
    rows = []
    for one in comparisons:
        gap, p = one.difference, one.tested.p_adjusted
        cells = [
            Cell(metric_name(one.metric)),
            _gap_cell(gap, unit_of(one.measured)),
            Cell("–") if p is None else Cell(shown_p(p).removeprefix("= "), sort=p),
            count_cell(gap.n),
            count_cell(gap.people),
        ]
        rows.append(Row([*one.names, *([one.judge or ""] if len(judges) > 1 else [])], cells))
    caption = "First minus second on the items both answered, in points or in the marks of the scale, 95 % interval below."
    heads = ["first", "second", *(["judge"] if len(judges) > 1 else [])]
    columns = ["metric", "difference", "p (Holm)", "items", "people"]
    return Grid("Differences", caption, heads, columns, rows)


def _differences_picture(comparisons: Sequence[Comparison]) -> list[Piece]:
    """Draw the differences of shares with their intervals, if there is more than one."""
    shown = [
        one for one in comparisons if unit_of(one.measured) == POINTS and one.difference.value is not None
    ]
    if len(shown) < 2:
        return []
    several = len({one.metric for one in shown}) > 1
    rows = [
        PlotRow(
            " − ".join(one.names) + (f", {metric_name(one.metric)}" if several else ""),
            [dot_of(one.difference)],
        )
        for one in shown
    ]
    caption = (
        "First minus second in points. Bars are 95 % intervals; at the dotted line there is no difference."
    )
    return [Picture("Differences", caption, panels_figure(rows, [Panel("First minus second, points", 0.0)]))]
