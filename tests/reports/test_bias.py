"""Planted biases are found, absent ones are not, people's own are not held against a judge, and the rest is said."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from personafit.reports.answer_pairs import family_of
from personafit.reports.bias import Effect, RaterBias, bias_pieces, bias_results, judge_bias
from personafit.reports.claims import LEGEND
from personafit.reports.pieces import Grid, Sentences
from personafit.statistics import Estimate
from personafit.statistics.bias import NO_SCALE
from personafit.statistics.decisions import Hypothesis as Question
from personafit.statistics.decisions import decide_together
from tests.reports.judged import Judge, make_world

PEOPLE = {"length": 0.5, "mention": 0.3}


@pytest.fixture(scope="module")
def biases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RaterBias]:
    like_people = {"truth": 1.0}
    judges = [
        Judge("fair", margins=False, weights=like_people),
        Judge("first", position=0.8, margins=False, weights=like_people),
        Judge("steady", margins=False, weights={"truth": 3.0}),
        Judge("long", margins=False, weights={"length": 2.0, "mention": 0.3}),
        Judge("short", margins=False, weights={"length": -0.5}),
        Judge("mentions", margins=False, weights={"truth": 1.0, "mention": 1.5}),
        Judge("names", margins=False, weights={"truth": 1.0, "naming": 1.5}),
        Judge("openai:gpt-4o@http://host", margins=False, weights={"truth": 1.0, "family": 1.0}, own="gpt-5"),
        Judge("openai:claude-9", margins=False, weights=like_people),
        Judge("stuck", always="first", margins=False),
        Judge("undecided", always="tie"),
        Judge("broken", failing=True),
        Judge("rule:length", kind="rule", orders=1, weights={"length": 1e9}),
    ]
    folder = tmp_path_factory.mktemp("world")
    world = make_world(folder, judges, PEOPLE, makers=("gpt-5", "anthropic/claude-4"), seed=3)
    return {str(bias.line.rater): bias for bias in judge_bias(world.store, world.scores)}


def effect(bias: RaterBias, name: str) -> Effect:
    (found,) = (one for one in bias.effects if one.name == name)
    return found


def words(bias: RaterBias, name: str) -> str:
    """The sentence about one effect after the rater's name, without its full stop."""
    return str(effect(bias, name).sentence).removeprefix(f"{bias.line.rater}: ").removesuffix(".")


def clear(effect: Effect) -> int:
    """1 or -1 where the judge differs clearly from people, 0 where not."""
    gap = effect.difference
    if gap.low is None or gap.high is None:
        assert gap.note
        return 0
    return int(gap.low > 1) - int(gap.high < 1)


def test_a_fair_judge_has_peoples_preferences_and_no_others(biases: dict[str, RaterBias]) -> None:
    fair = biases["fair"]
    assert "no clear preference by position" in words(fair, "position")
    assert [clear(effect(fair, name)) for name in ("length", "mention", "naming")] == [0, 0, 0]
    assert words(fair, "length").startswith(
        "prefers the longer answer; not distinguishable from people (this run could have detected an odds ratio of "
    )
    assert words(fair, "length").endswith("not shown to be equivalent within odds ratios of 0.82 to 1.22)")
    assert (effect(fair, "length").people.low or 0) > 1
    assert words(fair, "naming").startswith("shows no clear preference by naming")


def test_a_steadier_judge_with_peoples_tastes_is_not_called_biased(biases: dict[str, RaterBias]) -> None:
    steady = biases["steady"]
    judge, people = effect(steady, "length").judge, effect(steady, "length").people
    assert judge.low is not None
    assert people.high is not None
    assert judge.low > people.high, "its odds ratio is far larger"
    assert [clear(effect(steady, name)) for name in ("length", "mention", "naming")] == [0, 0, 0]
    assert words(steady, "length").startswith("prefers the longer answer; not distinguishable from people (")


def test_a_planted_position_bias_is_found_alone(biases: dict[str, RaterBias]) -> None:
    first = biases["first"]
    odds = effect(first, "position").judge
    assert odds.low is not None
    assert odds.high is not None
    assert odds.low <= 2.2255 <= odds.high  # e to the 0.8
    assert first.first_share is not None
    assert (first.first_share.low or 0) > 0.6
    assert words(first, "position") == "prefers the answer shown first"
    assert "order people saw" in (effect(first, "position").people.note or "")
    assert [clear(effect(first, name)) for name in ("length", "mention", "naming")] == [0, 0, 0]


def test_planted_length_mention_and_family_biases_are_found(biases: dict[str, RaterBias]) -> None:
    # Its difference from people by itself is shown (p = 0.025), beside those of all other judges and features it is not.
    length = effect(biases["long"], "length")
    assert clear(length) == 1
    assert words(biases["long"], "length").startswith(
        "prefers the longer answer; not distinguishable from people ("
    )
    assert clear(effect(biases["long"], "mention")) == 0
    assert (
        words(biases["short"], "length")
        == "prefers the shorter answer, unlike people, who prefer the longer answer"
    )
    mentions = biases["mentions"]
    assert (
        words(mentions, "mention")
        == "prefers the answer that mentions more of the person more than people do"
    )
    assert words(biases["names"], "naming") == "prefers the answer that names the person more than people do"
    assert clear(effect(mentions, "length")) == 0
    own = effect(biases["openai:gpt-4o@http://host"], "family")
    assert (
        words(biases["openai:gpt-4o@http://host"], "family")
        == "prefers the answer of its own family more than people do"
    )
    assert own.judge.low is not None
    assert own.judge.high is not None
    assert own.judge.low <= 2.718 <= own.judge.high
    assert clear(effect(biases["openai:claude-9"], "family")) == 0


def test_what_cannot_be_said_is_said(biases: dict[str, RaterBias]) -> None:
    assert "decide every choice" in words(biases["stuck"], "length")
    share = biases["stuck"].first_share
    assert share is not None
    assert share.value == 1.0
    # What cannot be said has no number either: its size would be the ridge's.
    for found in biases["stuck"].effects:
        assert (found.judge.value, found.judge.low, found.difference.value) == (None, None, None)
        assert found.judge.note
    assert "no upper bound" in (effect(biases["stuck"], "position").judge.note or "")
    assert effect(biases["stuck"], "length").people.value is not None
    exported = {result.metric: result for result in bias_results([biases["stuck"]])}
    position = exported["bias_position"]
    assert (position.value, position.low, position.high) == (None, None, None)
    assert "every choice is a tie" in words(biases["undecided"], "length")
    assert "no answered choice" in words(biases["broken"], "length")
    assert {result.coverage for result in bias_results([biases["broken"]])} == {0.0}
    rule = biases["rule:length"]
    assert "order cannot matter" in words(rule, "position")
    assert "no model with a family name" in words(rule, "family")
    assert "no pair has an answer of fair" in words(biases["fair"], "family")
    said, pieces = bias_pieces([rule])  # people's effect alone says nothing about a judge: no table
    assert (
        said[0]
        == "rule:length: position cannot be measured: it scores each answer by itself, so order cannot matter."
    )
    assert not any(isinstance(piece, Grid) for piece in pieces)


def test_every_record_has_a_number_or_a_reason(biases: dict[str, RaterBias]) -> None:
    results = list(bias_results(list(biases.values())))
    assert len(results) == len(biases) * 16
    assert all(result.value is not None or result.note for result in results)
    assert all(result.value is None or result.value == result.value for result in results)
    named = {result.metric for result in results}
    assert {"first_share", "bias_length", "bias_length_people", "bias_length_over_people"} <= named


def test_votes_stand_for_people_where_there_are_votes(tmp_path: Path) -> None:
    judges = [Judge("fair", margins=False, weights={"truth": 1.0})]
    world = make_world(tmp_path, judges, {"length": 0.8}, votes=5, seed=2)
    (bias,) = judge_bias(world.store, world.scores)
    assert "votes" in bias.people_are
    # A majority of five would show people as far more decided than a single judge can be.
    people = effect(bias, "length").people
    assert people.low is not None
    assert people.high is not None
    assert people.low <= 2.2255 <= people.high
    assert clear(effect(bias, "length")) == 0


def test_one_person_gets_numbers_without_intervals(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("fair", margins=False)], people=1, each=30)
    (bias,) = judge_bias(world.store, world.scores)
    assert effect(bias, "length").judge.value is not None
    assert words(bias, "length").startswith("length has no interval: it needs at least")
    assert "there is 1" in words(bias, "length")


def test_a_win_rate_has_no_human_effect(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("fair", margins=False)], people=8, metric="win_rate")
    (bias,) = judge_bias(world.store, world.scores)
    assert effect(bias, "length").judge.low is not None
    assert effect(bias, "length").people.value is None
    assert "which answer was tested" in (effect(bias, "length").people.note or "")


def test_items_without_gold_leave_the_judges_own_effects(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("fair", margins=False)], people=8, each=10, labelled=False)
    (bias,) = judge_bias(world.store, world.scores)
    assert effect(bias, "length").judge.low is not None
    assert effect(bias, "length").people.note == "no answered item has gold"


def test_choices_among_more_than_two_answers_are_left_out(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("one", always="0")], people=6, each=3, products=3)
    (bias,) = judge_bias(world.store, world.scores)
    assert "no answered choice between two answers" in words(bias, "length")


def test_one_feature_alone_cannot_tell_taste_from_steadiness(biases: dict[str, RaterBias]) -> None:
    found = effect(biases["fair"], "length")
    (unscaled,) = decide_together([Question(Estimate(None, None, None, 9, 9, NO_SCALE))])
    alone = replace(found, tests=(*found.tests[:2], unscaled))
    assert str(alone.sentence).startswith(
        "fair: prefers the longer answer; this cannot be compared with people"
    )


def test_nothing_is_claimed_of_a_rater_on_people_it_was_fitted_on(tmp_path: Path) -> None:
    world = make_world(tmp_path, [Judge("fair", margins=False), Judge("other", margins=False)], people=8)
    note = "fair was fitted on 8 of the people here: its score on them is no evidence."
    run = world.scores.run
    met = run._replace(config={**run.config, "notes": [note], "raters": world.scores.raters})
    fair, other = judge_bias(world.store, replace(world.scores, run=met))
    assert (fair.met_people, other.met_people) == (note, None)
    assert not any(found.sentence for found in fair.effects)
    assert all(found.sentence for found in other.effects)
    noted = [result.note or "" for result in bias_results([fair]) if result.metric.endswith("over_people")]
    assert all("is no evidence" in note and "prefers" not in note for note in noted)
    assert {result.rater: result.met_people for result in bias_results([fair, other])} == {
        "fair": True,
        "other": False,
    }


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("openai:gpt-4o@https://host/v1,price=1/2", "gpt"),
        ("o3-mini", "gpt"),
        ("openai:Qwen/Qwen2.5-7B-Instruct", "qwen"),
        ("meta-llama/Llama-3.3-70B", "llama"),
        ("inspect:anthropic/claude-sonnet-4-6", "claude"),
        ("embedded:models/SmolLM2-135M.gguf", "smollm"),
        ("embedded", "embedded"),
        ("", None),
    ],
)
def test_families_are_read_from_names(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_answers_that_were_not_made_are_left_out(tmp_path: Path) -> None:
    """They lose without being judged, and the answer they lose to is always the longer one."""
    world = make_world(
        tmp_path, [Judge("fair", margins=False, weights={"truth": 1.0})], PEOPLE, people=20, each=6
    )
    unmade = pl.when(pl.int_range(pl.len()) % 4 == 0).then(pl.lit("answer")).alias("unmade")
    marked = replace(world.scores, items=world.scores.items.with_columns(unmade))
    made = replace(world.scores, items=marked.items.filter(pl.col("unmade").is_null()))
    found, expected = (judge_bias(world.store, scores)[0] for scores in (marked, made))
    assert found.first_share is not None
    assert found.first_share.n == 2 * len(made.items)
    assert found.effects == expected.effects
    assert found.effects != judge_bias(world.store, world.scores)[0].effects


def test_a_judge_that_likes_length_more_than_people_do_is_said_to(tmp_path: Path) -> None:
    judges = [Judge("long", margins=False, weights={"length": 2.0, "mention": 1.0})]
    world = make_world(tmp_path, judges, {"length": 0.5, "mention": 1.0}, people=40, each=15)
    found = judge_bias(world.store, world.scores)
    assert words(found[0], "length") == "prefers the longer answer more than people do"
    notes = bias_pieces(found)[1][-1]
    assert isinstance(notes, Sentences)
    assert LEGEND in notes.sentences


def test_claims_are_controlled_over_raters_and_features(tmp_path: Path) -> None:
    """Eight judges that toss coins: each effect by itself is clear in some, and after Holm's adjustment none is claimed."""
    judges = [Judge(f"coin{n}", margins=False) for n in range(8)]
    world = make_world(tmp_path, judges, PEOPLE, people=20, each=10, seed=5)
    found = judge_bias(world.store, world.scores)
    tests = [one.tests for rater in found for one in rater.effects]
    own = [judge for judge, _, _ in tests]
    differences = sum(difference.p is not None for _, _, difference in tests)
    assert {finding.tests for finding in own} == {8 * 4 + 3 + differences}, (
        "judges', people's once, differences"
    )
    assert any((finding.p or 1.0) < 0.05 for finding in own)
    assert not any(finding.decided for finding in own)
    assert all(
        "shows no clear preference" in str(one.sentence) for rater in found for one in rater.effects[:4]
    )
