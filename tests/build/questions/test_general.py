"""General questions: filtered, matched, validated; and pools that cannot do."""

import json
from collections import Counter
from pathlib import Path

import pytest

from personafit._errors import UserError
from personafit.build.questions.rules import CLOSED, OPEN, kind_of, unfit_for_pool
from personafit.build.questions.scenarios import categories, data_text, read_pool
from tests.build.builds import lines, run_build
from tests.build.questions.asking import rows, write_questions

OPEN_ONES = (
    "Which sport would you suggest to me?",
    "How should I spend a rainy Sunday?",
    "Should I keep a diary?",
    "How do I say no to a friend?",
)
TWINS = (OPEN_ONES[3], "How do I say no to friends?")
CLOSED_ONES = (
    "What is the capital of Peru?",
    "Should I trust this secretly closed question?",
    "As a nurse, how should I sleep?",
)


def write_pool(folder: Path, *questions: str) -> None:
    text = "".join(json.dumps({"text": question}) + "\n" for question in questions)
    (folder / "asked.jsonl").write_text(text, encoding="utf-8")


def test_a_pool_is_filtered_matched_and_shared_out(tmp_path: Path) -> None:
    write_pool(tmp_path, *OPEN_ONES, *CLOSED_ONES, TWINS[1])
    section = 'specific = 0\ngeneral = 2\nreuse = 2\npool = ["asked.jsonl"]\n'
    config, out = write_questions(tmp_path, section, quota=4), tmp_path / "out"
    run_build(config, out)
    made = rows(out)
    assert Counter(row["person"] for row in made).most_common()[-1][1] == 2
    reasons = {row["text"]: (row["reason"], row["by"]) for row in rows(out, "rejected")}
    twin = next(text for text in TWINS if text in reasons)
    assert reasons[twin][0].startswith("near-duplicate of: asked.jsonl#")
    assert Counter(row["text"] for row in made) == dict.fromkeys({*OPEN_ONES, *TWINS} - {twin}, 2)
    assert {row["maker"] for row in made} == {"pool:asked.jsonl"}
    assert all(row["category"] in categories() and row["scenario"] for row in made)
    assert reasons[CLOSED_ONES[0]] == ("has one right answer", "rule:open-1")
    assert reasons[CLOSED_ONES[1]][0] == "has one right answer"
    assert reasons[CLOSED_ONES[1]][1] != "rule:open-1"
    assert reasons[CLOSED_ONES[2]][0].startswith("says who is asking")
    queue = out / "review" / "questions.jsonl"
    asked = [row for row in lines(queue) if row["question"] == CLOSED_ONES[1]]
    assert [(row["id"], row["rejected"]) for row in asked] == [("asked.jsonl#6", "has one right answer")]
    decisions = [{"id": "asked.jsonl#6", "decision": "keep"}, {"id": "asked.jsonl#1", "decision": "drop"}]
    queue.write_text("".join(json.dumps(row) + "\n" for row in decisions), encoding="utf-8")
    run_build(config, out)
    given = {row["text"] for row in rows(out)}
    assert CLOSED_ONES[1] in given
    assert OPEN_ONES[0] not in given
    write_pool(tmp_path, *OPEN_ONES, "What could I plant on my balcony?")
    assert run_build(config, out).done == ["questions"]  # another pool is another step


def test_a_text_file_is_a_pool_too_and_may_hold_both_languages(tmp_path: Path) -> None:
    asked = ["What should I read?", "", "周末我该做点什么？", "How do I relax?", "我该怎么放松？"]
    (tmp_path / "asked.txt").write_text("\n".join(asked), encoding="utf-8")
    section = 'specific = 0\ngeneral = 2\npool = ["asked.txt"]\n'
    run_build(write_questions(tmp_path, section, quota=2, languages='["en", "zh"]'), tmp_path / "out")
    assert Counter(row["language"] for row in rows(tmp_path / "out")) == {"en": 2, "zh": 2}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "there is no question in asked.jsonl"),
        ('{"text": "我该不该去跑步？"}', "there is no question in 'en' in it"),
        (
            '{"text": "Who wrote Emma?"}',
            "0 of 1 questions are open ones .*most often out: has one right answer",
        ),
        ('{"text": "Should I run?"}', "1 of 1 questions are open.*needs at least 2"),
        ('{"question": "Should I run?"}', "line 1, field 'text' is missing"),
        (
            '{"text": "Should I run?", "category": "helth"}',
            "there is no category 'helth'; did you mean 'health'",
        ),
        (
            '{"text": "Should I run?", "category": "health", "scenario": "skim"}',
            "no scenario 'skim' of that category; did you mean 'skin'",
        ),
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


def test_the_rule_tells_our_own_pool_apart() -> None:
    marked = {row["text"]: row for row in map(json.loads, data_text("pool.jsonl").splitlines())}
    ours = list(read_pool([]))
    for language in ("en", "zh"):
        mine = [entry for entry in ours if entry.language == language]
        closed = [entry for entry in mine if marked[entry.text].get("objective")]
        assert len(mine) >= 60
        assert 0.4 < len(closed) / len(mine) < 0.6
        assert all(kind_of(entry.text) == CLOSED for entry in closed)
        for entry in mine:
            if entry not in closed:
                assert unfit_for_pool(entry.text, language) == ""


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How long is the Danube?", CLOSED),
        ("Calculate 14 * 3", CLOSED),
        ("请把这句话翻译成英文", CLOSED),
        ("What would you do with an old guitar?", OPEN),
        ("要不要买保险？", OPEN),
        ("珠穆朗玛峰有多高？", CLOSED),
    ],
)
def test_open_and_closed(question: str, kind: str) -> None:
    assert kind_of(question) == kind
