"""Accuracy by aspect and the heat map, on a run of a function with five heads, against plain computation."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from personafit import Store, UserError
from personafit.benchmarks import ImportedPairs, RunConfig, write_folder
from personafit.items.choice import ASPECTS
from personafit.kinds.choice import RunScores, load_scores
from personafit.reports.aspects import (
    VARIABLES,
    _pearson,
    analyze_aspects,
    aspect_correlations,
    aspect_results,
    published_aspects,
)
from personafit.reports.pieces import Grid, Picture
from personafit.reports.run_report import open_report
from tests.scripted import run, simple_pairs, write_lines, write_pairs

MODULE = """
def heads(person, question, answers):
    return [
        {
            "helpfulness": len(answer),
            "correctness": -len(answer),
            "coherence": 2.0,
            "complexity": answer.count("0"),
            "verbosity": len(answer) + answer.count("1"),
        }
        for answer in answers
    ]

def partly(person, question, answers):
    if "Question 0" in question:
        raise RuntimeError("no")
    return heads(person, question, answers)
"""
PEOPLE, QUESTIONS = 8, 3


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"aspects_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def judged(store: Store, folder: Path, *raters: str, identical: bool = False) -> RunScores:
    rows = simple_pairs(PEOPLE, QUESTIONS)
    for number, row in enumerate(rows):
        row["tier"] = "easy" if number % 2 else "hard"
        if number % 3 == 0:  # the shorter answer is the chosen one here
            row["chosen"], row["rejected"] = row["rejected"], row["chosen"]
    write_folder(folder / "mine", ImportedPairs(write_pairs(folder / "mine.csv", rows)))
    if identical:  # a file of pairs is refused with such a row, a folder is not
        path = folder / "mine" / "products.jsonl"
        products = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for product in products:
            if product["text"] == rows[0]["rejected"]:
                product["text"] = rows[0]["chosen"]
        write_lines(path, products)
    config = RunConfig(str(folder / "mine"), raters=list(raters), contexts=["profile"])
    return load_scores(store, run(store, config).run)


def accuracy(scores: RunScores, aspect: str, tier: str | None = None) -> list[Any]:
    where = {"aspect": aspect} | ({"tier": tier} if tier else {})
    (found,) = (r for r in aspect_results(scores) if r.slice == where)
    return [found.value, found.coverage, found.n]


def test_accuracy_by_aspect_is_the_ordinary_one_with_a_target(
    store: Store, tmp_path: Path, module: str
) -> None:
    scores = judged(store, tmp_path, f"aspects:python:{module}:heads")
    assert accuracy(scores, "helpfulness") == [pytest.approx(2 / 3), 1.0, 24]
    assert accuracy(scores, "correctness") == [pytest.approx(1 / 3), 1.0, 24]
    assert accuracy(scores, "coherence") == [0.5, 1.0, 24]
    assert accuracy(scores, "helpfulness", "easy")[2] == 12
    results = aspect_results(scores)
    assert len(results) == len(ASPECTS) * 3
    helpful = next(r for r in results if r.slice == {"aspect": "helpfulness"})
    assert helpful.low is not None
    assert helpful.high is not None
    assert helpful.low < 2 / 3 < helpful.high
    (main,) = (
        r
        for r in open_report(store, scores.run).results
        if r.rater == helpful.rater and r.metric == "accuracy" and not r.slice
    )
    assert (main.value, main.low, main.high) == (helpful.value, helpful.low, helpful.high)


def test_identical_answers_tie_on_every_aspect_and_have_no_marks(
    store: Store, tmp_path: Path, module: str
) -> None:
    scores = judged(store, tmp_path, f"aspects:python:{module}:heads", identical=True)
    for aspect in ASPECTS:
        assert accuracy(scores, aspect)[1:] == [1.0, 24]
    (found,) = aspect_correlations(store, scores)
    assert found.answers == 2 * 23


def test_what_was_not_answered_lowers_the_coverage_of_every_aspect(
    store: Store, tmp_path: Path, module: str
) -> None:
    scores = judged(store, tmp_path, f"aspects:python:{module}:partly")
    assert accuracy(scores, "verbosity")[1:] == [pytest.approx(16 / 24), 16]


def test_correlations_are_pearsons_over_answers_with_an_interval_over_people(
    store: Store, tmp_path: Path, module: str
) -> None:
    scores = judged(store, tmp_path, f"aspects:python:{module}:heads")
    (found,) = aspect_correlations(store, scores)
    assert (found.answers, found.people) == (48, PEOPLE)
    lengths, chosen = [], []
    gold = dict(scores.items.select("item", "gold").iter_rows())
    for item in store.items(scores.run.dataset):
        texts = store.texts(item.products)
        for index, product in enumerate(item.products):
            lengths.append(len(texts[product]))
            chosen.append(float(gold[item.id] == str(index)))
    by_name = found.pairs
    helpful = by_name["chosen", "helpfulness"]
    assert helpful.value is not None
    assert helpful.value == pytest.approx(stats.pearsonr(lengths, chosen).statistic)
    assert helpful.low is not None, "everybody's is the same, but prompts differ"
    varied = by_name["chosen", "verbosity"]  # a 1 in the number of the person makes an answer longer
    assert varied.value is not None
    assert varied.low is not None
    assert varied.high is not None
    assert varied.low < varied.value < varied.high
    assert by_name["helpfulness", "correctness"].value == pytest.approx(-1)
    assert by_name["chosen", "coherence"].value is None
    assert by_name["chosen", "coherence"].note == "coherence never varies"
    assert len(found.pairs) == len(VARIABLES) * (len(VARIABLES) - 1) / 2
    assert aspect_correlations(store, scores) == [found], "nothing is random"


def test_correlations_over_few_people_have_no_interval() -> None:
    """What three people say is shown without an interval."""
    rng = np.random.default_rng(1)
    for count, given in ((3, False), (8, True)):
        values = rng.normal(size=(10 * count, len(VARIABLES)))
        rows = pl.DataFrame(values, schema=list(VARIABLES)).with_columns(
            person=np.repeat(np.arange(count), 10), prompt=np.arange(10 * count)
        )
        pairs = _pearson(rows)
        assert all((pair.low is not None) == given for pair in pairs.values())
        assert all(given or "at least 6 people" in str(pair.note) for pair in pairs.values())


def test_the_heat_map_has_its_numbers_in_the_cells(store: Store, tmp_path: Path, module: str) -> None:
    spec = f"aspects:python:{module}"
    scores = judged(store, tmp_path, f"{spec}:heads", f"{spec}:partly")
    found = analyze_aspects(store, scores.run)
    drawn = [piece for piece in found.part().lead if isinstance(piece, Picture)]
    assert len(drawn) == 2
    (axis,) = drawn[0].figure.axes
    texts = [text.get_text() for text in axis.texts]
    assert len(texts) == len(VARIABLES) ** 2
    assert {"−1.00", ""} <= set(texts)
    accuracy, *_ = (piece for piece in found.part().lead if isinstance(piece, Grid))
    total = {(one.rater, one.slice["aspect"]): one.value for one in found.figures if len(one.slice) == 1}
    place = list(accuracy.columns).index("total")
    assert {tuple(row.names): row.cells[place].sort for row in accuracy.rows} == total
    assert len(total) == 10


def test_a_run_without_marks_says_what_to_do(store: Store, tmp_path: Path) -> None:
    scores = judged(store, tmp_path, "rule:length")
    with pytest.raises(UserError, match="run it with --rater aspects:SPEC"):
        aspect_results(scores)


def test_the_published_table_is_quoted_for_its_benchmark_only(store: Store, tmp_path: Path) -> None:
    scores = judged(store, tmp_path, "rule:length")
    assert published_aspects(scores) == ("", [])
    source, rows = published_aspects(replace(scores, info=scores.info | {"name": "personafeedback"}))
    assert "Table 4" in source
    easy = next(row for row in rows if (row["half"], row["tier"]) == ("general", "easy"))
    assert easy["accuracy"]["verbosity"] == 0.82
