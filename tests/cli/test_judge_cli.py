"""`analyze bias`, `correct` and `calibration` as commands: simulated judges in a real run, tables, and the one JSON object."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from personafit import Store, UserError
from personafit.api import reading
from personafit.benchmarks import ImportedPairs, RunConfig, write_folder
from personafit.cli import common
from personafit.cli.app import app
from personafit.store import RunRecord
from tests.scripted import run, write_lines, write_pairs

MODULE = """
import hashlib

def noise(*texts):
    return int(hashlib.sha256("|".join(texts).encode()).hexdigest()[:8], 16) / 2**32

class First:
    order_matters = True
    def __call__(self, person, question, answers):
        return [0.35 + noise("a", answers[0]), noise("b", answers[1])]

class Long:
    order_matters = True
    def __call__(self, person, question, answers):
        return [len(answer) / 40 + noise(answer, str(place)) for place, answer in enumerate(answers)]

class Letters:
    order_matters = True
    def __call__(self, person, question, answers):
        return int(noise(*answers) < 0.5)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of three simulated judges and the two rules over the pairs of ten people."""
    place = tmp_path_factory.mktemp("judged")
    (place / "simulated_judges.py").write_text(MODULE)
    rows = [
        {
            "person": f"person{who}",
            "person.Name": f"Ann{who}",
            "person.Job": f"gardener number {who}",
            "question": f"Question {who} {number}?",
            "chosen": f"Ann{who}, take the spade {'again and ' * ((who * 7 + number * 3) % 5)}{number}",
            "rejected": f"Take something, it matters little {'or nothing ' * ((who + number * 5) % 6)}{number}",
            "tier": ("hard", "medium", "odd", "easy")[number % 4],
        }
        for who in range(10)
        for number in range(8)
    ]
    write_folder(place / "made", ImportedPairs(write_pairs(place / "made.csv", rows)))
    raters = [f"python:simulated_judges:{name}" for name in ("First", "Long", "Letters")]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.syspath_prepend(str(place))
        with Store(place / "store.db") as store:
            run(store, RunConfig(benchmark="made", raters=raters))
        yield place


def call(folder: Path, *arguments: str) -> Result:
    result = CliRunner().invoke(app, [*arguments, "--store", str(folder / "store.db")])
    assert result.exit_code == 0, result.output
    return result


def records(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    body = json.loads(call(folder, *arguments, "--json").stdout)
    assert set(body) == {"benchmark", "results"}
    assert body["benchmark"] == "made"
    found: list[dict[str, Any]] = body["results"]
    assert all(record["value"] is not None or record["note"] for record in found)
    return found


def refused(folder: Path, *arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--store", str(folder / "store.db")])
    assert isinstance(result.exception, UserError), result.output
    return str(result.exception)


def test_bias_finds_what_was_planted(folder: Path) -> None:
    found = {(r["rater"].split(":")[-1], r["metric"]): r for r in records(folder, "analyze", "bias", "last")}
    assert found["First", "bias_position"]["low"] > 1
    assert found["First", "first_share"]["low"] > 0.5
    assert found["Long", "bias_length"]["low"] > 1
    assert found["Long", "bias_position"]["low"] < 1 < found["Long", "bias_position"]["high"]
    assert "order cannot matter" in found["length", "bias_position"]["note"]
    assert "no model with a family name" in found["Long", "bias_family"]["note"]
    assert len(found) == 5 * 16


def test_bias_says_it_in_words(folder: Path) -> None:
    said = call(folder, "analyze", "bias", "last").stdout
    assert "python:simulated_judges:First: prefers the answer shown first." in said
    found = {(r["rater"], r["metric"]): r for r in records(folder, "analyze", "bias", "last")}
    always = found["rule:length", "bias_length"]
    assert (always["value"], always["low"], always["high"]) == (None, None, None)
    assert "no upper bound" in always["note"]
    assert "People's effect is that on the gold 'author'" in said


def test_correct_prints_all_three_estimates(folder: Path, tmp_path: Path) -> None:
    labels = [
        {"item": f"made/{2 + who * 8 + number}", "label": str((who + number) % 2)}
        for who in range(10)
        for number in sorted((who + 3 * k) % 8 for k in range(3))
    ]
    path = write_lines(tmp_path / "human.jsonl", [*labels, {"item": "elsewhere/7", "label": "0"}])
    found = [r for r in records(folder, "analyze", "correct", "last", "--human", str(path)) if not r["slice"]]
    one = {r["metric"]: r for r in found if r["rater"].endswith("Long")}
    assert set(one) == {"accuracy_corrected", "accuracy_human", "accuracy_machine", "effective_human_labels"}
    assert one["accuracy_human"]["n"] == 30
    assert one["accuracy_machine"]["n"] == 80
    assert one["accuracy_corrected"]["low"] < one["accuracy_corrected"]["value"]
    said = call(folder, "analyze", "correct", "last", "--human", str(path))
    assert "Long: 30 human labels" in said.stdout
    assert "1 line does not answer this run's question about one of its items" in said.stderr


def test_calibration_prints_tables_and_reasons(folder: Path) -> None:
    found = records(folder, "analyze", "calibration", "last")
    kept = [r for r in found if r["metric"] == "selective_accuracy" and r["rater"].endswith("Long")]
    assert [r["slice"]["kept"] for r in kept] == ["100%", "80%", "50%"]
    said = call(folder, "analyze", "calibration", "last").stdout
    assert "Confidence against gold" in said
    assert "Letters: confidence is undefined: only letters were read" in said
    assert "the gold has no votes and no share" in said


@pytest.mark.parametrize("command", ["bias", "calibration"])
def test_tables_keep_every_column_in_a_terminal_of_100(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(common, "console", lambda: Console(width=100, color_system=None))
    printed = call(folder, "analyze", command, "last").stdout
    table = [line for line in printed.splitlines() if line.startswith(("┏", "┃", "│"))]
    assert all(len(line) <= 100 and line.rstrip()[-1] in "┓┃│" for line in table), "the last column is whole"
    assert "…" not in printed
    names = [line.split("│")[1].strip() for line in table if line.startswith("│")]
    assert "python:simulated_judges:Long" in "".join(names)


@pytest.mark.parametrize("command", ["bias", "calibration"])
def test_a_rater_fitted_on_these_people_is_named_and_marked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    name = "python:simulated_judges:Long"
    note = f"{name} was fitted on 10 of the people here: its score on them is no evidence."

    def noted(record: RunRecord) -> RunRecord:
        return record._replace(config=record.config | {"notes": [note]})

    monkeypatch.setattr(reading, "require_judged", noted)
    said = call(folder, "analyze", command, "last").stdout
    assert note in said
    assert f"{name}: prefers" not in said
    assert {r["rater"] for r in records(folder, "analyze", command, "last") if r["met_people"]} == {name}


def test_bad_usage_is_a_sentence(folder: Path, tmp_path: Path) -> None:
    assert "There is no run 'nothing'" in refused(folder, "analyze", "bias", "nothing")
    assert "is not a file" in refused(
        folder, "analyze", "correct", "last", "--human", str(tmp_path / "no.jsonl")
    )
    bare = refused(folder, "analyze", "correct", "last")
    assert 'with lines such as {"item": "ITEM", "label": "LABEL"}' in bare
    other = write_lines(tmp_path / "other.jsonl", [{"item": "other/1", "label": "0"}])
    assert "has no label for an item of" in refused(
        folder, "analyze", "correct", "last", "--human", str(other)
    )
