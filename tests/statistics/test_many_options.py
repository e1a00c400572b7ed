"""Choices among more than two answers: a tie is a guess, and a lead of product 0 says nothing about the others."""

from collections.abc import Sequence

import polars as pl
import pytest

from personafit.statistics import choice_scores


def scored(
    gold: str,
    labels: list[str],
    values: list[float],
    options: int | None,
    orders: Sequence[str] = ("0123", "3210"),
) -> dict[str, float]:
    count = len(labels)
    rows = {
        "item": ["i"] * count,
        "gold": [gold] * count,
        "order": list(orders)[:count],
        "sample": [0] * count,
        "status": ["ok"] * count,
        "label": labels,
        "value": values,
    }
    frame = pl.DataFrame(rows if options is None else {**rows, "option_count": [options] * count})
    (row,) = choice_scores(frame).to_dicts()
    assert "option_count" not in row
    return row


@pytest.mark.parametrize(("options", "credit"), [(None, 1 / 2), (2, 1 / 2), (4, 1 / 4), (5, 1 / 5)])
def test_a_tie_is_worth_a_guess(options: int | None, credit: float) -> None:
    row = scored("1", ["tie", "tie"], [0.0, 0.0], options)
    assert (row["accuracy"], row["first"]) == pytest.approx((credit, credit))


def test_a_wrong_answer_is_wrong_though_product_0_lost_too() -> None:
    row = scored("1", ["2", "3"], [-1.0, -1.0], 4)
    assert (row["accuracy"], row["debiased"], row["consistent"]) == (0.0, 0.0, 0.0)


def test_of_two_the_margins_decide_as_before() -> None:
    row = scored("1", ["1", "0"], [-2.0, 1.0], None)
    assert (row["accuracy"], row["debiased"]) == (0.5, 1.0)


def test_orders_that_differ_score_half_each() -> None:
    row = scored("1", ["1", "0"], [-2.0, 1.0], 4)
    assert (row["accuracy"], row["debiased"], row["consistent"]) == (0.5, 0.5, 0.0)


def test_the_first_of_more_than_ten_is_known_by_its_place() -> None:
    row = scored("10", ["10", "3"], [-1.0, -1.0], 15, orders=["a01", "30a"])
    assert (row["accuracy"], row["first"]) == (0.5, 1.0)
