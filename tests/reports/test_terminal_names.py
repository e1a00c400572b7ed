"""Titles, tiers and names come from outside: in the terminal they are shown as they are, never read as markup."""

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import personafit as pf
from personafit import Store
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.reports.agree import agreement_part, agreements
from personafit.reports.agree_ratings import run_source
from personafit.reports.audit import audit_benchmark, audit_object, audit_part
from personafit.reports.compare import Ranked
from personafit.reports.failures import analyze_failures
from personafit.reports.pieces import Cell, Grid, Row
from personafit.reports.terminal import print_pieces
from personafit.statistics import Estimate
from personafit.store import RunRecord
from tests.scripted import run, simple_pairs, write_pairs

TIER, TITLE = "[/x]hard", "[/b][red]mine"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pairs = simple_pairs(6, tier=TIER)
    pairs[0]["rejected"] = (
        "I'm sorry, but I can't help with that."  # a failure mode, or there is no table of them
    )
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "m.csv", pairs)))
    info = tmp_path / "mine" / "benchmark.toml"
    lines = info.read_text().splitlines()
    info.write_text("\n".join(f'title = "{TITLE}"' if line.startswith("title") else line for line in lines))
    return tmp_path / "mine"


@pytest.fixture
def finished(store: Store, folder: Path) -> RunRecord:
    raters = ["rule:length", "rule:name"]
    return run(store, RunConfig(str(folder), raters=raters, contexts=["profile"])).run


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=200)


def shown(console: Console) -> str:
    """What was printed, without the breaks that a narrow column makes."""
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_scores_of_a_run(store: Store, finished: RunRecord, console: Console) -> None:
    pf.load(finished.name, store=store).print(console)
    assert TITLE in shown(console)


def test_agreement(store: Store, finished: RunRecord, console: Console) -> None:
    source = run_source(store, finished)
    source.raters = {
        key: replace(rater, name=f"{TITLE} {rater.name}") for key, rater in source.raters.items()
    }
    print_pieces(agreement_part(source, agreements(source), pictures=False).pieces(), console)
    assert TITLE in shown(console)


def test_failure_modes(store: Store, finished: RunRecord, console: Console) -> None:
    analyze_failures(store, finished).print(console)
    assert TIER in shown(console)


def test_an_audit(folder: Path, console: Console) -> None:
    audit = audit_benchmark(FolderBenchmark(folder))
    print_pieces(audit_part(audit_object(audit), False).pieces(), console)
    assert TIER in shown(console)


def test_a_ranking(console: Console) -> None:
    wide = Estimate(0.0, None, None, 1, 1)
    print_pieces([Ranked(TITLE, ("[/a name]",), (wide,), {}, frozenset(), None).grid()], console)
    assert TITLE in shown(console).replace("\n", "")


def test_of_a_table_split_by_columns_rows_without_numbers_are_left_out() -> None:
    columns = [f"column {place}" for place in range(12)]
    rows = [
        Row([name], [Cell("1.0", sort=1.0) if place in places else Cell() for place in range(12)])
        for name, places in (("wide", range(12)), ("narrow", range(2)))
    ]
    narrow = Console(file=StringIO(), width=80)
    print_pieces([Grid("Many", "", ["what"], columns, rows)], narrow)
    said = shown(narrow)
    assert (said.count("│ wide"), said.count("│ narrow")) == (2, 1)
