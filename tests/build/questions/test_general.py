"""General questions: filtered, matched, validated; and pools that cannot do."""

import json
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from personafit import UserError
from personafit.build.questions.lists import read_pool
from personafit.build.questions.rules import unfit_for_pool
from personafit.build.questions.step import OWN_OPEN
from tests.build.builds import run_build
from tests.build.questions.asking import rows, write_questions

OPEN_ONES = (
    "Which sport would you suggest to me?",
    "How should I spend a rainy Sunday?",
    "Should I keep a diary?",
    "How do I say no to a friend?",
)
TWINS = (OPEN_ONES[3], "How do I say no to friends?")
CLOSED_ONES = (
    "Should I trust this secretly closed question?",
    "As a nurse, how should I sleep?",
)


def write_pool(folder: Path, *questions: str) -> None:
    text = "".join(json.dumps({"text": question}) + "\n" for question in questions)
    (folder / "asked.jsonl").write_text(text, encoding="utf-8")


def test_a_pool_is_filtered_matched_and_shared_out(tmp_path: Path) -> None:
    write_pool(tmp_path, *OPEN_ONES, *CLOSED_ONES, TWINS[1])
    section = 'specific = 0\ngeneral = 2\nreuse = 3\npool = ["asked.jsonl"]\n'
    config, out = write_questions(tmp_path, section, quota=4), tmp_path / "out"
    run_build(config, out)
    made = rows(out)
    assert Counter(row["person"] for row in made).most_common()[-1][1] == 2
    reasons = {row["text"]: (row["reason"], row["by"]) for row in rows(out, "rejected")}
    twin = next(text for text in TWINS if text in reasons)
    assert reasons[twin][0].startswith("near-duplicate: as asked.jsonl#")
    assert {row["text"] for row in made} <= {*OPEN_ONES, *TWINS} - {twin}
    assert max(Counter(row["text"] for row in made).values()) <= 3, "as `reuse` says"
    assert {row["maker"] for row in made} == {"pool:asked.jsonl"}
    assert {row["category"] for row in made} == {"other"}, "the file does not say"
    assert reasons[CLOSED_ONES[0]] == ("has one right answer", "python:strong_writer:answer")
    assert reasons[CLOSED_ONES[1]][0].startswith("says who is asking")
    write_pool(tmp_path, *OPEN_ONES, "What could I plant on my balcony?")
    assert run_build(config, out).done == ["questions"]  # another pool is another step


def test_a_text_file_is_a_pool_too_and_may_hold_both_languages(tmp_path: Path) -> None:
    asked = ["What should I read?", "", "周末我该做点什么？", "How do I relax?", "我该怎么放松？"]
    (tmp_path / "asked.txt").write_text("\n".join(asked), encoding="utf-8")
    section = 'specific = 0\ngeneral = 2\npool = ["asked.txt"]\n'
    run_build(write_questions(tmp_path, section, quota=3, languages='["en", "zh"]'), tmp_path / "out")
    assert Counter(row["language"] for row in rows(tmp_path / "out")) == {"en": 4, "zh": 2}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "there is no question in asked.jsonl"),
        ('{"text": "我该不该去跑步？"}', "0 open questions in 'en' are too few"),
        (
            '{"text": "Is this secretly closed?"}',
            r"0 open questions in 'en' \(most often: has one right answer\) are too few for general = 2",
        ),
        ('{"text": "Should I run?"}', "1 open questions in 'en' are too few for general = 2 for 1 people"),
        ('{"question": "Should I run?"}', "line 1, field 'text' is missing"),
    ],
)
def test_a_pool_that_cannot_do_is_a_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "asked.jsonl").write_text(content, encoding="utf-8")
    section = 'specific = 0\ngeneral = 2\npool = ["asked.jsonl"]\n'
    with pytest.raises(UserError, match=sentence):
        run_build(write_questions(tmp_path, section, quota=1), tmp_path / "out")


def test_questions_that_fit_nobody_end_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MATCH", "C")
    write_pool(tmp_path, *OPEN_ONES)
    section = 'specific = 0\ngeneral = 2\npool = ["asked.jsonl"]\n'
    with pytest.raises(UserError, match=r"general questions: 0 of 2 could be .*goes against what is known"):
        run_build(write_questions(tmp_path, section, quota=1), tmp_path / "out")


def test_our_own_pool_has_open_questions_only() -> None:
    ours = list(read_pool([]))
    for language in ("en", "zh"):
        mine = [entry for entry in ours if entry.language == language]
        assert len(mine) == OWN_OPEN
        assert all(entry.category and not unfit_for_pool(entry.text, language) for entry in mine)


def test_pools_of_conversations_give_the_first_thing_the_user_says(tmp_path: Path) -> None:
    sharegpt = [
        {
            "id": "a",
            "conversations": [
                {"from": "human", "value": "Plan my\nweekend."},
                {"from": "gpt", "value": "So."},
            ],
        },
        {"id": "b", "conversations": [{"from": "gpt", "value": "Hello, how can I help?"}]},
        {"id": "c", "conversations": []},
    ]
    (tmp_path / "sharegpt.json").write_text(json.dumps(sharegpt), encoding="utf-8")
    lmsys = {"conversation": [{"role": "user", "content": "周末去哪里玩比较好？"}], "language": "Chinese"}
    (tmp_path / "lmsys.jsonl").write_text(json.dumps(lmsys) + "\n", encoding="utf-8")
    pl.DataFrame(
        [{"conversation": [{"content": "Which lamp suits a small desk?", "role": "user"}]}]
    ).write_parquet(tmp_path / "lmsys.parquet")
    (tmp_path / "own.jsonl").write_text('{"prompt": "What shall I cook?"}\n', encoding="utf-8")
    names = ("sharegpt.json", "lmsys.jsonl", "lmsys.parquet", "own.jsonl")
    found = list(read_pool([tmp_path / name for name in names]))
    assert [(one.text, one.language, one.source) for one in found] == [
        ("Plan my weekend.", "en", "sharegpt.json#1"),
        ("周末去哪里玩比较好？", "zh", "lmsys.jsonl#1"),
        ("Which lamp suits a small desk?", "en", "lmsys.parquet#1"),
        ("What shall I cook?", "en", "own.jsonl#1"),
    ]


def test_scenarios_and_examples_of_ones_own_are_what_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        '[[category]]\nname = "boats"\nscenario = [{name = "choosing a boat"}, {name = "winter storage"}]\n',
        encoding="utf-8",
    )
    example = {"features": ["Sails alone"], "scenario": "crew", "text": "Whom should I take along?"}
    (tmp_path / "own.jsonl").write_text(json.dumps(example) + "\n", encoding="utf-8")
    own = 'scenarios = "own.toml"\nexamples = "own.jsonl"\nspecific = 2\ngeneral = 0\nsimilarity = 1.0\n'
    config, out = write_questions(tmp_path, own), tmp_path / "out"
    run_build(config, out)
    assert {row["category"] for row in rows(out)} == {"boats"}
    assert {row["scenario"] for row in rows(out)} <= {"choosing a boat", "winter storage"}
    assert {row["example"] for row in rows(out, "questions")} == {"own.jsonl#1/1"}
    config = write_questions(tmp_path, own, languages='["zh"]')
    with pytest.raises(UserError, match=r"examples: own.jsonl has none in 'zh'"):
        run_build(config, tmp_path / "zh")
