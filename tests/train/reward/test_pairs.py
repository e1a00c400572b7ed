"""Reading pairs: every layout, and a sentence with file, line and field for what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.train.pairs import fingerprint, read_helpsteer, read_pairs, without_ties

GOOD: dict[str, Any] = {
    "person": {"Name": "Ann", "Likes": {"Drinks": ["tea"]}},
    "prompt": "What now?",
    "chosen": "Tea.",
    "rejected": "Coffee.",
}


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_texts_messages_and_prompts_inside_are_read_alike(tmp_path: Path) -> None:
    asked = [{"role": "system", "content": "about Ann"}, {"role": "user", "content": "What now?"}]
    tea, coffee = ([{"role": "assistant", "content": text}] for text in ("Tea.", "Coffee."))
    messages = {**GOOD, "prompt": asked, "chosen": tea, "rejected": coffee}
    inside = {"person": GOOD["person"], "chosen": asked + tea, "rejected": asked + coffee}
    pairs = read_pairs(write(tmp_path / "pairs.jsonl", [GOOD, messages, inside]))
    assert {(pair.question, pair.chosen, pair.rejected) for pair in pairs} == {
        ("What now?", "Tea.", "Coffee.")
    }
    assert len({pair.person for pair in pairs}) == 1
    assert pairs[0].facets == {"Name": "Ann", "Likes.Drinks": ["tea"]}


def test_a_person_in_words_an_id_a_tier_and_a_margin(tmp_path: Path) -> None:
    row = {**GOOD, "person": "Ann likes tea.", "person_id": "ann", "tier": "hard", "margin": 0.5}
    (pair,) = read_pairs(write(tmp_path / "pairs.jsonl", [row]))
    assert (pair.person, pair.tier, pair.margin) == ("ann", "hard", 0.5)
    assert pair.facets == {"About": "Ann likes tea."}
    (pair,) = read_pairs(write(tmp_path / "pairs.jsonl", [{**GOOD, "margin": None}]))
    assert pair.margin == 0  # where only some pairs of a table have one


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"person": None}, "line 2, field 'person' must say who asks"),
        ({"person": {}}, "line 2, field 'person' must say who asks"),
        ({"person": {"Name": ""}}, "line 2, field 'person' must say who asks"),
        ({"person": 3}, "line 2, field 'person' must say who asks"),
        ({"chosen": ""}, "line 2, field 'chosen' is empty"),
        ({"rejected": None}, "line 2, field 'rejected' is missing"),
        ({"prompt": [{"role": "user", "content": "a"}] * 2}, "has 2 messages"),
        ({"margin": "much"}, "field 'margin' must be a number"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_pairs(write(tmp_path / "pairs.jsonl", [GOOD, {**GOOD, **change}]))


def test_a_path_that_is_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither a folder nor a file"):
        read_pairs(tmp_path / "nothing")


def test_equal_answers_are_left_out_and_said(tmp_path: Path) -> None:
    pairs = read_pairs(write(tmp_path / "pairs.jsonl", [GOOD, {**GOOD, "rejected": "Tea."}]))
    notes: list[str] = []
    assert len(without_ties(pairs, notes)) == 1
    assert "the first at" in notes[0]
    assert "line 2" in notes[0]


def test_general_pairs_are_two_points_apart_and_the_better_is_chosen(tmp_path: Path) -> None:
    ratings = [("a", 1, 4), ("b", 4, 3), ("c", 4, 2), ("d", 0, 4)]
    rows = [
        {"prompt": prompt, "response": f"{prompt}{place}", "helpfulness": points, "verbosity": 1}
        for prompt, *both in ratings
        for place, points in enumerate(both)
    ]
    pairs = read_helpsteer(write(tmp_path / "helpsteer.jsonl", rows))
    assert [(pair.chosen, pair.rejected) for pair in pairs] == [("a1", "a0"), ("c0", "c1"), ("d1", "d0")]
    assert all(not pair.person for pair in pairs)
    with pytest.raises(UserError, match="line 1, field 'helpfulness' is missing"):
        read_helpsteer(write(tmp_path / "other.jsonl", [{"prompt": "a", "response": "b"}]))
    with pytest.raises(UserError, match="2 points of helpfulness apart"):
        read_helpsteer(write(tmp_path / "close.jsonl", rows[2:4]))


def test_the_fingerprint_is_of_the_content(tmp_path: Path) -> None:
    one = read_pairs(write(tmp_path / "one.jsonl", [GOOD]))
    same = read_pairs(write(tmp_path / "two.jsonl", [GOOD]))
    other = read_pairs(write(tmp_path / "three.jsonl", [{**GOOD, "chosen": "Tee."}]))
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)
