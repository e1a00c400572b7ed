"""Results: the flat record of one number, shared by `--json`, results.json, tables and pages, and number formatting."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import polars as pl

from personafit.statistics import Estimate
from personafit.statistics.decisions import Measured
from personafit.store import RunRecord


@dataclass(frozen=True, slots=True)
class Result:
    """One number, as `--json` prints it."""

    rater: str | None
    system: str | None
    system_context: str | None
    context: str | None
    metric: str
    slice: dict[str, str]
    value: float | None
    low: float | None
    high: float | None
    n: int
    people: int
    coverage: float | None
    control: str | None
    fingerprint: str | None
    note: str | None
    se: float | None = None
    """Standard error, if the interval is based on one."""
    df: float | None = None
    """Degrees of freedom of the interval."""
    met_people: bool = False
    """Whether the rater was fitted on people (or prompts) of this run: its figures are no evidence, and nothing is claimed."""
    better: Literal["higher", "lower"] | None = "higher"
    """Which end of the scale is better; None if neither is."""

    @classmethod
    def of(
        cls,
        estimate: Estimate,
        *,
        metric: str,
        rater: str | None = None,
        system: str | None = None,
        system_context: str | None = None,
        context: str | None = None,
        slice: dict[str, str] | None = None,
        coverage: float | None = None,
        control: str | None = None,
        fingerprint: str | None = None,
        note: str | None = None,
    ) -> "Result":
        """Create the result of an estimate; `note` replaces the estimate's own note."""
        return cls(
            rater=rater,
            system=system,
            system_context=system_context,
            context=context,
            metric=metric,
            slice=slice or {},
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n=estimate.n,
            people=estimate.people,
            coverage=coverage,
            control=control,
            fingerprint=fingerprint,
            note=note if note is not None else estimate.note,
            se=estimate.se,
            df=estimate.df,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the object that `--json` prints."""
        return asdict(self)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Result":
        """Read a result written by `as_dict`; raise TypeError for other objects."""
        return cls(**row)


class Figures:
    """Index of a run's results by metric, rater, system, contexts and slice, without published ones."""

    def __init__(self, results: Iterable[Result]) -> None:
        self._found: dict[tuple[Any, ...], Result] = {}
        for one in results:
            if one.control != "published":
                key = (
                    one.metric,
                    one.rater,
                    one.context,
                    one.system,
                    one.system_context,
                    frozenset(one.slice.items()),
                )
                self._found.setdefault(key, one)

    def find(
        self,
        metric: str,
        rater: str | None = None,
        context: str | None = None,
        system: str | None = None,
        system_context: str | None = None,
        **where: str,
    ) -> Result | None:
        """Return the result of a metric for a rater, system and contexts, in a slice."""
        return self._found.get((metric, rater, context, system, system_context, frozenset(where.items())))

    def value(
        self, metric: str, rater: str | None = None, context: str | None = None, **where: str
    ) -> float | None:
        found = self.find(metric, rater, context, **where)
        return None if found is None else found.value


def marked_met(run: RunRecord, results: Iterable[Result]) -> list[Result]:
    """Return the results with `met_people` set for raters fitted on people or prompts of the run."""
    met = run.met_people
    return [replace(one, met_people=True) if one.fingerprint in met else one for one in results]


# -- formatting of numbers and times: a true minus sign, and no sign before zero ----------------------------------------


def plain(value: float, digits: int = 1) -> str:
    """Format a number with `digits` decimals and a true minus sign."""
    return f"{_rounded(value, digits):.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 1) -> str:
    """Format a difference with its sign, unless it rounds to 0."""
    rounded = _rounded(value, digits)
    return plain(value, digits) if rounded == 0 else f"{rounded:+.{digits}f}".replace("-", "−")


def with_interval(
    found: Measured, scale: float = 100.0, digits: int = 1, unit: str = "", difference: bool = False
) -> str:
    """Format a value with its interval: `75.0 % (59.0–91.0)`, or `5.0 points (−1.0 to +11.0)` for a difference."""
    value = f"{plain(scale * (found.value or 0.0), digits)}{unit}"
    if found.low is None or found.high is None:
        return value
    low, high = scale * found.low, scale * found.high
    if difference:
        return f"{value} ({signed(low, digits)} to {signed(high, digits)})"
    return f"{value} ({plain(low, digits)}–{plain(high, digits)})"


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}f}") + 0.0  # turns -0.0 into 0.0


def when(seconds: float) -> str:
    """Format a time in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


_RESULTS: dict[str, Any] = {
    "rater": pl.String,
    "system": pl.String,
    "system_context": pl.String,
    "context": pl.String,
    "metric": pl.String,
    "slice": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "people": pl.Int64,
    "coverage": pl.Float64,
    "control": pl.String,
    "note": pl.String,
    "se": pl.Float64,
    "df": pl.Float64,
    "met_people": pl.Boolean,
    "better": pl.String,
    "fingerprint": pl.String,
}
"""Column types of a frame of results."""


def results_frame(results: Iterable[Result]) -> pl.DataFrame:
    """Return results as a frame, with the column names of the Python API."""
    rows = []
    for result in results:
        row = asdict(result)
        row["slice"] = ", ".join(f"{name}={value}" for name, value in result.slice.items())
        rows.append(tuple(row[name] for name in _RESULTS))
    return pl.DataFrame(rows, schema=_RESULTS, orient="row")
