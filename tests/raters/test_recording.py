"""A run's replies become a recording, and the recording repeats them."""

import json
from pathlib import Path
from typing import Any

import pytest

from personafit.benchmarks import ImportedPairs, write_folder
from personafit.items.choice import ASPECTS
from tests.scripted import invoke, simple_pairs, write_lines, write_pairs

MARKS = "\n".join(f"{aspect}: 3" for aspect in ASPECTS)
LETTERS: list[dict[str, Any]] = [
    {"key": "pairs/2|profile|01|0", "reply": "A", "letter_scores": {"A": -0.25, "B": -1.5}},
    {"key": "pairs/2|profile|10|0", "reply": "B", "reasoning": "It says so."},
    {"key": "pairs/3|profile|01|0", "reply": "[answer 0]\n\nB"},
    {"key": "pairs/3|profile|10|0", "reply": "Both."},
]
WEIGHED: list[dict[str, Any]] = [
    {"key": f"pairs/{number}|{context}|{index}|0", "reply": "", "letter_scores": {"likelihood": -score}}
    for number, context, index, score in (
        (2, "profile", 0, 2.5),
        (2, "none", 0, 2.75),
        (2, "profile", 1, 3.0),
        (2, "none", 1, 3.0),
        (3, "profile", 0, 1.25),
        (3, "none", 0, 1.5),
        (3, "profile", 1, 0.75),
        (3, "none", 1, 0.5),
    )
]
FIVE: list[dict[str, Any]] = [
    {"key": f"pairs/{number}|profile|{index}|0", "reply": MARKS} for number in (2, 3) for index in (0, 1)
]


def folder(path: Path) -> Path:
    write_folder(path / "mine", ImportedPairs(write_pairs(path / "pairs.csv", simple_pairs(people=2))))
    return path


@pytest.mark.parametrize(
    ("spec", "rows", "code"),
    [
        ("replay:said.jsonl", LETTERS, 1),  # one reply names no letter, so the coverage is below its bar
        ("replay:said.jsonl,ask=likelihood", WEIGHED, 0),
        ("aspects:replay:said.jsonl", FIVE, 0),
    ],
)
def test_what_is_recorded_is_what_was_said(
    spec: str, rows: list[dict[str, Any]], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(folder(tmp_path) / "said.jsonl", rows)
    invoke(monkeypatch, tmp_path, "run", "mine", "--rater", spec, "--context", "profile", code=code)
    invoke(monkeypatch, tmp_path, "models", "record", "last", "--out", "deep/again.jsonl")
    again = [json.loads(line) for line in (tmp_path / "deep" / "again.jsonl").read_text().splitlines()]
    assert again == rows


def test_a_run_without_one_model_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, folder(tmp_path), "run", "mine", "--rater", "rule:length", "--context", "profile")
    invoke(monkeypatch, tmp_path, "models", "record", "last", "--out", "said.jsonl", code=2)
    assert "must have one model among its raters to be recorded; it has none" in capsys.readouterr().err
    assert not (tmp_path / "said.jsonl").exists()
