"""Specific questions: exact counts and shares, lineage, leaks, verdicts, a person's decisions, and early ends."""

import json
from collections import Counter
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks import check_folder
from personafit.build.duplicates import NearDuplicates
from personafit.build.questions.lists import examples, read_scenarios
from personafit.build.questions.rules import leaks
from personafit.build.questions.specific import category_counts
from personafit.people import Person
from tests.build.builds import calls, lines, run_build
from tests.build.questions.asking import rows, write_questions

MEMORIES = "[memories]\nper_person = 3\nsampled = 3\nfeatures = 2\n"
ONLY_SPECIFIC = "specific = 6\ngeneral = 0\nsimilarity = 1.0\n"


def test_a_strong_model_gives_exact_counts_shares_and_lineage(tmp_path: Path) -> None:
    section = "specific = 20\ngeneral = 3\nfeatures = 1\nsimilarity = 1.0\n"
    config = write_questions(tmp_path, section, quota=5, training=1, languages='["en", "zh"]', more=MEMORIES)
    out = tmp_path / "out"
    run_build(config, out)
    made = rows(out)
    people = {one["id"]: one for one in lines(out / "steps/features/people.jsonl")}
    assert Counter((row["person"], row["half"]) for row in made) == {
        (person, half): count for person in people for half, count in (("specific", 20), ("general", 3))
    }
    found = Counter(row["category"] for row in made if row["half"] == "specific")
    assert all(abs(found[name] - share * 100) < 1 for name, share in read_scenarios().shares().items())
    for row in made:
        assert row["language"] == people[row["person"]]["language"]
        if row["half"] == "specific":
            assert len(row["features"]) == 1
            assert row["features"][0] in {one["id"] for one in people[row["person"]]["attributes"]}
    products = {row["id"]: row for row in lines(out / "products.jsonl") if row["kind"] == "question"}
    assert set(products) == {row["id"] for row in made}
    known = {one.id for one in examples()}
    for row in made:
        if row["half"] == "specific":
            assert products[row["id"]]["parents"][1:] == [row["person"], row["example"]]
            assert row["example"] in known
    makers = {row["fingerprint"]: row["prompt"] for row in lines(out / "makers.jsonl")}
    assert {makers[row["maker"]] for row in made if row["half"] == "specific"} == {"questions.write-2"}
    assert [row["person"] for row in made] == sorted((row["person"] for row in made), key=list(people).index)
    assert check_folder(out) == []
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "| specific | 100 | " in card
    assert "| Recommendation Systems | 23.47% |" in card
    before = calls(tmp_path)
    assert run_build(config, out).done == []
    run_build(config, out, redo="questions")
    again = rows(out)
    assert calls(tmp_path) > before
    assert len(again) == len(made)
    assert {row["text"] for row in again} != {row["text"] for row in made}


def test_without_memories_the_profile_itself_is_what_questions_come_from(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_build(write_questions(tmp_path, ONLY_SPECIFIC), out)
    people = {one["id"]: one["facets"] for one in lines(out / "people.jsonl")}
    made = rows(out)
    assert len(made) == 18
    assert all(row["features"] and set(row["features"]) <= set(people[row["person"]]) for row in made)


def test_what_gives_the_person_away_is_put_in_other_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAK", "1")
    out = tmp_path / "out"
    run_build(write_questions(tmp_path, ONLY_SPECIFIC), out)
    people = {one["id"]: Person.model_validate(one) for one in lines(out / "people.jsonl")}
    made = rows(out)
    assert len(made) == 18
    assert all(row["text"].startswith("10:30 or later, what would be sensible") for row in made)
    assert not any(list(leaks(row["text"], people[row["person"]])) for row in made)
    makers = {row["fingerprint"]: row["prompt"] for row in lines(out / "makers.jsonl")}
    assert {makers[row["maker"]] for row in made} == {"questions.rephrase-2"}
    first = next(row for row in lines(out / "products.jsonl") if row["kind"] == "question")["parents"]
    assert len(first) == 1
    assert first[0] not in people  # the question as it was first put
    monkeypatch.setenv("STUBBORN", "1")
    with pytest.raises(UserError, match=r"0 of 18 could be made in 18 tries \(most often: gives away\)"):
        run_build(write_questions(tmp_path, ONLY_SPECIFIC), tmp_path / "stubborn")


def test_what_the_checker_finds_fault_with_is_replaced_until_it_is_too_much(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECK", "C")
    with pytest.raises(UserError, match=r"0 of 18 could be made in 18 tries .*makes no sense"):
        run_build(write_questions(tmp_path, ONLY_SPECIFIC), tmp_path / "out")


@pytest.mark.parametrize(
    ("said", "reason"),
    [("What should I do about it?", "near-duplicate"), ("No idea.", "writing failed")],
)
def test_a_model_that_always_says_the_same_ends_early_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    monkeypatch.setenv("ALWAYS", said)
    with pytest.raises(UserError, match=rf"specific questions: [01] of 18 .*most often: {reason}"):
        run_build(write_questions(tmp_path, ONLY_SPECIFIC), tmp_path / "out")
    assert calls(tmp_path) <= 3 + 18 * 4


def test_a_question_that_can_never_be_made_ends_the_step_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SILENT_ON", "about money")
    section = "specific = 5\ngeneral = 0\nsimilarity = 1.0\nshares = {finance = 0.1, leisure = 0.9}\n"
    with pytest.raises(UserError, match=r"9 of 10 could be made in 29 tries \(most often: writing failed\)"):
        run_build(write_questions(tmp_path, section, quota=2), tmp_path / "out")
    assert calls(tmp_path) < 90


def test_without_a_writer_our_templates_ask(tmp_path: Path) -> None:
    config, out = (
        write_questions(tmp_path, "specific = 5\ngeneral = 1\n", languages='["en", "zh"]'),
        tmp_path / "out",
    )
    text = config.read_text(encoding="utf-8").replace("python:strong_writer:answer", "template")
    config.write_text(text, encoding="utf-8")
    run_build(config, out)
    made = [row for row in rows(out) if row["half"] == "specific"]
    assert {row["maker"] for row in made} == {"template:questions-1"}
    assert len({row["text"] for row in made}) == len(made) == 15
    assert all(row["features"] == [] for row in made)
    assert not any("{" in row["text"] for row in made)
    assert "| question | template:questions-1 | 1" in (out / "card.md").read_text(encoding="utf-8")
    assert not calls(tmp_path)


def test_what_was_asked_is_not_asked_again(tmp_path: Path) -> None:
    config, out = write_questions(tmp_path, "specific = 4\ngeneral = 2\nsimilarity = 1.0\n"), tmp_path / "out"
    run_build(config, out)
    made, asked = rows(out), calls(tmp_path)
    (out / "steps/questions/done.json").unlink()  # as if it had been killed at the very end
    assert run_build(config, out).done == ["questions"]
    assert rows(out) == made
    assert calls(tmp_path) == asked


def test_a_persons_decisions_are_honoured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = "specific = 4\ngeneral = 2\nsimilarity = 1.0\n"
    config, out = write_questions(tmp_path, section, quota=2), tmp_path / "out"
    monkeypatch.setenv("LEAK", "1")
    run_build(config, out)
    before = rows(out)
    keys = {row["id"]: row["key"] for row in before}
    dropped = [next(row for row in before if row["half"] == half) for half in ("specific", "general")]
    queue = out / "review" / "questions.jsonl"
    decided = {keys[row["id"]]: "drop" for row in dropped}
    changed = [{**row, "decision": decided.get(row["id"], "")} for row in lines(queue)]
    assert sum(bool(row["decision"]) for row in changed) == 2
    queue.write_text("".join(json.dumps(row) + "\n" for row in changed), encoding="utf-8")
    assert run_build(config, out).done == ["questions"]
    after = rows(out)
    assert len(after) == len(before)
    assert not {row["id"] for row in dropped} & {row["id"] for row in after}
    assert sum(row["reason"] == "dropped in review" for row in rows(out, "rejected")) == 2


def test_paraphrases_of_anybodys_question_are_near_duplicates() -> None:
    known = NearDuplicates(0.85)
    assert known.add([("a", "How do I start running?"), ("b", "Which book should I read next?")]) == [
        None,
        None,
    ]
    assert known.add([("c", "How can I begin running?"), ("d", "Which film should I watch next?")]) == [
        "a",
        None,
    ]


def test_shares_are_met_to_within_one_whatever_the_total() -> None:
    shares = read_scenarios().shares()
    for total in (1, 7, 20, 99, 4000):
        counts = category_counts(total, shares)
        assert sum(counts.values()) == total
        assert all(
            abs(counts[name] - total * share / sum(shares.values())) < 1 for name, share in shares.items()
        )
