"""`analyze aspects` and `analyze failures` as commands."""

import io
import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from typer.testing import CliRunner

from personafit import Store, UserError
from personafit.benchmarks import ImportedPairs, RunConfig, write_folder
from personafit.cli.app import app
from personafit.items.choice import ASPECTS
from personafit.kinds.choice import columns_of, load_scores
from personafit.reports.aspects import aspect_pieces
from personafit.reports.failures import MODES, WHO, failures_grid
from personafit.reports.result import Result
from personafit.reports.terminal import print_pieces
from personafit.statistics import Estimate
from tests.scripted import run, simple_pairs, write_pairs

MODULE = """
NAMES = ("helpfulness", "correctness", "coherence", "complexity", "verbosity")

def heads(person, question, answers):
    return [{name: len(answer) % (place + 3) for place, name in enumerate(NAMES)} for answer in answers]

def shorter(person, question, answers):
    return [-len(answer) for answer in answers]
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that holds one run of an aspects rater and of one that is always wrong."""
    folder = tmp_path_factory.mktemp("analyse")
    (folder / "analysed.py").write_text(MODULE, encoding="utf-8")
    rows = simple_pairs(people=5, questions=2, tier="hard")
    write_folder(folder / "mine", ImportedPairs(write_pairs(folder / "pairs.csv", rows)))
    with pytest.MonkeyPatch.context() as patch, Store(folder / ".personafit" / "store.db") as store:
        patch.syspath_prepend(str(folder))
        raters = ["python:analysed:shorter", "aspects:python:analysed:heads"]
        run(store, RunConfig(str(folder / "mine"), raters=raters))
    return folder


def invoke(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> str:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    "command", ["bias", "calibration", "correct", "aspects", "failures", "power", "retrieval"]
)
def test_every_help_has_an_example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str) -> None:
    printed = invoke(monkeypatch, tmp_path, "analyze", command, "--help")
    assert "Example" in printed
    assert f"personafit analyze {command} " in printed


def test_aspects_prints_tables_and_report_writes_the_heat_map(
    monkeypatch: pytest.MonkeyPatch, world: Path
) -> None:
    printed = invoke(monkeypatch, world, "analyze", "aspects", "last")
    assert "Accuracy of choosing by one aspect" in printed
    assert "correlation of the aspect" in printed
    invoke(monkeypatch, world, "report", "last", "--format", "figures", "--out", "maps")
    assert any("aspects" in path.name for path in (world / "maps").glob("*.svg"))
    body = json.loads(invoke(monkeypatch, world, "analyze", "aspects", "last", "--json"))
    assert list(body) == ["benchmark", "results", "correlations", "published"]
    assert body["published"] is None
    assert {row["slice"]["aspect"] for row in body["results"]} >= {"helpfulness", "verbosity"}
    assert len(body["correlations"][0]["pairs"]) == 15


def test_failures_counts_a_raters_choices_by_rules(monkeypatch: pytest.MonkeyPatch, world: Path) -> None:
    printed = invoke(monkeypatch, world, "analyze", "failures", "last")
    assert "The rules find no failure mode in the answers that python:analysed:shorter chose." in printed
    ruled = json.loads(
        invoke(monkeypatch, world, "analyze", "failures", "last", "--rater", "rule:length", "--json")
    )
    assert ruled["note"] == "rules only"
    with pytest.raises(UserError, match="has no rater 'nobody'"):
        invoke(monkeypatch, world, "analyze", "failures", "last", "--rater", "nobody")


@pytest.mark.parametrize("width", [100, 150])
def test_names_and_intervals_are_whole_in_a_terminal_of_any_width(world: Path, width: int) -> None:
    """Two halves of three tiers: the widest table there is."""
    with Store(world / ".personafit" / "store.db") as store:
        scores = load_scores(store, store.run("last"))
    info = scores.info | {"name": "personafeedback", "layout": [["half", "tier"], ["half"]]}
    halves = scores.items.with_columns(half=pl.Series(["specific", "general"] * 5))
    scores = replace(scores, info=info, items=halves)
    everywhere = [where for _, where in columns_of(scores)]
    found = Estimate(0.952, 0.911, 1.0, 10, 10)
    marks = [
        Result.of(found, metric="accuracy", rater="aspects:openai:a-model", slice={"aspect": name, **where})
        for name in ASPECTS
        for where in everywhere
    ]
    fails = [
        Result.of(found, metric="failure_share", slice={"mode": mode, "answers": who, **where})
        for mode in MODES
        for who in WHO
        for where in everywhere
    ]
    for pieces in (aspect_pieces(scores, marks, []), [failures_grid(scores, fails)]):
        console = Console(width=width, color_system=None, record=True, file=io.StringIO())
        print_pieces(pieces, console)
        text = console.export_text()
        lines = [line.rstrip() for line in text.splitlines() if line.startswith(("┏", "┃", "│"))]
        assert all(len(line) <= width and line[-1] in "┓┃│" for line in lines)
        assert "…" not in text
        assert "91.1–100.0" in text
        assert all(heading in text for heading in ("specific", "general", "medium"))
    assert all(name in text for name in ("generic", "refusal"))
