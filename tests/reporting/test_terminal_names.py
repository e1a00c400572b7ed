"""Titles, tiers and names come from outside: in the terminal they are shown as they are, never read as markup."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from personafit.benchmarks import FolderBenchmark, ImportedPairs, write_folder
from personafit.benchmarks.config import RunConfig
from personafit.reporting import load_scores, load_totals, print_run, run_results
from personafit.reporting.agree import agreements
from personafit.reporting.agree_page import print_agreement
from personafit.reporting.agree_ratings import run_source
from personafit.reporting.analysis_tables import print_failures
from personafit.reporting.audit import audit_benchmark
from personafit.reporting.audit.page import rules_table, verdict_table
from personafit.reporting.compare_ranking import Ranked
from personafit.reporting.failures import answer_failures, failure_results, find_rater
from personafit.statistics import Estimate
from personafit.store import RunRecord, Store
from tests.scripted import run, simple_pairs, write_pairs

TIER, TITLE = "[/x]hard", "[/b][red]mine"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(
        tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "m.csv", simple_pairs(6, tier=TIER)))
    )
    info = tmp_path / "mine" / "benchmark.toml"
    lines = info.read_text().splitlines()
    info.write_text("\n".join(f'title = "{TITLE}"' if line.startswith("title") else line for line in lines))
    return tmp_path / "mine"


@pytest.fixture
def finished(store: Store, folder: Path) -> RunRecord:
    raters = ["rule:length", "rule:name"]
    return run(store, RunConfig(str(folder), raters=raters, views=["profile"])).run


@pytest.fixture
def console() -> Console:
    return Console(file=StringIO(), width=200)


def shown(console: Console) -> str:
    """What was printed, without the breaks that a narrow column makes."""
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_scores_of_a_run(store: Store, finished: RunRecord, console: Console) -> None:
    totals = load_totals(store, finished)
    print_run(console, totals, run_results(totals))
    assert TIER in shown(console)
    assert TITLE in shown(console)


def test_agreement(store: Store, finished: RunRecord, console: Console) -> None:
    source = run_source(store, finished)
    source.name = TITLE
    print_agreement(console, source, agreements(source), ())
    assert TITLE in shown(console)


def test_failure_modes(store: Store, finished: RunRecord, console: Console) -> None:
    scores = load_scores(store, finished)
    who = find_rater(scores, None)
    print_failures(console, scores, failure_results(scores, answer_failures(store, scores, who), who))
    assert TIER in shown(console)


def test_an_audit(folder: Path, console: Console) -> None:
    audit = audit_benchmark(FolderBenchmark(folder))
    console.print(verdict_table(audit))
    console.print(rules_table(audit))
    assert TIER in shown(console)


def test_a_ranking(console: Console) -> None:
    wide = Estimate(0.0, None, None, 1, 1)
    console.print(
        Ranked(
            TITLE, ("[/a long name that leaves room for the title of the table",), (wide,), (), None
        ).table()
    )
    assert TITLE in shown(console).replace("\n", "")
