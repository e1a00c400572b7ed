"""Agreement of people, judges and gold: known tables, kinds, ensembles, and one rater from many asks."""

import json
import shutil
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import personafit as pf
from personafit import Store
from personafit.benchmarks import FolderBenchmark, ImportedPairs, RunConfig, write_folder
from personafit.kinds.choice import load_scores
from personafit.reports.agree import Agreement, agreement_object, agreements, conclusions
from personafit.reports.agree_ratings import Source, folder_source, rating_tables, run_source
from tests.scripted import run, simple_pairs, write_lines, write_pairs, write_recording

PEOPLE, EACH = 10, 4
UNITS = PEOPLE * EACH


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "mine")


def make_folder(folder: Path, people: int = PEOPLE, each: int = EACH) -> Path:
    pairs = write_pairs(folder.with_suffix(".csv"), simple_pairs(people, each))
    write_folder(folder, ImportedPairs(pairs))
    return folder


def gold_of(folder: Path) -> list[tuple[str, str]]:
    return [(row.item, row.label or "") for row in FolderBenchmark(folder, kind=None).gold()]


def vote(folder: Path, **right: Callable[[int], bool | None]) -> None:
    """Write votes.jsonl: each rater is right about an item, wrong, or (None) did not vote."""
    rows = [
        {"item": item, "rater": rater, "label": label if rule(number) else str(1 - int(label))}
        for rater, rule in right.items()
        for number, (item, label) in enumerate(gold_of(folder))
        if rule(number) is not None
    ]
    write_lines(folder / "votes.jsonl", rows)


def only(source: Source) -> Agreement:
    (found,) = agreements(source)
    return found


def value(found: Agreement, part: str, figure: str, first: str, second: str | None = None) -> float | None:
    estimate = found.find(part, figure, first, second)
    assert estimate is not None, f"no {figure} of {first} and {second}"
    return estimate.value


def no_nan(thing: Any) -> None:
    if isinstance(thing, dict):
        thing = list(thing.values())
    if isinstance(thing, Sequence) and not isinstance(thing, str):
        for part in thing:
            no_nan(part)
    elif isinstance(thing, float):
        assert np.isfinite(thing)


def test_people_and_gold_agree_as_an_independent_implementation_says(folder: Path) -> None:
    rng = np.random.default_rng(1)
    noise = {name: rng.random(UNITS) < share for name, share in (("ann", 0.9), ("ben", 0.8), ("cy", 0.7))}
    vote(folder, **{name: flags.tolist().__getitem__ for name, flags in noise.items()})
    source = folder_source(folder, None)
    found = only(source)
    truth = np.array([int(label) for _, label in gold_of(folder)])
    labels = {name: np.where(flags, truth, 1 - truth) for name, flags in noise.items()}
    for one, two in (("ann", "ben"), ("ann", "cy"), ("ben", "cy")):
        expected = cohen_kappa_score(labels[one], labels[two])
        assert value(found, "pair", "kappa", one, two) == pytest.approx(expected)
        assert value(found, "pair", "percent", two, one) == pytest.approx(np.mean(labels[one] == labels[two]))
    assert value(found, "pair", "kappa", "ann", "author") == pytest.approx(
        cohen_kappa_score(labels["ann"], truth)
    )
    mean = np.mean(
        [value(found, "pair", "kappa", *pair) for pair in (("ann", "ben"), ("ann", "cy"), ("ben", "cy"))]
    )
    assert value(found, "block", "kappa", "human", "human") == pytest.approx(mean)
    assert value(found, "reliability", "kappa", "cy", "human") == pytest.approx(
        np.mean([value(found, "pair", "kappa", other, "cy") for other in ("ann", "ben")])
    )
    ceiling = found.find("panel", "majority", "human")
    assert ceiling is not None
    assert ceiling.low is not None
    assert ceiling.low < (ceiling.value or 0) < (ceiling.high or 0)
    assert any("People agree with each other at a mean kappa of" in line for line in conclusions(found))
    no_nan(agreement_object(source, [found]))


def test_kinds_come_from_raters_jsonl(folder: Path) -> None:
    machines: dict[str, Callable[[int], bool | None]] = {
        "judge0": lambda n: n % 4 != 0,
        "judge1": lambda n: n % 4 != 1,
        "judge2": lambda n: n % 4 != 2,
    }
    vote(folder, ann=lambda n: n % 8 != 0, ben=lambda n: n % 8 != 1, cy=lambda n: n % 8 != 2, **machines)
    write_lines(
        folder / "raters.jsonl",
        [{"fingerprint": name, "name": f"openai:{name}", "kind": "llm"} for name in machines],
    )
    found = only(folder_source(folder, None))
    kinds = {rater.name: rater.kind for rater in found.ratings.raters}
    assert kinds["ann"] == "human"
    assert kinds["openai:judge0"] == "llm"
    blocks = {(f.first, f.second) for f in found.findings if f.part == "block" and f.figure == "kappa"}
    assert {("human", "human"), ("human", "llm"), ("llm", "llm"), ("llm", "gold")} <= blocks
    assert found.find("ceiling", "majority", "openai:judge0") is not None
    words = " ".join(conclusions(found))
    assert "Raters of kind llm agree with people at" in words
    assert "the best of 3 machines, openai:judge" in words


def test_numbers_are_ordinal_and_repeated_votes_are_averaged(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "scale")
    lines = (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "items.jsonl").write_text(
        "".join(line[:-1] + ',"kind":"rating"}\n' for line in lines), encoding="utf-8"
    )
    items = [item for item, _ in gold_of(folder)]
    (folder / "gold.jsonl").write_text("")
    score = [1 + n % 5 for n in range(UNITS)]
    rows: list[dict[str, Any]] = []
    for n, item in enumerate(items):
        rows.append({"item": item, "rater": "ann", "label": str(score[n])})
        rows += [{"item": item, "rater": "ben", "value": score[n] + d, "question": "fit"} for d in (-1, 1)]
        rows.append({"item": item, "rater": "cy", "value": float(min(5, score[n] + n % 2))})
        rows.append({"item": item, "rater": "cy", "label": "yes" if n % 2 else "no", "question": "other"})
    write_lines(folder / "votes.jsonl", rows)
    tables = {table.question: table for table in rating_tables(folder_source(folder, None))}
    assert tables["fit"].ordinal
    assert not tables["other"].ordinal
    found = only(folder_source(folder, None))  # the other question has one rater only
    assert value(found, "pair", "quadratic", "ann", "ben") == 1.0
    expected = cohen_kappa_score(score, [min(5, s + n % 2) for n, s in enumerate(score)], weights="quadratic")
    assert value(found, "pair", "quadratic", "ann", "cy") == pytest.approx(expected)
    assert value(found, "pair", "spearman", "ann", "ben") == pytest.approx(1.0)
    assert value(found, "together", "ordinal", "all raters") is not None
    assert value(found, "together", "ordinal", "all raters") is not None


def test_one_rater_is_both_orders_of_the_headline_context_and_meets_the_folders_people(
    tmp_path: Path, folder: Path
) -> None:
    def biased(context: str, item: int, order: str) -> str | None:
        if context != "profile":
            return "wrong"
        return ("right" if order == "01" else "wrong") if item == 0 else "right"

    recording = write_recording(tmp_path / "one.jsonl", FolderBenchmark(folder), biased)
    vote(folder, ann=lambda n: True, ben=lambda n: n != 3)
    spec = f"replay:{recording}"
    with Store(tmp_path / "store.db") as store:
        first = run(store, RunConfig(str(folder), raters=[spec]))
        run(store, RunConfig(str(folder), raters=[spec], limit=5))
        of_run = only(run_source(store, first.run))
        scores = load_scores(store, first.run)
        frame = scores.scores[scores.raters[0]["fingerprint"], scores.headline_context]
        accuracy = frame["accuracy"].mean()
        of_folder = only(folder_source(folder, store))
    assert value(of_run, "pair", "percent", spec, "author") == (UNITS - 0.5) / UNITS, (
        "the orders disagree once: half a point"
    )
    assert accuracy == (UNITS - 0.5) / UNITS, "as in accuracy"
    assert of_run.ratings.flips == {spec: 1}
    assert {rater.name for rater in of_run.ratings.raters} == {spec, "rule:length", "rule:overlap", "author"}
    assert {rater.name for rater in of_folder.ratings.raters} == {
        *("ann", "ben", spec, "rule:length", "rule:overlap", "author")
    }
    assert value(of_folder, "pair", "percent", spec, "ann") == (UNITS - 0.5) / UNITS
    assert value(of_folder, "pair", "percent", "rule:length", "ben") == (UNITS - 1) / UNITS


def test_a_judge_asked_under_two_contexts_is_one_rater_under_the_benchmarks_own(
    tmp_path: Path, folder: Path
) -> None:
    recording = write_recording(
        tmp_path / "one.jsonl",
        FolderBenchmark(folder),
        lambda context, item, order: "right" if context == "profile" else "wrong",
    )
    vote(folder, ann=lambda n: True, ben=lambda n: n != 3)
    spec = f"replay:{recording}"
    with Store(tmp_path / "store.db") as store:
        for context in ("none", "profile"):
            pf.evaluate(str(folder), raters=[spec], contexts=[context], store=store)
        found = only(folder_source(folder, store))
    names = [rater.name for rater in found.ratings.raters if "replay:" in rater.name]
    assert names == [spec]
    assert value(found, "pair", "percent", spec, "ann") == 1.0


def test_votes_on_parts_of_an_item_meet_gold_on_the_same_parts(tmp_path: Path) -> None:
    shutil.copytree(Path(str(files("personafit.benchmarks.starter"))) / "data", tmp_path / "own")
    gold = [json.loads(line) for line in (tmp_path / "own/gold.jsonl").read_text("utf-8").splitlines()]
    marks = [row for row in gold if row.get("question") == "preference"]
    write_lines(
        tmp_path / "own/votes.jsonl",
        [{**row, "rater": who, "extra": None} for who in ("ann", "ben") for row in marks],
    )
    (found,) = (
        one
        for one in agreements(folder_source(tmp_path / "own", None))
        if one.ratings.question == "preference"
    )
    percent = found.find("pair", "percent", "ann", "author")
    assert percent is not None
    assert (percent.value, percent.n) == (1.0, len(marks))


def test_judgments_of_an_edited_person_do_not_count(tmp_path: Path, folder: Path) -> None:
    vote(folder, ann=lambda n: True)
    with Store(tmp_path / "store.db") as store:
        run(store, RunConfig(str(folder), raters=["rule:length"], contexts=["profile"]))
        people = (
            (folder / "people.jsonl").read_text(encoding="utf-8").replace('job number 1"', 'another job"')
        )
        (folder / "people.jsonl").write_text(people, encoding="utf-8")
        found = only(folder_source(folder, store))
    pair = found.find("pair", "percent", "ann", "rule:length")
    assert pair is not None
    assert pair.n == UNITS - EACH


def test_which_answer_was_tested_is_no_rater_of_a_run_of_answers(tmp_path: Path) -> None:
    rows = [
        {
            "person": {"id": f"p{n}", "likes": "tea"},
            "question": f"Q{n}?",
            "answer": "tea tea",
            "generic": "tea, or",
        }
        for n in range(8)
    ]
    log = write_lines(tmp_path / "log.jsonl", rows)
    with Store(tmp_path / "store.db") as store:
        source = run_source(store, run(store, RunConfig(str(log), raters=["rule:length"])).run)
    assert "rule:length" in {rater.name for rater in source.raters.values()}
    assert "tested" not in {rater.name for rater in source.raters.values()}


def test_simulated_raters_are_named_as_such_and_do_not_hide_who_is_nearest_to_gold(folder: Path) -> None:
    vote(folder, sam=lambda number: number % 4 > 0, kim=lambda number: number % 3 > 0)
    rows = [{"fingerprint": name, "name": name, "kind": "simulated"} for name in ("sam", "kim")]
    write_lines(folder / "raters.jsonl", rows)
    among, nearest = conclusions(only(folder_source(folder, None)))
    assert among.startswith("Simulated raters agree with each other at a mean kappa of ")
    assert nearest.startswith("Of 2 raters sam has the highest kappa with ")
