"""Wrong choices as a coding study: which are drawn, what a coder sees, and that nobody's codes are overwritten."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.benchmarks import FolderBenchmark, ImportedPairs, write_folder
from personafit.benchmarks.config import RunConfig
from personafit.reports import RunScores, load_scores
from personafit.reports.errors import CODES, COLUMNS, draw_errors, write_study
from personafit.store import Store
from tests.scripted import run, simple_pairs, write_pairs, write_recording

PEOPLE, QUESTIONS = 6, 4


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


@pytest.fixture
def scores(store: Store, tmp_path: Path) -> RunScores:
    """Wrong in both orders on three quarters of the items; torn between the orders on item 0."""
    rows = simple_pairs(PEOPLE, QUESTIONS)
    for number, row in enumerate(rows):
        row["tier"] = "easy" if number % QUESTIONS < 2 else "hard"
        row["rejected"], row["chosen"] = (
            f"I cannot help, {number}.",
            f"A fitting answer, whoever asks, {number}",
        )
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "mine.csv", rows)))

    def decide(view: str, item: int, order: str) -> str:
        if item == 0:
            return "right" if order == "01" else "wrong"
        return "right" if item % QUESTIONS == 3 else "wrong"

    recording = write_recording(tmp_path / "said.jsonl", FolderBenchmark(tmp_path / "mine"), decide)
    config = RunConfig(str(tmp_path / "mine"), raters=[f"replay:{recording}"], views=["profile"])
    return load_scores(store, run(store, config).run)


def test_only_wrong_choices_are_drawn_spread_over_people(store: Store, scores: RunScores) -> None:
    frame = draw_errors(store, scores, None, n=PEOPLE)
    assert frame.columns == list(COLUMNS)
    assert len(frame) == frame["person"].n_unique() == PEOPLE
    assert all(row["gold"] != row["choice"] for row in frame.iter_rows(named=True))
    everything = draw_errors(store, scores, None, n=1000)
    assert len(everything) == PEOPLE * 3 - 1, "neither the right ones nor the tie"
    assert max(Counter(draw_errors(store, scores, None, n=PEOPLE + 2)["person"]).values()) == 2


def test_the_draw_is_seeded(store: Store, scores: RunScores) -> None:
    first = draw_errors(store, scores, None, n=5, seed=1)
    assert first.equals(draw_errors(store, scores, None, n=5, seed=1))
    assert set(first["item"]) != set(draw_errors(store, scores, None, n=5, seed=2)["item"])


def test_a_coder_sees_what_the_rater_saw_and_said(store: Store, scores: RunScores) -> None:
    for row in draw_errors(store, scores, None, n=1000).iter_rows(named=True):
        gold, choice = row[f"answer_{row['gold']}"], row[f"answer_{row['choice']}"]
        assert gold.startswith("A fitting answer")
        assert choice.startswith("I cannot help")
        assert f"job number {row['person'].removeprefix('person')}" in row["person_text"]
        letters = {order: "AB"[order.index(row["choice"])] for order in ("01", "10")}
        assert row["reply"] == f"[order 01]\n{letters['01']}\n\n[order 10]\n{letters['10']}"
        assert row["guess"] == "refusal: refuses: I cannot help"
        assert (row["code"], row["codes"]) == ("", " | ".join(CODES))
        assert (row["view"], row["tier"] in ("easy", "hard")) == ("profile", True)


def test_a_tier_and_a_rater_can_be_asked_for(store: Store, scores: RunScores) -> None:
    assert set(draw_errors(store, scores, None, n=100, tier="hard")["tier"]) == {"hard"}
    assert draw_errors(store, scores, "rule:length", n=100).is_empty()
    with pytest.raises(
        UserError, match=r"--tier medium: no item of .* is of that tier; there are easy, hard\."
    ):
        draw_errors(store, scores, None, n=5, tier="medium")
    with pytest.raises(UserError, match="has no rater 'gpt'"):
        draw_errors(store, scores, "gpt", n=5)
    with pytest.raises(UserError, match="at least 1"):
        draw_errors(store, scores, None, n=0)


def test_the_study_is_written_twice_and_never_over_somebodys_codes(
    store: Store, scores: RunScores, tmp_path: Path
) -> None:
    frame = draw_errors(store, scores, None, n=7)
    lines, table = write_study(frame, tmp_path / "study")
    rows = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    with table.open(encoding="utf-8", newline="") as file:
        cells = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == [row["item"] for row in cells] == frame["item"].to_list()
    assert {row["code"] for row in cells} == {""}
    with pytest.raises(UserError, match="may hold somebody's codes"):
        write_study(frame, tmp_path / "study")
