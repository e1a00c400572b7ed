"""A run opened up, whatever its kind: lines of scored units, and the metrics that are taken from them.

A `Line` is what one rater said, under one context, of what one system made under one context: a frame with a row per planned
unit. A `Metric` says which column of those frames is averaged, or how a figure that is no mean comes from them. Results,
comparisons, power, calibration and the like need nothing else, so they work for every kind.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from personafit._errors import UserError
from personafit.statistics import Estimate
from personafit.statistics.clusters import ClusteredSums, clustered_sums
from personafit.store import RunRecord

UNIT_SCALE = (0.0, 1.0)
DISTANCE = "distance from people"
CLUSTERED = "interval clustered by person and prompt"
CONTROL_RATERS = {"rule:length": "longest answer", "rule:overlap": "most overlap"}
"""Rules that choose without understanding, with what they go by."""
CONTROL_CONTEXTS = {"none": "no view", "wrong": "wrong person"}


@dataclass(frozen=True)
class Line:
    """One rater's scores under one context, of one system's products where systems made them.

    Lines that differ in nothing but who is compared are paired by the column `unit`.
    """

    rater: str | None
    """The rater's name; None where nobody was asked, as for what is counted in dialogues."""
    fingerprint: str | None
    """The rater's fingerprint; for texts that need no rater, that of the system which wrote them."""
    context: str | None
    """What the rater was shown of the person, by name."""
    system: str | None
    """The system whose products are judged, by name; None where nobody made them here, or all systems are together."""
    system_context: str | None
    """What that system was told of the person, by name."""
    frame: pl.DataFrame
    """A row per planned unit, in the order of the source.

    `unit` is what two lines are paired by: the item (choices, relevance, writing), the question and its opponent (answers of
    systems), the ask (injection), the item and target (preference), the person, task and sample (dialogues). A unit can stand in
    several rows, where a log answers a question twice: pairing averages them. `item` (and `target` where there is one) is what
    judgments are about, null for what was never made. `person` and `prompt` are what statistics cluster on. `asked` and
    `answered` count asks. Then there is a column per slice and per figure; a figure is null where there is no answer.
    """
    control: str | None = None
    """What kind of control the line is, if it is one."""
    asked_for: bool = True
    """Whether the user asked for the rater; controls that ship with a benchmark were not asked for."""
    notes: tuple[str, ...] = ()
    """What is to be said of every figure of the line."""

    @classmethod
    def of(
        cls,
        rater: Mapping[str, Any],
        context: str,
        frame: pl.DataFrame,
        control: str | None,
        notes: tuple[str, ...] = (),
    ) -> "Line":
        """The line of a rater as the run's record has it, over whatever was judged."""
        who = rater["name"], rater["fingerprint"]
        return cls(*who, context, None, None, frame, control, not rater["control"], notes)

    @property
    def view(self) -> str | None:
        """The context, as reports and stores call it."""
        return self.context

    @property
    def given(self) -> str | None:
        """The system context, as reports and stores call it."""
        return self.system_context

    @property
    def key(self) -> tuple[str | None, str | None, str | None, str | None]:
        """What tells it from the other lines of its run."""
        return self.fingerprint, self.context, self.system, self.system_context

    @property
    def name(self) -> str:
        """The line as sentences call it: the system where there is one, else the rater."""
        judged = self.rater if self.context is None else f"{self.rater} ({self.context})"
        if self.system is None:
            return str(judged)
        told = self.system if self.system_context is None else f"{self.system} given {self.system_context}"
        return told if self.rater is None else f"{told}, judged by {judged}"


@dataclass(frozen=True)
class Metric:
    """A figure that every line with its column has: the clustered mean of that column, unless it brings an estimator."""

    name: str
    """Its name in results."""
    column: str = ""
    """The column it is the mean of, or, with an estimator, the one without which it has no meaning; its name if not given."""
    bounds: tuple[float, float] | None = UNIT_SCALE
    """The limits of its scale; None where it has none."""
    label: str = ""
    """What it measures, in a line."""
    estimate: Callable[[pl.DataFrame], Estimate] | None = None
    """For what is no mean: the figure with its interval from the rows of a frame, given person, prompt and `holds`
    of those that have all of them."""
    values: Callable[[pl.DataFrame], pl.Series] | None = None
    """For a smooth figure that is no mean: from the same rows one number each, whose mean is the figure and whose spread is the
    figure's, so that two lines can be compared by the numbers of the units they share."""
    answered: str = "answered"
    """The column that counts its answers; nothing where no coverage is to be given."""
    holds: tuple[str, ...] = ()
    """Columns that its estimator needs: they are kept of every row."""
    from_sums: Callable[[ClusteredSums], Estimate] | None = None
    """For what follows from the sums of its column but is not their plain mean."""
    by: tuple[tuple[str, ...], ...] | None = None
    """The slices it is given by, () being everything; None: everything, and all slices of the kind."""
    where: tuple[tuple[str, str], ...] = ()
    """The one slice it is given for, in place of all others; over everything, as `empty`, where no unit has such a slice."""
    under: tuple[tuple[str, str], ...] = ()
    """What its results are filed under beside their slice, where several figures share a name: one per grade, or per detector."""
    only: Callable[[Line], bool] | None = None
    """Which lines have it, where not every line with its column."""
    optional: bool = False
    """Whether it is left out where no row has a value."""
    compared: bool = False
    """Whether differences between lines are given for it."""
    note: str = ""
    """What is said of every value."""
    empty: str = ""
    """What is said where nothing can have a value."""
    how: str = CLUSTERED
    """What is said of intervals where prompts recur."""
    noted: bool = True
    """Whether the notes of a line are about it."""
    over: Literal["context", "system_context"] | None = None
    """For a lift: whose contexts are compared, raters' or systems'. It is the mean of what a unit's column has over the same unit
    without the person or with somebody else, whichever leaves less; lines under such a context have none."""
    about: Literal["rater", "product"] = "rater"
    """Whether it says how good the rater is (accuracy, F1), or what the rater says of what it judges (marks, win rates)."""
    better: Literal["higher", "lower"] | None = "higher"
    """Which end of the scale is the good one; None where neither is."""
    even: float | None = None
    """The value that says neither: no answer preferred, nothing moved; None where no value is such."""

    def __post_init__(self) -> None:
        if self.over not in (None, "context", "system_context"):
            raise UserError(
                f"Metric {self.name}: over={self.over!r} must be 'context' or 'system_context', whose lift it is."
            )

    @property
    def source(self) -> str:
        """The column that it is taken from."""
        return self.column or self.name

    def applies(self, line: Line) -> bool:
        """Whether a line can have it."""
        if self.over is not None and is_control_context(getattr(line, self.over)):
            return False
        present = not line.frame.columns or self.source in line.frame.columns
        return present and (self.only is None or self.only(line))

    @property
    def paired(self) -> bool:
        """Whether two lines can be compared unit by unit."""
        return self.over is None and (self.estimate is None or self.values is not None)

    @property
    def difference_bounds(self) -> tuple[float, float] | None:
        """The limits of a difference on its scale; none for pseudo-values, which lie outside it."""
        if self.bounds is None or self.values is not None:
            return None
        return self.bounds[0] - self.bounds[1], self.bounds[1] - self.bounds[0]

    def of(self, frame: pl.DataFrame) -> Estimate:
        """The figure of some rows, with its clustered interval."""
        if self.estimate is not None:
            return self.estimate(frame.drop_nulls(self.holds))
        known = frame.filter(pl.col(self.source).is_not_null())
        values = known[self.source].cast(pl.Float64).to_numpy()
        if not len(values):
            return self.of_sums(ClusteredSums())
        return self.of_sums(clustered_sums(values, known["person"], known["prompt"]))

    def of_sums(self, sums: ClusteredSums) -> Estimate:
        """The figure from the sums of its column."""
        return sums.estimate(self.bounds) if self.from_sums is None else self.from_sums(sums)

    def per_row(self, frame: pl.DataFrame) -> pl.Series:
        """One number per row, null where it has none; their mean is the figure, of rows that have all it holds."""
        found = frame[self.source] if self.values is None else self.values(frame)
        return found.cast(pl.Float64)


def control_of(
    name: str, context: str | None, names: Mapping[str, str], contexts: Mapping[str, str]
) -> str | None:
    """What kind of control a line is, by a kind's two tables: by its rater's or system's name (or what stands before its colon), or else
    by its context, where `wrong` stands for everybody else's."""
    plain = name.partition(":")[0]
    found = names.get(name, names.get(plain))
    shown = "wrong" if context is not None and context.startswith("wrong:") else context or ""
    return found or contexts.get(shown)


def is_control_context(name: str | None) -> bool:
    """Whether a context tells of nobody, or of somebody else; where there is none, nothing can be held against it."""
    return name is None or name == "none" or name.startswith("wrong:")


@dataclass(frozen=True)
class Reference:
    """A question that raters answered and people too, unit by unit: what judges are held against."""

    question: str
    """The question's name in judgments."""
    metric: str
    """The metric that is the mean of the answers."""
    answer: str
    """The column of a line's frame that has what its rater said, as a number."""
    people: str
    """The column that has what people said, null where they were not asked."""
    who: str | None
    """Whose answers those are, by name; None where there are none."""
    bounds: tuple[float, float] = UNIT_SCALE
    margin: str | None = None
    """The column of the rater's scores, where they can be read as log-odds."""
    orders: tuple[str, str] | None = None
    """The columns of what the rater said when the judged answer was shown first, and when it was shown last."""

    def known(self, line: Line) -> bool:
        """Whether people said anything of what a line is about."""
        return self.people in line.frame.columns and line.frame[self.people].count() > 0

    def distances(self, frame: pl.DataFrame) -> pl.Series:
        """How far the rater is from people, unit by unit; null where either said nothing."""
        return (frame[self.answer].cast(pl.Float64) - frame[self.people].cast(pl.Float64)).abs()

    @property
    def distance(self) -> Metric:
        """The mean distance from people, which is the less the better."""
        scale = (0.0, self.bounds[1] - self.bounds[0])

        def estimate(rows: pl.DataFrame) -> Estimate:
            return Metric("far", bounds=scale).of(rows.with_columns(self.distances(rows).alias("far")))

        holds = (self.answer, self.people)
        return Metric(
            DISTANCE,
            self.people,
            scale,
            estimate=estimate,
            values=self.distances,
            holds=holds,
            better="lower",
        )


@dataclass(frozen=True)
class Feature:
    """Something about units, besides what is asked, that may pull at a rater."""

    name: str
    """Its name in results."""
    words: str
    """What has it, in the plural."""
    inside: Callable[[pl.DataFrame], pl.Series]
    """Whether each row has it; null where that cannot be said."""


@dataclass(frozen=True)
class RunLines:
    """A run with all of its lines and metrics."""

    run: RunRecord
    info: dict[str, Any]
    """What the benchmark says of itself."""
    kind: str
    lines: list[Line]
    """Raters asked for come first; controls and votes that came with the data are among them, marked as such."""
    metrics: Sequence[Metric]
    """The headline first."""
    slices: Sequence[tuple[str, ...]] = ()
    """Columns that results are given by, together or alone."""
    references: Sequence[Reference] = ()
    """What people can say of the same units; none where nobody judges, or where what people say is the gold of choices."""
    features: Sequence[Feature] = ()
    """What may pull at raters besides what they are asked, where answers are compared with people's."""
    summed: tuple[str, ...] = ()
    """The metrics that a run is summed up by, where they are more than the first."""
    made_alike: tuple[str, ...] = ()
    """Where lines hold several systems together: the columns that name one question whoever answered it."""

    @property
    def layouts(self) -> list[tuple[str, ...]]:
        """What results are given by: the slices of the kind, and those that the bars of the run's gate name."""
        found = list(dict.fromkeys(self.slices))
        for bar in self.run.config.get("gate", []):
            inside = re.search(r"\[(.+)\]", bar)
            names = tuple(part.partition("=")[0].strip() for part in inside[1].split(",")) if inside else ()
            if all(set(names) != set(layout) for layout in ((), *found)):
                found.append(names)
        return found

    @property
    def headline(self) -> Metric:
        """The metric that a run of this kind is summed up by."""
        return self.metrics[0]

    @property
    def headlines(self) -> Sequence[Metric]:
        """All metrics that a run of this kind is summed up by."""
        return [self.metric(name) for name in self.summed] or [self.headline]

    @property
    def why_no_people(self) -> str:
        """Why raters cannot be held against people here, as the end of a sentence on the run."""
        if self.run.config.get("raters"):
            return "whose kind does not say what people could answer"
        return "in which nobody is asked to judge"

    @property
    def rater_kinds(self) -> dict[str, str]:
        """Fingerprint of each rater to what kind of rater it is."""
        return {rater["fingerprint"]: rater["kind"] for rater in self.run.config.get("raters", [])}

    def metric(self, name: str) -> Metric:
        """The metric of that name."""
        for one in self.metrics:
            if one.name == name:
                return one
        known = ", ".join(dict.fromkeys(one.name for one in self.metrics if one.paired))
        raise UserError(f"{self.run.name} has no metric '{name}'; it has {known}.")

    def headline_view(self, lines: Sequence[Line]) -> str | None:
        """The context that counts among those of some lines: the benchmark's own, or else the first."""
        contexts = [line.context for line in lines]
        return str(self.info["view"]) if self.info["view"] in contexts else next(iter(contexts), None)

    def by_system(self) -> "RunLines":
        """The same with a line for each system, paired by question, where lines hold the answers of several together."""
        if not self.made_alike:
            return self
        lines = []
        unit = pl.concat_str(self.made_alike, separator="|")
        for line in self.lines:
            for system, given in line.frame.select("system", "given").unique(maintain_order=True).iter_rows():
                frame = line.frame.filter(system=system, given=given).with_columns(unit=unit)
                lines.append(replace(line, system=system or None, system_context=given or None, frame=frame))
        return replace(self, lines=lines)


def sliced(
    frame: pl.DataFrame, slices: Sequence[Sequence[str]]
) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """All rows, then each slice, without those that are all rows again."""
    yield {}, frame
    for names in slices:
        if all(name in frame.columns for name in names):
            for row in frame.select(names).drop_nulls().unique(maintain_order=True).to_dicts():
                part = frame.filter(pl.all_horizontal(*(pl.col(n) == v for n, v in row.items())))
                if len(part) < len(frame):
                    yield row, part


def paired_rows(first: Line, second: Line, metric: Metric) -> pl.DataFrame:
    """The units that both lines have a number for: unit, person, prompt, slices, `value`, `other` and `difference` of the two.

    Numbers of a figure that is no mean (F1, kappa) are taken on the shared units, so that they compare like with like.
    """
    needed = list(metric.holds) if metric.values is not None else [metric.source]
    ours, theirs = first.frame.drop_nulls(needed), second.frame.drop_nulls(needed)
    ours, theirs = _sharing(ours, theirs), _sharing(theirs, ours)
    known = ours.with_columns(metric.per_row(ours).alias("value"))
    other = theirs.select("unit", metric.per_row(theirs).alias("other"))
    if known["unit"].equals(other["unit"]) and known["unit"].n_unique() == len(known):
        both = known.with_columns(other["other"])
    else:
        rest = [name for name in known.columns if name not in ("unit", "value")]
        known = known.group_by("unit", maintain_order=True).agg(pl.col("value").mean(), pl.col(rest).first())
        means = other.group_by("unit").agg(pl.col("other").mean())
        both = known.join(means, on="unit", how="inner", maintain_order="left")
    difference = pl.col("value") - pl.col("other")
    return both.with_columns(difference=difference).filter(pl.col("difference").is_not_null())


def _sharing(frame: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """The rows whose unit the other frame has too."""
    if frame["unit"].equals(other["unit"]):
        return frame
    return frame.join(other, on="unit", how="semi", maintain_order="left")
