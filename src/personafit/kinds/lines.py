"""The results of a run of any kind: lines of scored units, and the metrics computed from them.

A `Line` holds one rater's judgments, under one context, of one system's products under one context: a frame with a row per planned
unit. A `Metric` names the column of those frames that is averaged, or estimates a figure other than a mean. Results,
comparisons, power, calibration and the like need nothing else, so they work for every kind.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from personafit._errors import UserError
from personafit.statistics import Estimate, mean_by_item
from personafit.statistics.clusters import ClusteredSums, clipped, clustered_sums
from personafit.store import RunRecord, slice_column

UNIT_SCALE = (0.0, 1.0)
DISTANCE = "distance from people"
CLUSTERED = "interval clustered by person and prompt"
CONTROL_RATERS = {"rule:length": "longest answer", "rule:overlap": "most overlap"}
"""Rules that serve as control raters, with a label each."""
CONTROL_CONTEXTS = {"none": "no view", "wrong": "wrong person"}


@dataclass(frozen=True)
class Line:
    """One rater's scores under one context, of one system's products where systems made them.

    Lines that differ only in what is compared are paired by the column `unit`.
    """

    rater: str | None
    """The rater's name; None if there is none, as for counted metrics of dialogues."""
    fingerprint: str | None
    """The rater's fingerprint; for texts that need no rater, that of the system which wrote them."""
    context: str | None
    """Name of the context the rater was shown."""
    system: str | None
    """Name of the system whose products are judged; None if no system made them in this run, or all systems are together."""
    system_context: str | None
    """Name of the context that system was given."""
    frame: pl.DataFrame
    """A row per planned unit, in the order of the source.

    `unit` is the key by which two lines are paired: the item (choices, relevance, writing), the question and its opponent (answers of
    systems), the ask (injection), the item and target (preference), the person, task and sample (dialogues). A unit can have
    several rows, if a log answers a question twice: pairing averages them. `item` (and `target`, if any) is what
    judgments are about, null for what was never made. Statistics cluster on `person` and `prompt`. `asked` and
    `answered` count asks. Further columns are slices and figures; a figure is null if there is no answer.
    """
    control: str | None = None
    """What kind of control the line is, if it is one."""
    asked_for: bool = True
    """Whether the user asked for the rater; controls that ship with a benchmark were not asked for."""
    notes: tuple[str, ...] = ()
    """Notes to print with every figure of the line."""

    @classmethod
    def of(
        cls,
        rater: Mapping[str, Any],
        context: str,
        frame: pl.DataFrame,
        control: str | None,
        notes: tuple[str, ...] = (),
    ) -> "Line":
        """Return the line of a rater from its entry in the run's record, over all systems together."""
        who = rater["name"], rater["fingerprint"]
        return cls(*who, context, None, None, frame, control, not rater["control"], notes)

    @property
    def key(self) -> tuple[str | None, str | None, str | None, str | None]:
        """Return what distinguishes the line from the others of its run."""
        return self.fingerprint, self.context, self.system, self.system_context

    @property
    def name(self) -> str:
        """Return the name for use in sentences: the system if there is one, else the rater."""
        judged = self.rater if self.context is None else f"{self.rater} ({self.context})"
        if self.system is None:
            return str(judged)
        told = self.system if self.system_context is None else f"{self.system} given {self.system_context}"
        return told if self.rater is None else f"{told}, judged by {judged}"


@dataclass(frozen=True)
class Metric:
    """A figure of every line that has its column: the column's clustered mean, unless the metric brings an estimator."""

    name: str
    """Its name in results."""
    column: str = ""
    """The column it is the mean of or, with an estimator, the one that a line must have; the metric's name if not given."""
    bounds: tuple[float, float] | None = UNIT_SCALE
    """The limits of its scale; None if it has none."""
    label: str = ""
    """Short description of what it measures."""
    estimate: Callable[[pl.DataFrame], Estimate] | None = None
    """For figures other than means: estimates the figure with its interval from a frame's columns person, prompt and `holds`,
    for the rows that have all of them."""
    values: Callable[[pl.DataFrame], pl.Series] | None = None
    """For smooth figures other than means: computes pseudo-values, one per row, whose mean is the figure and whose spread is the
    figure's, so that two lines can be compared by the values of the units they share."""
    answered: str = "answered"
    """The column that counts its answers; empty if it has no coverage."""
    by_sign: bool = False
    """Whether two lines are compared by which of them is higher in each unit: for scores whose distances mean nothing."""
    holds: tuple[str, ...] = ()
    """Columns that its estimator needs: they are kept of every row."""
    from_sums: Callable[[ClusteredSums], Estimate] | None = None
    """For figures that follow from the sums of the column but are not its plain mean."""
    by: tuple[tuple[str, ...], ...] | None = None
    """The slices to estimate it by, () being all units; None for all units and all slices of the kind."""
    where: tuple[tuple[str, str], ...] = ()
    """The one slice to estimate it for, in place of all others; if no unit has that slice, it is reported over all units as `empty`."""
    under: tuple[tuple[str, str], ...] = ()
    """Entries added to the slice of its results, if several figures share a name: one per grade, or per detector."""
    only: Callable[[Line], bool] | None = None
    """Which lines have it, if not every line with its column."""
    optional: bool = False
    """Whether it is left out if no row has a value."""
    compared: bool = False
    """Whether differences between lines are reported for it."""
    note: str = ""
    """Note on every value."""
    empty: str = ""
    """Note used if nothing can have a value."""
    how: str = CLUSTERED
    """Note on intervals if prompts recur."""
    noted: bool = True
    """Whether the notes of a line apply to it."""
    over: Literal["context", "system_context"] | None = None
    """For a lift: whose contexts are compared, raters' or systems'. It is the mean difference of a unit's value from the same unit's
    without the person or with a wrong person, whichever difference is smaller; lines under such a context have none."""
    about: Literal["rater", "product"] = "rater"
    """Whether it measures how good the rater is (accuracy, F1), or what the rater judges (marks, win rates)."""
    better: Literal["higher", "lower"] | None = "higher"
    """Whether higher or lower values are better; None if neither is."""
    even: float | None = None
    """The neutral value: no answer preferred, nothing moved; None if there is none."""

    def __post_init__(self) -> None:
        if self.over not in (None, "context", "system_context"):
            raise UserError(
                f"Metric {self.name}: over={self.over!r} must be 'context' or 'system_context', whose lift it is."
            )

    @property
    def source(self) -> str:
        """Return the column that it is computed from."""
        return self.column or self.name

    def applies(self, line: Line) -> bool:
        """Return whether a line can have it."""
        if self.over is not None and is_control_context(getattr(line, self.over)):
            return False
        present = not line.frame.columns or self.source in line.frame.columns
        return present and (self.only is None or self.only(line))

    @property
    def paired(self) -> bool:
        """Return whether two lines can be compared unit by unit."""
        return self.over is None and (self.estimate is None or self.values is not None)

    @property
    def difference_bounds(self) -> tuple[float, float] | None:
        """Return the limits of a difference on its scale."""
        return (
            None
            if self.bounds is None
            else (self.bounds[0] - self.bounds[1], self.bounds[1] - self.bounds[0])
        )

    def difference(self, rows: pl.DataFrame) -> Estimate:
        """Estimate the mean of the column `difference` of paired rows, with an interval on the scale of differences."""
        if self.values is None or self.difference_bounds is None:
            return mean_by_item(rows, "difference", self.difference_bounds)
        # Pseudo-values lie outside the scale.
        return clipped(mean_by_item(rows, "difference", None), *self.difference_bounds)

    def of(self, frame: pl.DataFrame) -> Estimate:
        """Estimate the figure of some rows, with its clustered interval."""
        if self.estimate is not None:
            return self.estimate(frame.drop_nulls(self.holds))
        known = frame.filter(pl.col(self.source).is_not_null())
        values = known[self.source].cast(pl.Float64).to_numpy()
        if not len(values):
            return self.of_sums(ClusteredSums())
        return self.of_sums(clustered_sums(values, known["person"], known["prompt"]))

    def of_sums(self, sums: ClusteredSums) -> Estimate:
        """Estimate the figure from the sums of its column."""
        return sums.estimate(self.bounds) if self.from_sums is None else self.from_sums(sums)

    def per_row(self, frame: pl.DataFrame) -> pl.Series:
        """Return one number per row, null if it has none; over rows that have all of `holds`, their mean is the figure."""
        found = frame[self.source] if self.values is None else self.values(frame)
        return found.cast(pl.Float64)


def at_least_zero(sums: ClusteredSums) -> Estimate:
    """Estimate a mean of values that are never negative, with the interval clipped at 0."""
    found = sums.estimate(None)
    return found if found.low is None else replace(found, low=max(0.0, found.low))


def at_equal_length(column: str) -> Callable[[pl.DataFrame], Estimate]:
    """Return an estimator of the mean of a column of wins if both answers were equally long."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        from personafit.statistics.length import length_controlled_rate

        return length_controlled_rate(rows[column], rows["length_difference"], rows["person"], rows["prompt"])

    return estimate


def control_of(
    name: str, context: str | None, names: Mapping[str, str], contexts: Mapping[str, str]
) -> str | None:
    """Return what kind of control a line is, from a kind's two tables: by its rater's or system's name (or what precedes its colon), or
    else by its context, where `wrong` stands for every wrong person's."""
    plain = name.partition(":")[0]
    found = names.get(name, names.get(plain))
    shown = "wrong" if context is not None and context.startswith("wrong:") else context or ""
    return found or contexts.get(shown)


def is_control_context(name: str | None) -> bool:
    """Return whether a context is missing, empty or a wrong person's."""
    return name is None or name == "none" or name.startswith("wrong:")


@dataclass(frozen=True)
class Reference:
    """A question that raters and people answered for the same units, by which judges are compared with people."""

    question: str
    """The question's name in judgments."""
    metric: str
    """The metric that is the mean of the answers."""
    answer: str
    """The column of a line's frame with the rater's answers, as numbers."""
    people: str
    """The column with people's answers, null if they were not asked."""
    who: str | None
    """Name of those who gave these answers; None if there are none."""
    bounds: tuple[float, float] = UNIT_SCALE
    margin: str | None = None
    """The column of the rater's scores, if they can be interpreted as log-odds."""
    orders: tuple[str, str] | None = None
    """The columns of the rater's answers with the judged answer shown first and shown last."""

    def known(self, line: Line) -> bool:
        """Return whether people answered anything about a line's units."""
        return self.people in line.frame.columns and line.frame[self.people].count() > 0

    def distances(self, frame: pl.DataFrame) -> pl.Series:
        """Return how far the rater is from people, unit by unit; null if either gave no answer."""
        return (frame[self.answer].cast(pl.Float64) - frame[self.people].cast(pl.Float64)).abs()

    @property
    def distance(self) -> Metric:
        """Return the metric of mean distance from people; lower is better."""
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
    """A feature of units, besides what is asked, that may bias a rater."""

    name: str
    """Its name in results."""
    words: str
    """The units that have it, in the plural."""
    inside: Callable[[pl.DataFrame], pl.Series]
    """Returns whether each row has it; null if unknown."""


def over_median(values: pl.Series) -> pl.Series:
    """Return whether each value is above the median; null if it is unknown."""
    return values.to_frame("value").select(pl.col("value") > pl.col("value").median()).to_series()


@dataclass(frozen=True)
class RunLines:
    """A run with all of its lines and metrics."""

    run: RunRecord
    info: dict[str, Any]
    """The benchmark's info, as stored."""
    kind: str
    lines: list[Line]
    """Raters asked for come first; controls and votes that came with the data are among them, marked as such."""
    metrics: Sequence[Metric]
    """The headline first."""
    slices: Sequence[tuple[str, ...]] = ()
    """Columns that results are reported by, together or alone."""
    references: Sequence[Reference] = ()
    """Questions that people can answer about the same units; none if nobody judges, or if people's answers are the gold of choices."""
    features: Sequence[Feature] = ()
    """Features that may bias raters, if answers are compared with people's."""
    summed: tuple[str, ...] = ()
    """The headline metrics, if there is more than the first."""
    made_alike: tuple[str, ...] = ()
    """If lines hold several systems together: the columns that identify a question, whichever system answered it."""

    @property
    def layouts(self) -> list[tuple[str, ...]]:
        """Return the slices to report results by: those of the kind, and those named in the bars of the run's gate."""
        found = list(dict.fromkeys(self.slices))
        for bar in self.run.config.get("gate", []):
            inside = re.search(r"\[(.+)\]", bar)
            parts = inside[1].split(",") if inside else ()
            names = tuple(slice_column(part.partition("=")[0].strip()) for part in parts)
            if all(set(names) != set(layout) for layout in ((), *found)):
                found.append(names)
        return found

    @property
    def headline(self) -> Metric:
        return self.metrics[0]

    @property
    def headlines(self) -> Sequence[Metric]:
        """Return all headline metrics of the run."""
        return [self.metric(name) for name in self.summed] or [self.headline]

    @property
    def why_no_people(self) -> str:
        """Return why raters cannot be compared with people here, as the end of a sentence on the run."""
        if self.run.config.get("raters"):
            return "whose kind does not say what people could answer"
        return "in which nobody is asked to judge"

    @property
    def rater_kinds(self) -> dict[str, str]:
        """Return the type of each rater by its fingerprint."""
        return {rater["fingerprint"]: rater["kind"] for rater in self.run.config.get("raters", [])}

    def metric(self, name: str) -> Metric:
        for one in self.metrics:
            if one.name == name:
                return one
        known = ", ".join(dict.fromkeys(one.name for one in self.metrics if one.paired))
        raise UserError(f"{self.run.name} has no metric '{name}'; it has {known}.")

    def headline_context(self, lines: Sequence[Line]) -> str | None:
        """Return the headline context of some lines: the benchmark's own if they have it, else the first."""
        contexts = [line.context for line in lines]
        return own_context(self.info) if own_context(self.info) in contexts else next(iter(contexts), None)

    def by_system(self) -> "RunLines":
        """Return the run with a line for each system, paired by question, if lines hold the answers of several together."""
        if not self.made_alike:
            return self
        lines = []
        unit = pl.concat_str(self.made_alike, separator="|")
        for line in self.lines:
            for system, system_context in (
                line.frame.select("system", "system_context").unique(maintain_order=True).iter_rows()
            ):
                frame = line.frame.filter(system=system, system_context=system_context).with_columns(
                    unit=unit
                )
                lines.append(
                    replace(line, system=system or None, system_context=system_context or None, frame=frame)
                )
        return replace(self, lines=lines)


def own_context(info: Mapping[str, Any]) -> str:
    """Return the context whose scores are a benchmark's headline, which its stored description calls `view`."""
    return str(info["view"])


def layouts_of(info: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the slices that a benchmark reports by, as columns."""
    return [tuple(map(slice_column, names)) for names in info["layout"]]


def sliced(
    frame: pl.DataFrame, slices: Sequence[Sequence[str]]
) -> Iterator[tuple[dict[str, str], pl.DataFrame]]:
    """Yield all rows, then the rows of each slice; slices that contain all rows are left out."""
    yield {}, frame
    for names in slices:
        if all(name in frame.columns for name in names):
            for row in frame.select(names).drop_nulls().unique(maintain_order=True).to_dicts():
                part = frame.filter(pl.all_horizontal(*(pl.col(n) == v for n, v in row.items())))
                if len(part) < len(frame):
                    yield row, part


def paired_rows(first: Line, second: Line, metric: Metric) -> pl.DataFrame:
    """Return the units that both lines have a number for: unit, person, prompt, slices, `value`, `other` and `difference` of the two.

    Pseudo-values of figures other than means (F1, kappa) are computed on the shared units, so that they are comparable.
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
    if metric.by_sign:
        higher = ((pl.col("value") - pl.col("other")).sign() + 1) / 2
        both = both.with_columns(value=higher, other=1 - higher)
    difference = pl.col("value") - pl.col("other")
    return both.with_columns(difference=difference).filter(pl.col("difference").is_not_null())


def _sharing(frame: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose unit the other frame has too."""
    if frame["unit"].equals(other["unit"]):
        return frame
    return frame.join(other, on="unit", how="semi", maintain_order="left")
