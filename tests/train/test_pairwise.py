"""The fitted pairwise rater: antisymmetric, exact in its file, honest in its splits, plain about bad input."""

import json
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit.benchmarks import PersonaFeedback
from personafit.raters.fitted import open_fitted, save_fitted
from personafit.raters.fitted.pairwise import PairwiseModel, answer_features, field_group, profile_of
from personafit.train import PreferencePair, cross_fit, deal_folds, fit_pairwise, load_choices, quality

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "personafeedback"
LIKES = "川味火锅 高山滑雪 古典吉他 多肉植物 天文摄影 陶艺拉坯 长途骑行 围棋对弈 海边冲浪 老式相机".split()


def made_up_choices(people: int = 12, each: int = 6) -> list[PreferencePair]:
    """People whose chosen answers take up what they like, with some answers that do not and are longer."""
    draw = random.Random(7)
    choices = []
    for number in range(people):
        like, other = draw.sample(LIKES, 2)
        facets: dict[str, Any] = {
            "Name": f"人物{number}",
            "Demographics.Age": 20 + number,
            "Preference.Content_Interests": [like],
        }
        for question in range(each):
            chosen = f"既然你喜欢{like}，周末可以约朋友一起去，顺便{draw.choice(['拍照', '散步', '喝茶'])}。"
            rejected = f"可以考虑{other}。" + "以下是一些建议：注意休息，合理安排时间。" * draw.randint(0, 3)
            choices.append(
                PreferencePair(f"p{number}", facets, f"周末{question}做什么好？", chosen, rejected, "easy")
            )
    return choices


@pytest.fixture(scope="module")
def choices() -> list[PreferencePair]:
    return made_up_choices()


@pytest.fixture(scope="module")
def model(choices: list[PreferencePair]) -> PairwiseModel:
    return fit_pairwise(choices)


def rated(choices: list[PreferencePair]) -> list[tuple[Any, str, str, str]]:
    return [(choice.facets, choice.question, choice.chosen, choice.rejected) for choice in choices]


def test_swapping_the_answers_negates_the_margin(model: PairwiseModel, choices: list[PreferencePair]) -> None:
    forth = model.margins(rated(choices))
    back = model.margins([(facets, question, b, a) for facets, question, a, b in rated(choices)])
    assert np.array_equal(forth, -back)
    assert np.abs(forth).min() > 0


def test_a_pair_is_rated_the_same_alone_and_among_others(
    model: PairwiseModel, choices: list[PreferencePair]
) -> None:
    together = model.margins(rated(choices))
    assert [model.margin(*pair) for pair in rated(choices)] == pytest.approx(together.tolist(), rel=1e-12)
    choice = choices[0]
    assert model.margin(choice.facets, choice.question, choice.chosen, choice.chosen) == 0
    assert model.margins([]).shape == (0,)


def test_the_person_matters(model: PairwiseModel) -> None:
    question, ski, pot = "周末做什么好？", "你可以去高山滑雪，放松一下。", "你可以去陶艺拉坯，放松一下。"
    skier, potter = {"Preference.Social": "高山滑雪"}, {"Preference.Social": "陶艺拉坯"}
    assert model.margin(skier, question, ski, pot) > model.margin(potter, question, ski, pot)


def test_saving_and_loading_changes_nothing(
    model: PairwiseModel, choices: list[PreferencePair], tmp_path: Path
) -> None:
    again = open_fitted(save_fitted(model, tmp_path / "rater.json"), "choice")
    assert (again.numbers, again.fingerprint) == (model.numbers, model.fingerprint)
    assert np.array_equal(again.margins(rated(choices)), model.margins(rated(choices)))


def test_fitting_twice_gives_the_same_model(model: PairwiseModel, choices: list[PreferencePair]) -> None:
    assert fit_pairwise(choices).fingerprint == model.fingerprint


def test_nobody_is_on_both_sides_of_a_split() -> None:
    owners = [f"p{number % 13}" for number in range(200)]
    folds = deal_folds(owners, 5, seed=3)
    assert set(folds.tolist()) == set(range(5))
    for owner in set(owners):
        assert len({int(fold) for fold, who in zip(folds, owners, strict=True) if who == owner}) == 1


def test_cross_fitted_margins_owe_nothing_to_the_persons_own_choices() -> None:
    choices = made_up_choices(people=8, each=3)
    turned = [replace(c, chosen=c.rejected, rejected=c.chosen) if c.person == "p3" else c for c in choices]
    mine = [row for row, choice in enumerate(choices) if choice.person == "p3"]
    before, after = cross_fit(choices, folds=2)[mine], cross_fit(turned, folds=2)[mine]
    assert np.array_equal(before, -after)


def test_the_report_counts_ties_as_half_and_names_its_subsets(choices: list[PreferencePair]) -> None:
    margins = np.ones(len(choices))
    margins[:36] = 0
    report = quality(choices, margins)
    assert report.accuracy["all"].value == 0.75
    assert report.accuracy["all"].low is not None
    assert {"all", "easy", "shorter chosen"} <= set(report.accuracy)
    json.dumps(asdict(report))


def test_questions_that_recur_widen_the_intervals(choices: list[PreferencePair]) -> None:
    margins = np.tile([1.0, 1.0, 1.0, 1.0, -1.0, -1.0], 12)  # two questions fail for everybody
    margins[:4] = -1.0
    recurring = quality(choices, margins).accuracy["all"]
    own = [replace(choice, question=f"{choice.person} {choice.question}") for choice in choices]
    apart = quality(own, margins).accuracy["all"]
    assert recurring.value == apart.value
    assert recurring.low is not None
    assert apart.low is not None
    assert recurring.low < apart.low - 0.1


def test_one_person_has_no_interval(choices: list[PreferencePair]) -> None:
    report = quality(choices[:6], np.ones(6))
    assert (report.accuracy["all"].low, report.accuracy["all"].high) == (None, None)


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("Preference.Local_Life.Daily_Outings", "outings"),
        ("Preference.Local_Life.TravelDaily_Outings", "outings"),
        ("Demographics.Career_Information", "career"),
        ("Demographics.Nationality", "demographics"),
        ("Bias.Beliefs", "other"),
        ("Name", None),
    ],
)
def test_noisy_paths_find_their_field_group(path: str, group: str | None) -> None:
    assert field_group(path) == group


@pytest.mark.parametrize("answer", ["", " ", "\ud800", "a" * 10_000, "🙂", "\x00", "你"])
def test_any_text_has_finite_features(answer: str) -> None:
    features = answer_features(profile_of({"Preference.Social": "喝茶", "Demographics.Age": 3}), "", answer)
    assert np.isfinite(list(features.values())).all()


def test_a_lone_surrogate_in_the_data_does_not_spoil_the_file(tmp_path: Path) -> None:
    choices = [replace(c, chosen=c.chosen + "\ud800") for c in made_up_choices(people=6)]
    fitted = fit_pairwise(choices)
    again = open_fitted(save_fitted(fitted, tmp_path / "rater.json"), "choice")
    assert np.array_equal(again.margins(rated(choices)), fitted.margins(rated(choices)))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"chosen": ""}, "Choice 1: its chosen must be a text that is not empty"),
        ({"question": None}, "Choice 1: its question must be a text"),
        ({"person": " "}, "Choice 1: its person"),
        ({"rejected": made_up_choices()[0].chosen}, "the same text"),
    ],
)
def test_bad_choices_are_refused(choices: list[PreferencePair], changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        fit_pairwise([PreferencePair(**{**vars(choices[0]), **changed}), *choices[1:]])


def test_too_little_is_refused(choices: list[PreferencePair]) -> None:
    with pytest.raises(ValueError, match="at least 4 people; there are 0"):
        fit_pairwise([])
    with pytest.raises(ValueError, match="at least 4 people; there are 2"):
        cross_fit(choices[:12])
    with pytest.raises(ValueError, match="one margin for each choice"):
        quality(choices, np.ones(3))
    with pytest.raises(ValueError, match="not a finite number"):
        quality(choices, np.full(len(choices), np.nan))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda d: d.pop("format"), "lacks"),
        (lambda d: d.update(version=99), "version 99"),
        (lambda d: d["model"].pop("grams"), "lacks 'grams'"),
        (lambda d: d["model"].update(grams={"你": "many"}), "cannot be used as a fitted model"),
        (lambda d: d["model"].update(grams={"你": float("nan")}), "cannot be used as a fitted model"),
        (
            lambda d: d["model"]["surface"].update(unheard_of={"scale": 1, "soft": 0, "sharp": 0}),
            "unheard_of",
        ),
        (lambda d: d["model"].update(surface=[]), "cannot be used as a fitted model"),
        (lambda d: d["model"]["grams"].update({"你": 9.0}), "changed after it was written"),
    ],
)
def test_damaged_files_are_refused(model: PairwiseModel, tmp_path: Path, edit: Any, says: str) -> None:
    path = save_fitted(model, tmp_path / "rater.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UserError, match=says):
        open_fitted(path, "choice")


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe", b"{"])
def test_files_that_are_no_rater_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rater.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be used as a fitted model"):
        open_fitted(path, "choice")


@pytest.mark.slow
@pytest.mark.skipif(
    not DATA.is_dir(), reason="the PersonaFeedback pairs are not in ../shared/data/personafeedback"
)
def test_quality_on_personafeedback_cross_fitted_by_person() -> None:
    choices = load_choices(PersonaFeedback(DATA))
    report = quality(choices, cross_fit(choices))
    gain = report.gain_over_overlap["all"]
    assert report.accuracy["all"].value == pytest.approx(0.8505, abs=2e-3)
    assert report.accuracy["hard"].value == pytest.approx(0.7220, abs=4e-3)
    assert (report.accuracy["length-matched"].value or 0) >= 0.79
    assert (report.accuracy["shorter chosen"].value or 0) >= 0.55
    assert gain.low is not None
    assert gain.low > 0.02
