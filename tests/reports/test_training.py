"""A reward model in training as a part of a report: its curves and the result."""

from pathlib import Path

import orjson
import pytest

from personafit import UserError
from personafit.reports.pieces import Grid, Picture
from personafit.reports.training import (
    is_training,
    read_training,
    training_part,
)


def test_curves_are_read_from_their_table(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "curves.csv").write_text(
        "step,eval_accuracy,eval_accuracy_easy,eval_accuracy_hard,eval_accuracy_medium,eval_loss,loss\n"
        "1,,,,,,0.7\n2,0.75,1,0.5,0.625,0.6,0.5\n"
    )
    one = read_training(tmp_path / "a")
    assert one.points("loss") == [(1.0, 0.7), (2.0, 0.5)]
    part = training_part(tmp_path / "a")
    assert part.sentences == [
        "Accuracy on people held out, at the last reading: all pairs 75.0 %, easy 100.0 %, medium 62.5 %, hard 50.0 %.",
        "The loss went from 0.700 (step 1) to 0.500 (step 2).",
    ]
    (picture,) = [piece for piece in part.lead if isinstance(piece, Picture)]
    assert [len(axis.lines) for axis in picture.figure.axes] == [2, 5]
    (tmp_path / "c").mkdir()
    assert not is_training(tmp_path / "c")
    (tmp_path / "c" / "curves.csv").write_text("step,loss\n1,much\n")
    with pytest.raises(UserError, match=r"curves\.csv is no log of a training run"):
        read_training(tmp_path / "c")


def test_a_result_on_few_people_has_no_interval(tmp_path: Path) -> None:
    (tmp_path / "curves.csv").write_text("step,loss\n1,0.7\n")
    figure = {"value": 0.75, "low": 0.0, "high": 1.0, "n": 4, "note": None}
    accuracy = {"all": figure | {"people": 2}, "easy": figure | {"people": 6}}
    (tmp_path / "personafit.json").write_bytes(
        orjson.dumps(
            {"metrics": {"personal": {"accuracy": accuracy, "overlap": figure | {"value": 0.5, "people": 2}}}}
        )
    )
    part = training_part(tmp_path)
    name = tmp_path.name
    assert part.sentences[0] == (
        f"{name} prefers the right answer in 75.0 % of 4 personal pairs, of 2 people it was not trained on; most overlap alone reaches 50.0 %."
    )
    (table,) = [piece for piece in part.lead if isinstance(piece, Grid)]
    assert [(cell.text, cell.interval) for cell in table.rows[0].cells] == [
        ("75.0", "2 people"),
        ("75.0", "0.0–100.0"),
    ]
