"""Lines and metrics: one shape for runs of every kind."""

import polars as pl
import pytest

from personafit.kinds import Line, Metric
from personafit.kinds.lines import paired_rows
from personafit.statistics import Estimate


def line(rater: str, rows: dict[str, list[float | None]], **columns: list[object]) -> Line:
    count = len(next(iter(rows.values())))
    units = [f"u{n}" for n in range(count)]
    fixed: dict[str, list[object]] = {
        "unit": list(units),
        "item": list(units),
        "person": [f"p{n // 2}" for n in range(count)],
        "prompt": [f"q{n}" for n in range(count)],
        "asked": [1] * count,
        "answered": [1] * count,
    }
    return Line(rater, rater, "profile", None, None, pl.DataFrame(fixed | columns | rows))


def test_a_metric_is_the_clustered_mean_of_its_column() -> None:
    one = line("a", {"score": [1.0, 0.0, 1.0, 1.0, None, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0]})
    found = Metric("score").of(one.frame)
    assert found.value == pytest.approx(8 / 11)
    assert (found.n, found.people) == (11, 6)
    assert found.low is not None


def test_a_metric_applies_to_lines_that_have_its_column() -> None:
    one = line("a", {"score": [1.0, 0.0]})
    assert Metric("score").applies(one)
    assert not Metric("accuracy", "right").applies(one)


def test_lines_are_paired_by_the_units_both_answered() -> None:
    first = line("a", {"score": [1.0, 0.0, None, 1.0]})
    second = line("b", {"score": [0.0, 0.0, 1.0, None]})
    both = paired_rows(first, second, Metric("score"))
    assert both["unit"].to_list() == ["u0", "u1"]
    assert both["difference"].to_list() == [1.0, 0.0]


def test_a_unit_that_stands_in_several_rows_is_averaged() -> None:
    first = line("a", {"score": [1.0, 0.0, 1.0]}, unit=["x", "x", "y"])
    second = line("b", {"score": [0.0, 1.0]}, unit=["x", "y"])
    both = paired_rows(first, second, Metric("score"))
    assert both.select("unit", "value", "difference").rows() == [("x", 0.5, 0.5), ("y", 1.0, 0.0)]


def test_numbers_of_a_figure_that_is_no_mean_are_taken_on_the_shared_units() -> None:
    def values(frame: pl.DataFrame) -> pl.Series:
        return frame["score"] / frame["score"].max()

    def estimate(frame: pl.DataFrame) -> Estimate:
        return Metric("relative").of(frame.with_columns(values(frame).alias("relative")))

    metric = Metric("relative", "score", estimate=estimate, values=values, holds=("score",))
    first = line("a", {"score": [2.0, 4.0, 8.0]})
    second = line("b", {"score": [1.0, 1.0, None]})
    both = paired_rows(first, second, metric)
    assert both["value"].to_list() == [0.5, 1.0]  # the largest of the shared two is 4


def test_a_line_is_called_by_its_system_where_it_has_one() -> None:
    one = line("judge", {"score": [1.0]})
    made = Line("judge", "f", "profile", "assistant", "memory", one.frame)
    assert one.name == "judge (profile)"
    assert made.name == "assistant given memory, judged by judge (profile)"
