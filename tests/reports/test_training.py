"""Trained and fitted raters as parts of a report: curves, readings, the result, cards, and the command that trains the same again."""

import json
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from personafit._errors import UserError
from personafit.cli.train import reward
from personafit.reports.pieces import Cell, Grid, Picture
from personafit.reports.training import (
    OPTIONS,
    fitted_part,
    is_fitted,
    is_training,
    read_training,
    training_command,
    training_part,
)
from personafit.statistics import Estimate
from personafit.train.cards import QualityMetric
from personafit.train.matcher import BY_PROMPT, METRICS, card
from personafit.train.reward.settings import Mix, RewardSettings

SETTINGS = {
    "base": "some/base",
    "data": "my pairs.jsonl",
    "preset": "helpsteer",
    "swap": 0.5,
    "mix": ["general.jsonl", 0.36],
    "lora": True,
    "adapter": False,
    "pack": "sequence",
    "epochs": 2.0,
    "batch": 16,
    "rate": 3e-05,
    "max_tokens": 1024,
    "seed": 7,
    "limit": None,
    "held_out": 0.2,
}


def test_the_card_of_a_fitted_rater_becomes_sentences_and_tables(tmp_path: Path) -> None:
    metrics = (*METRICS, "f1_mean_of_prompts", "average_precision")
    figures = [
        QualityMetric(metric, BY_PROMPT, Estimate(value, value - 0.07, value + 0.07, 134, 12), control)
        for control, value in ((None, 0.44), ("always-yes", 0.48))
        for metric in metrics
    ]
    gain = Estimate(-0.011, -0.086, 0.064, 134, 12)
    figures.append(QualityMetric("f1_gain_over_attribute_alone", BY_PROMPT, gain))
    facts = {"pairs": 134, "relevant": 42, "prompts": 12, "people": 12}
    matcher = SimpleNamespace(card=facts, threshold=0.27, fingerprint="c55c")
    assert not is_fitted(tmp_path)
    (tmp_path / "card.md").write_text(card(matcher, figures, "starter"))  # type: ignore[arg-type]
    (tmp_path / "quality.json").write_text("[]")
    assert is_fitted(tmp_path)
    part = fitted_part(tmp_path)
    (grid,) = [one for one in part.lead if isinstance(one, Grid)]
    assert part.sentences[0].startswith("A fitted matcher. Fitted on 134 pairs of a prompt")
    assert grid.title == "Prompts left out"
    assert [row.names[0] for row in grid.rows] == ["matcher", "always yes"]
    assert grid.rows[0].cells[0] == Cell("0.440", "0.370 to 0.510", 0.44)
    (tmp_path / "card.md").write_text("no title")
    with pytest.raises(UserError, match=r"card\.md is no card of a rater"):
        fitted_part(tmp_path)


def test_curves_are_read_from_their_table(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "curves.csv").write_text(
        "step,eval_accuracy,eval_accuracy_hard,eval_loss,loss\n1,,,,0.7\n2,0.75,0.5,0.6,0.5\n"
    )
    one = read_training(tmp_path / "a")
    assert one.points("loss") == [(1.0, 0.7), (2.0, 0.5)]
    part = training_part(tmp_path / "a")
    assert part.sentences == [
        "The loss went from 0.700 (step 1) to 0.500 (step 2).",
        "At the last reading on people held out: all pairs 75.0 %, hard 50.0 %.",
    ]
    (picture,) = [piece for piece in part.lead if isinstance(piece, Picture)]
    assert [len(axis.lines) for axis in picture.figure.axes] == [2, 3]
    (readings,) = part.sections[0].pieces
    assert isinstance(readings, Grid)
    assert list(readings.columns) == ["loss of the batch", "loss held out", "all pairs, %", "hard, %"]
    assert [(row.names, [cell.text for cell in row.cells]) for row in readings.rows] == [
        (["2"], ["0.500", "0.600", "75.0", "50.0"])
    ]
    (tmp_path / "c").mkdir()
    assert not is_training(tmp_path / "c")
    (tmp_path / "c" / "curves.csv").write_text("step,loss\n1,much\n")
    with pytest.raises(UserError, match=r"curves\.csv is no log of a training run"):
        read_training(tmp_path / "c")


@pytest.mark.parametrize(
    "settings", [SETTINGS, RewardSettings("b", Path("d"), Path("o"), mix=Mix(Path("g"), None)).as_dict()]
)
def test_the_command_of_a_training_asks_for_the_same_again(tmp_path: Path, settings: dict[str, Any]) -> None:
    (tmp_path / "curves.csv").write_text("step,loss\n1,0.7\n")
    (tmp_path / "started.json").write_text(json.dumps(settings | {"pairs": "0123", "processes": 1}))
    command = training_command(read_training(tmp_path))
    assert command is not None
    app = typer.Typer()
    app.command()(reward)
    words = shlex.split(command)
    assert words[:3] == ["personafit", "train", "reward"]
    asked = typer.main.get_command(app).make_context("reward", words[3:]).params
    wanted = dict(settings)
    mix = wanted.pop("mix")
    assert asked["mix"] == (mix[0] if mix[1] is None else f"{mix[0]}={mix[1]}")
    named = {name: OPTIONS.get(name, name).lstrip("-").replace("-", "_") for name in wanted}
    assert {name: str(asked[named[name]]) for name in wanted} == {
        name: str(value) for name, value in wanted.items()
    }
    assert asked["out"] == tmp_path
