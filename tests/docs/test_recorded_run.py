"""The recorded run of docs/measurements/small-models.md: its commands give its figures, with the profile above none and the wrong person."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.scripted import invoke

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "measurements" / "small-models.md").read_text(encoding="utf-8")
COMMANDS = re.findall(
    r"^personafit (run starter --rater replay:docs/.*)$", re.sub(r"\\\n\s*", "", PAGE), re.MULTILINE
)


@pytest.fixture(scope="module")
def tables() -> list[list[list[str]]]:
    """The figures on the page: after each command, its rows of cells."""
    section = PAGE.split("## A small model that can tell")[1]
    found = re.findall(r"((?:^\|.*\|\n)+)", section, re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()[2:]]
        for table in found
    ]


@pytest.mark.parametrize("place", range(2))
def test_the_recording_gives_the_figures_of_the_page(
    place: int,
    tables: list[list[list[str]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = shlex.split(COMMANDS[place].replace("docs/", f"{ROOT}/docs/"))
    invoke(monkeypatch, tmp_path, *arguments, "--json")
    results: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["results"]
    mine = [row for row in results if (row["rater"] or "").startswith("replay:") and not row["slice"]]

    def one(metric: str, context: str) -> dict[str, Any]:
        (found,) = (row for row in mine if row["metric"] == metric and row["context"] == context)
        return found

    def cell(row: dict[str, Any]) -> str:
        low, high = (f"{100 * row[end]:.1f}".replace("-", "−") for end in ("low", "high"))
        return f"{100 * row['value']:.1f} ({low} to {high})"

    accuracy = {context: one("accuracy", context) for context in ("profile", "none", "wrong:profile")}
    lift = one("lift", "profile")
    assert all(row["coverage"] == 1.0 for row in accuracy.values())
    assert accuracy["profile"]["value"] > accuracy["none"]["value"] == 0.5
    assert accuracy["profile"]["value"] > accuracy["wrong:profile"]["value"]
    shown = [cell(accuracy["profile"]), "50.0", cell(accuracy["wrong:profile"]), cell(lift)]
    written = tables[0][place]
    assert written[1:3] == [f"{accuracy['profile']['n']:.0f}", f"{accuracy['profile']['people']:.0f}"]
    assert written[3:] == shown


def test_a_slice_that_is_not_there_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, tmp_path, "run", "starter", "--rater", "rule:length", "--where", "mood=sad", code=2)
    assert "--where mood=sad: items have no 'mood'; write NAME=VALUE with one of" in capsys.readouterr().err
    invoke(monkeypatch, tmp_path, "run", "starter", "--rater", "rule:length", "--where", "half=third", code=2)
    said = capsys.readouterr().err
    assert "--where half=third: no item that is left has half=third; there are general, specific." in said
