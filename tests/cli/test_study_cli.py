"""`run responses`, `data forms`, `data votes` and `study` as real processes."""

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.preference_world import write_preferences
from tests.scripted import invoke, write_lines


def test_from_form_to_tables(personafit: Command, tmp_path: Path) -> None:
    write_preferences(tmp_path / "little")
    done = personafit("data", "forms", "recentering", "--data", "little", "--stage", "3", "--out", "study")
    assert "8 pages, 8 items, 8 answers a rater" in done.out
    items = [
        json.loads(line)
        for line in (tmp_path / "study" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    votes = [
        {
            "item": item["id"],
            "question": "preference",
            "target": item["products"][2],
            "rater": who,
            "label": "4",
            "extra": {"perspective": "self"},
        }
        for item in items
        for who in ("ann", "bob")
    ]
    write_lines(tmp_path / "votes.jsonl", votes)
    done = personafit("data", "votes", "study", "votes.jsonl")
    assert "16 new, 0 corrected" in done.out
    done = personafit("run", "responses", "--data", "study", "--json")
    people = [r for r in json.loads(done.out)["results"] if r["rater"] == "human" and r["metric"] == "rating"]
    assert [r["value"] for r in people] == [4.0]
    done = personafit("study", "last", "--out", "tables")
    assert "study.json to tables" in done.out
    assert (tmp_path / "tables" / "judges.csv").is_file()


def test_errors_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, words in (
        (("study", "nowhere"), "neither a folder of `data forms`"),
        (("run", "responses"), "response_pairs.jsonl"),
        (("data", "votes", "nowhere", "x.jsonl"), "forms.json"),
        (("train", "preference", "--data", "nowhere", "--out", "x"), "response_pairs.jsonl"),
    ):
        invoke(monkeypatch, tmp_path, *arguments, code=2)
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
