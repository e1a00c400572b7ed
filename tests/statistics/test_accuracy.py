"""The scoring rules: ties are half, orders are averaged, margins are summed, consistency and coverage stand apart."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from personafit.statistics import choice_scores, mean_by_item

SCHEMA = {
    "item": pl.String,
    "person": pl.String,
    "prompt": pl.String,
    "gold": pl.String,
    "tier": pl.String,
    "order": pl.String,
    "sample": pl.Int64,
    "status": pl.String,
    "label": pl.String,
    "value": pl.Float64,
}
Said = tuple[str, str | None, float | None]  # status, label, margin of product 0


def answers(*said: Said, gold: str = "0", item: str = "i", person: str = "ann") -> pl.DataFrame:
    """The answers about one item, in alternating orders."""
    rows = [
        (item, person, f"prompt of {item}", gold, "easy", ("01", "10")[n % 2], n // 2, status, label, value)
        for n, (status, label, value) in enumerate(said)
    ]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def scored(*said: Said, gold: str = "0") -> dict[str, Any]:
    (row,) = choice_scores(answers(*said, gold=gold)).to_dicts()
    return row


FIRST: Said = ("ok", "0", 2.0)
SECOND: Said = ("ok", "1", -1.0)
TIE: Said = ("ok", "tie", 0.0)
UNPARSED: Said = ("unparsed", None, None)
REFUSED: Said = ("refused", None, None)
FAILED: Said = ("failed", None, None)


@pytest.mark.parametrize(
    ("said", "gold", "accuracy", "debiased", "consistent"),
    [
        ((FIRST, FIRST), "0", 1.0, 1.0, 1.0),
        ((FIRST, FIRST), "1", 0.0, 0.0, 1.0),
        ((SECOND, SECOND), "1", 1.0, 1.0, 1.0),
        ((FIRST, SECOND), "0", 0.5, 1.0, 0.0),  # margins +2 and -1: the first is ahead
        ((FIRST, SECOND), "1", 0.5, 0.0, 0.0),
        ((("ok", "0", 1.0), SECOND), "0", 0.5, 0.5, 0.0),  # a pure taste for one place cancels
        ((TIE, TIE), "0", 0.5, 0.5, 1.0),
        ((FIRST, TIE), "0", 0.75, 1.0, 0.0),
        ((SECOND, TIE), "0", 0.25, 0.0, 0.0),
        ((TIE, ("ok", "1", -0.1)), "1", 0.75, 1.0, 0.0),
        (
            (FIRST, FIRST),
            "tie",
            0.5,
            0.5,
            1.0,
        ),  # neither answer is the right one: choosing either is half right
        ((FIRST, SECOND), "tie", 0.5, 0.5, 0.0),
        ((TIE, TIE), "tie", 0.5, 0.5, 1.0),
    ],
)
def test_both_orders(
    said: Sequence[Said], gold: str, accuracy: float, debiased: float, consistent: float
) -> None:
    row = scored(*said, gold=gold)
    assert (row["accuracy"], row["debiased"], row["consistent"]) == (accuracy, debiased, consistent)
    assert (row["asked"], row["answered"]) == (2, 2)


@pytest.mark.parametrize("lost", [UNPARSED, REFUSED, FAILED])
def test_one_failed_order_gives_no_score_and_coverage_says_so(lost: Said) -> None:
    for said in ((FIRST, lost), (lost, FIRST), (FIRST, lost, FIRST, lost)):
        row = scored(*said)
        assert (row["accuracy"], row["debiased"], row["consistent"], row["first"]) == (None,) * 4
        assert (row["asked"], row["answered"]) == (len(said), len(said) // 2)


ALWAYS_FIRST = {"01": ("ok", "0", 2.0), "10": ("ok", "1", -2.0)}


@pytest.mark.parametrize("gold", ["0", "1"])
@pytest.mark.parametrize("orders", [("01", "01", "01", "10"), ("10", "10", "01"), ("01", "10")])
def test_an_always_first_judge_is_a_coin_however_often_each_order_was_answered(
    orders: Sequence[str], gold: str
) -> None:
    """Three answers in one order and one in the other were .75 right and debiased 1.0 once."""
    said = [ALWAYS_FIRST[order] for order in orders]
    frame = answers(*said, gold=gold).with_columns(
        pl.Series("order", orders), pl.Series("sample", range(len(orders)))
    )
    (row,) = choice_scores(frame).to_dicts()
    assert (row["accuracy"], row["debiased"], row["consistent"], row["first"]) == (0.5, 0.5, 0.0, 1.0)


def test_margins_that_cancel_after_averaging_are_a_tie_in_spite_of_rounding() -> None:
    orders = ["01", "01", "01", "10"]
    said = [("ok", "0", 0.1)] * 3 + [("ok", "1", -0.1)]
    frame = answers(*said).with_columns(pl.Series("order", orders), pl.Series("sample", [0, 1, 2, 0]))
    assert choice_scores(frame)["debiased"].to_list() == [0.5]


def test_samples_that_differ_within_an_order_are_no_order_inconsistency() -> None:
    # Alternating orders: each has FIRST twice and SECOND once.
    row = scored(FIRST, FIRST, FIRST, FIRST, SECOND, SECOND)
    assert row["consistent"] == 1.0
    assert row["accuracy"] == pytest.approx(2 / 3)
    # One order leads to the first answer, the other to a tie of its samples.
    assert scored(FIRST, FIRST, FIRST, SECOND)["consistent"] == 0.0
    # A tie beside a choice leaves the choice in the lead.
    assert scored(FIRST, FIRST, TIE, FIRST)["consistent"] == 1.0
    assert scored(TIE, FIRST, FIRST, SECOND, SECOND, TIE)["consistent"] == 1.0  # both orders tie


@pytest.mark.parametrize(
    ("values", "debiased"),
    [
        ((2.0, -1.0), 1.0),
        ((None, None), 0.5),  # no margins at all: what was chosen decides, and here both were
        ((2.0, None), None),  # a missing margin is missing: it is not 0
        ((None, -1.0), None),
    ],
)
def test_a_missing_margin_is_missing(
    values: tuple[float | None, float | None], debiased: float | None
) -> None:
    row = scored(("ok", "0", values[0]), ("ok", "1", values[1]))
    assert (row["accuracy"], row["debiased"]) == (0.5, debiased)


def test_without_margins_what_was_chosen_in_both_orders_decides() -> None:
    bare: Said = ("ok", "0", None)
    assert scored(bare, bare)["debiased"] == 1.0
    assert scored(bare, bare, gold="1")["debiased"] == 0.0
    assert scored(bare, ("ok", "tie", None))["debiased"] == 1.0
    assert scored(bare, ("ok", "1", -1.0), gold="tie")["debiased"] == 0.5


def test_a_rater_for_whom_order_cannot_matter_needs_one_answer() -> None:
    frame = answers(SECOND, gold="1").with_columns(pl.lit("").alias("order"))
    (row,) = choice_scores(frame).to_dicts()
    assert (row["accuracy"], row["debiased"], row["consistent"], row["first"]) == (1.0, 1.0, None, None)


def test_no_answer_at_all_is_null_and_not_wrong() -> None:
    row = scored(UNPARSED, FAILED)
    assert (row["accuracy"], row["debiased"], row["consistent"]) == (None, None, None)
    assert (row["asked"], row["answered"]) == (2, 0)


@pytest.mark.parametrize("said", [FIRST, SECOND, TIE])
def test_without_gold_there_is_no_score_and_still_an_answer(said: Said) -> None:
    frame = answers(said, said).with_columns(pl.lit(None, pl.String).alias("gold"))
    (row,) = choice_scores(frame).to_dicts()
    assert (row["accuracy"], row["debiased"], row["consistent"]) == (None, None, 1.0)
    assert (row["asked"], row["answered"]) == (2, 2)


def test_a_leftover_label_of_a_failed_ask_does_not_count() -> None:
    row = scored(FIRST, FIRST, FIRST, ("failed", "1", -9.0))
    assert (row["accuracy"], row["debiased"], row["consistent"]) == (1.0, 1.0, 1.0)


def test_one_order_only_is_no_score() -> None:
    row = scored(SECOND, gold="1")
    assert (row["accuracy"], row["consistent"], row["asked"]) == (None, None, 1)


def test_samples_are_averaged_within_the_item() -> None:
    row = scored(FIRST, FIRST, FIRST, SECOND)
    assert (row["accuracy"], row["debiased"], row["consistent"]) == (0.75, 1.0, 0.0)


def test_slices_are_carried_and_answers_are_not() -> None:
    row = scored(FIRST, FIRST)
    assert row["tier"] == "easy"
    assert set(row) == {
        *("item", "person", "prompt", "tier"),
        *("accuracy", "debiased", "consistent", "first", "asked", "answered"),
    }


def many(*items: tuple[str, str, Sequence[Said]]) -> pl.DataFrame:
    """Scores of several items, each with its person and what was said of it."""
    return choice_scores(pl.concat([answers(*said, item=i, person=p) for i, p, said in items]))


def test_means_are_over_items_with_an_answer_and_coverage_is_over_asks() -> None:
    frame = many(
        ("a", "ann", (FIRST, FIRST)),
        ("b", "ann", (SECOND, UNPARSED)),
        ("c", "bob", (FAILED, FAILED)),
        ("d", "bob", (FIRST, SECOND)),
    )
    estimate = mean_by_item(frame, "accuracy")
    assert estimate.value == pytest.approx(0.75)
    assert (estimate.n, estimate.people) == (2, 2)
    assert (frame["answered"].sum(), frame["asked"].sum()) == (5, 8)
    consistency = mean_by_item(frame, "consistent")
    assert (consistency.value, consistency.n) == (0.5, 2)


def test_an_item_answered_twice_weighs_as_much_as_one_answered_four_times() -> None:
    frame = many(("a", "ann", (FIRST, FIRST, FIRST, FIRST)), ("b", "bob", (SECOND, SECOND, UNPARSED, FAILED)))
    assert mean_by_item(frame, "accuracy").value == 0.5


def test_where_no_item_has_an_answer_the_mean_is_undefined() -> None:
    frame = many(("a", "ann", (FAILED, FAILED)))
    estimate = mean_by_item(frame, "accuracy")
    assert (estimate.value, estimate.n, estimate.note) == (None, 0, "no item has an answer")
    assert frame["answered"].sum() == 0


def test_recurring_prompts_widen_the_interval() -> None:
    source = [FIRST, SECOND]
    said = [(f"{p}{q}", f"p{p}", (source[q % 2], source[q % 2])) for p in range(6) for q in range(6)]
    frame = many(*said).with_columns(pl.col("item").str.slice(1).alias("prompt"))
    apart = frame.with_columns(pl.col("item").alias("prompt"))
    two_way, one_way = mean_by_item(frame, "accuracy"), mean_by_item(apart, "accuracy")
    assert two_way.value == one_way.value == 0.5
    assert (two_way.high or 0) - (two_way.low or 0) > (one_way.high or 0) - (one_way.low or 0) + 0.1
