"""What `agree` says of machines beside people: paired tests corrected for their number, and nothing about those that met the people."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest

from personafit.reports.agree import Agreement, agreement_object, agreements, cautions, conclusions
from personafit.reports.agree_ratings import VOTE, Source, VotingRater
from personafit.reports.claims import LEGEND
from personafit.statistics.agreement import Ints

PEOPLE, EACH = 40, 10
PANEL = ("ann", "ben", "cy")
MET = "fitted:mine was fitted on 40 of the people here: its score on them is no evidence."


def study(
    machines: Mapping[str, float],
    seed: int = 0,
    panel: Sequence[str] = PANEL,
    known: Mapping[str, VotingRater] | None = None,
) -> Source:
    """People who are right 80 % of the time and machines that are right so often, on items of forty people."""
    rng = np.random.default_rng(seed)
    items = [f"i{n}" for n in range(PEOPLE * EACH)]
    truth = rng.integers(0, 2, len(items))
    skills = dict.fromkeys(panel, 0.8) | dict(machines)
    labels = {name: _said(rng, truth, skill) for name, skill in skills.items()}
    people = {item: f"p{n % PEOPLE}" for n, item in enumerate(items)}
    source = Source("study", people, frozenset(items))
    raters = {
        name: (known or {}).get(name, VotingRater(name, "human" if name in panel else "llm"))
        for name in skills
    }
    source.add(
        pl.DataFrame(
            [
                ("fit", item, "", name, str(label), None)
                for name, given in labels.items()
                for item, label in zip(items, given, strict=True)
            ],
            schema=VOTE,
            orient="row",
        ),
        raters,
    )
    return source


def _said(rng: np.random.Generator, truth: Ints, skill: float) -> Ints:
    return np.asarray(np.where(rng.random(len(truth)) < skill, truth, 1 - truth))


def only(source: Source) -> Agreement:
    (found,) = agreements(source)
    return found


def test_a_poor_machine_is_below_and_a_good_one_above_by_a_paired_test() -> None:
    found = only(study({"poor": 0.65}))
    gap = found.of_part("gap")["poor"]
    assert gap.p is not None
    assert gap.p < 0.05
    last = conclusions(found)[-1]
    assert "the machine, poor, reaches" in last
    assert "below what one person reaches" in last
    assert "points on the same items" in last
    assert "overlap" not in last
    assert "above what one person reaches" in conclusions(only(study({"good": 0.97})))[-1]
    (same,) = agreements(study({"same": 0.8}), margin=0.01)
    last = conclusions(same)[-1]
    assert ": not distinguishable from one person (" in last
    tested = same.of_part("gap")["same"].tested
    assert tested is not None
    assert tested.detectable is not None
    assert f"this run could have detected {100 * tested.detectable:.1f} points or more; not shown" in last
    assert same.of_part("gap")["same"].as_dict()["detectable"] == tested.detectable
    assert same.legend == [LEGEND]


def test_a_machine_within_a_wide_margin_is_called_equivalent_to_one_person() -> None:
    (found,) = agreements(study({"same": 0.8}), margin=0.2)
    assert ": not distinguishable from one person and equivalent (" in conclusions(found)[-1]
    assert "equivalent within ±20.0 points, p < 0.001)." in conclusions(found)[-1]
    assert found.of_part("gap")["same"].as_dict()["equivalent"] is True


def test_the_best_of_several_is_corrected_for_their_number() -> None:
    machines = {f"m{n}": 0.8 for n in range(8)}
    kinds = {
        name: VotingRater(name, f"kind of {name}") for name in machines
    }  # of one kind they would make an ensemble
    claimed, uncorrected = 0, 0
    for seed in range(5):
        gaps = only(study(machines, seed, known=kinds)).of_part("gap")
        claimed += any((gap.p or 1.0) < 0.05 for gap in gaps.values())
        uncorrected += any((gap.estimate.p_value() or 1.0) < 0.05 for gap in gaps.values())
    assert claimed <= 1
    assert uncorrected > claimed
    sentence = conclusions(only(study(machines, known=kinds)))[-1]
    assert "the best of 8 machines" in sentence
    assert "by Holm for 8 machines" in sentence


def test_the_alternative_annotator_test_stands_beside_it() -> None:
    found = only(study({"good": 0.95, "poor": 0.55}))
    tests = found.of_part("alternative")
    assert tests["good"].estimate.value == 1.0
    assert tests["poor"].estimate.value == 0.0
    assert "at least as good as ann, ben, cy of 3 people" in (tests["good"].estimate.note or "")
    words = " ".join(conclusions(found))
    assert "good is at least as good as 100 % of the people, so it may stand in for one of them." in words
    assert "Also below the human ceiling: poor." in words
    assert not only(study({"good": 0.95}, panel=("ann", "ben"))).of_part("alternative")


def test_nothing_is_claimed_about_a_rater_that_was_fitted_on_these_people() -> None:
    source = study(
        {"mine": 0.97, "other": 0.6}, known={"mine": VotingRater("fitted:mine", "fitted", met=MET)}
    )
    found = only(source)
    assert f"{MET} Nothing is concluded about its agreement." in cautions(found, source)
    said = " ".join(conclusions(found))
    assert "mine" not in said
    assert "kind fitted" not in said
    assert "the machine, other, reaches" in said
    assert set(found.of_part("gap")) == {"other"}
    assert found.find("pair", "kappa", "fitted:mine", "ann") is not None, "its figures are still shown"
    (words,) = agreement_object(source, [found])["words"]
    assert any(MET in caution for caution in words["cautions"])


def test_controls_are_shown_and_not_tested() -> None:
    found = only(
        study({"rule": 0.5, "llm": 0.8}, known={"rule": VotingRater("rule:length", "rule", control=True)})
    )
    assert set(found.of_part("gap")) == {"llm"}
    assert found.find("ceiling", "majority", "rule:length") is not None


def orders(margins: Sequence[tuple[float, float]]) -> Source:
    """A judge's margins in two orders beside one person, who always says 0."""
    items = {f"i{n}": f"p{n % 8}" for n in range(len(margins))}
    source = Source("orders", items, frozenset(items))
    rows: list[tuple[str, str, str, str, str, float | None]]
    rows = [("fit", item, "", "ann", "0", None) for item in items]
    for item, both in zip(items, margins, strict=True):
        rows += [("fit", item, "", "judge", "0" if margin > 0 else "1", margin) for margin in both]
    source.add(
        pl.DataFrame(rows, schema=VOTE, orient="row"),
        {"ann": VotingRater("ann", "human"), "judge": VotingRater("judge", "llm")},
    )
    return source


@pytest.mark.parametrize(("size", "share"), [(1.0, 0.75), (0.4, 0.5)])
def test_a_flip_with_the_order_is_half_a_point_unless_a_margin_decides(size: float, share: float) -> None:
    """Half the items flip. Letters alone count ±1 and cancel: half a point each. Margins decide, here for the wrong answer."""
    source = orders([(1.0, 1.0), (size, -1.0)] * 8)
    found = only(source)
    percent = found.find("pair", "percent", "judge", "ann")
    assert percent is not None
    assert percent.value == pytest.approx(share)
    said = " ".join(cautions(found, source))
    flips = "Answers that change with the order (8 of judge) and have no margin to decide are ties"
    assert (flips in said) is (size == 1.0)
