"""Training pairs: what is chosen and rejected, who they are about, what is mixed in, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from personafit import Store, UserError
from personafit.benchmarks import FolderBenchmark
from personafit.benchmarks.rewardbench import rated_pairs
from personafit.benchmarks.starter import FOLDER as STARTER
from personafit.build.pairs import HeldOut
from personafit.train.pairs import read_pairs
from tests.build.tasks.building import built, rows
from tests.scripted import write_lines

KINDS = {"no-persona", "wrong-person", "over-personalized", "degraded"}


def config(folder: Path, *lines: str, writer: str = "able", training: int = 6) -> Path:
    path = folder / "build.toml"
    said = [
        "[models]",
        f'writer = "python:tests.build.pairs.answerers:{writer}"',
        "[people]",
        f"quota = 2\ntraining = {training}\nfields = []\nsimilarity = 1.0",
        "[pairs]\nwords = 20",
        *lines,
    ]
    path.write_text("\n".join(said) + "\n", encoding="utf-8")
    return path


def rated(folder: Path) -> Path:
    """Four prompts with two answers each, of which three are two points apart or more."""
    points = [(4, 1), (0, 2), (3, 2), (1, 4)]
    return write_lines(
        folder / "rated.jsonl",
        [
            {"prompt": f"Prompt {n}", "response": f"answer {n} {side}", "helpfulness": value}
            for n, both in enumerate(points)
            for side, value in zip("ab", both, strict=True)
        ],
    )


def all_pairs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: rows(folder / "out" / "pairs" / f"{name}.jsonl") for name in ("train", "validation")}


def test_pairs_have_every_kind_of_negative_one_model_each_and_their_lineage(tmp_path: Path) -> None:
    built(config(tmp_path, "hard = 3", "similarity = 1.0", "validation = 0.4"))
    found = all_pairs(tmp_path)
    personal = [row for split in found.values() for row in split]
    assert {row["tier"] for row in personal} == KINDS
    assert len(personal) == 6 * 2 * 4, "six people, two questions, four negatives"
    products = {}
    for row in personal:
        lineage = row["lineage"]
        assert row["chosen"] != row["rejected"]
        assert row["prompt"][0]["role"] == "system"
        assert lineage["negative"] == row["tier"]
        products[lineage["chosen"]] = row["chosen"][0]["content"]
        assert (row["tier"] == "degraded") == ("direction" in lineage)
        assert lineage.get("wrong_person", "") != row["person_id"]
        assert (row["tier"] == "wrong-person") == ("wrong_person" in lineage)
    makers = {row["fingerprint"]: row for row in rows(tmp_path / "out" / "makers.jsonl")}
    with Store(tmp_path / "out" / "build.db") as store:
        told = store.texts(row["lineage"]["given"] for row in personal)
    for row in personal:
        assert str(row["person"]["Name"]) in told[row["lineage"]["given"]], "who was told of"
        nothing = row["tier"] in ("no-persona", "degraded")
        assert nothing == ("rejected_given" not in row["lineage"])
        other = row["lineage"].get("rejected_given") != row["lineage"]["given"]
        assert other == (nothing or row["tier"] == "wrong-person")
    chosen, rejected = personal[0]["lineage"]["makers"]
    assert makers[chosen]["prompt"] == "answers.person-3"
    assert makers[chosen]["model"] == makers[rejected]["model"]
    assert len(products) == 12, "one fitting answer for each question"
    owners = {name: {row["person_id"] for row in split if row["person"]} for name, split in found.items()}
    assert all(owners.values())
    assert not owners["train"] & owners["validation"], "split by person"
    benchmark = {row["id"] for row in rows(tmp_path / "out" / "people.jsonl")}
    assert not benchmark & (owners["train"] | owners["validation"])
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "| wrong-person | 12 |" in card


def test_our_own_trainer_reads_what_is_personal(tmp_path: Path) -> None:
    built(config(tmp_path, "similarity = 1.0", "validation = 0", "hard = 0"))
    read = read_pairs(tmp_path / "out" / "pairs" / "train.jsonl")
    assert len(read) == 12
    assert {pair.tier for pair in read} == {"no-persona"}
    assert all(pair.person and pair.facets for pair in read)


def test_people_and_questions_of_benchmarks_are_kept_out(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    built(config(tmp_path / "first", "similarity = 1.0", "validation = 0", "hard = 0"))
    trained = all_pairs(tmp_path / "first")["train"]
    someone = trained[0]
    held = {"id": "another-id", "language": "en", "facets": someone["person"]}
    write_lines(tmp_path / "people.jsonl", [held])
    path = config(tmp_path, "similarity = 1.0", "validation = 0", "hard = 0", 'exclude = ["people.jsonl"]')
    built(path)
    left = {row["person_id"] for row in all_pairs(tmp_path)["train"]}
    assert left == {row["person_id"] for row in trained} - {someone["person_id"]}
    assert any(
        "this profile is in a benchmark" in row["reason"] for row in rows(tmp_path / "out/rejected.jsonl")
    )


def test_a_question_of_a_benchmark_is_not_trained_on(tmp_path: Path) -> None:
    asked = rows(STARTER / "items.jsonl")[0]["prompt"].upper()
    prompts = [asked, *(f"How do I sleep better in month {number}?" for number in range(2, 14))]
    write_lines(tmp_path / "questions.jsonl", [{"prompt": prompt} for prompt in prompts])
    path = config(tmp_path, 'questions = "questions.jsonl"', "similarity = 1.0", "hard = 0", "validation = 0")
    built(path)
    kept = all_pairs(tmp_path)["train"]
    assert {row["prompt"][-1]["content"] for row in kept} == set(prompts) - {asked}
    assert len(kept) == 12, "the one that was refused was replaced by the next of the file"
    assert {row["lineage"]["question"] for row in kept} == {f"questions.jsonl#{n}" for n in range(2, 14)}
    (refused,) = rows(tmp_path / "out/rejected.jsonl", "a benchmark asks this")
    assert refused["text"] == asked


def test_what_this_builds_own_benchmark_asks_is_not_trained_on(tmp_path: Path) -> None:
    path = config(tmp_path, "similarity = 1.0", "per_person = 1", "hard = 0", "validation = 0", training=3)
    asked = "[questions]\nspecific = 0\ngeneral = 1\nreuse = 9\npool = ['pool.txt']\n"
    (tmp_path / "pool.txt").write_text("Which sport would you suggest to me?\n", encoding="utf-8")
    write_lines(
        tmp_path / "mine.jsonl", [{"prompt": "Which sport would you suggest to me"}, {"prompt": "Why?"}]
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(f"questions = 'mine.jsonl'\n{asked}")
    built(path)
    assert {row["prompt"][-1]["content"] for row in all_pairs(tmp_path)["train"]} == {"Why?"}
    assert len(rows(tmp_path / "out/rejected.jsonl", "a benchmark asks this")) >= 2


def test_benchmarks_of_other_layouts_are_kept_out_by_name(tmp_path: Path) -> None:
    lens = tmp_path / "lens"
    lens.mkdir()
    path = config(tmp_path, 'exclude = ["personalens=lens"]')
    with pytest.raises(UserError, match="lens"):  # opened as PersonaLens, which it is not
        built(path)
    with pytest.raises(UserError, match=r"exclude: there is no benchmark .*nowhere"):
        built(config(tmp_path, 'exclude = ["personalens=nowhere"]'))


def test_questions_of_a_file_go_round_and_the_same_answer_twice_is_one_pair(tmp_path: Path) -> None:
    write_lines(tmp_path / "questions.jsonl", [{"prompt": "How do I sleep better?"}])
    path = config(tmp_path, 'questions = "questions.jsonl"', "hard = 0", "validation = 0")
    built(path)
    kept = all_pairs(tmp_path)["train"]
    assert {row["prompt"][-1]["content"] for row in kept} == {"How do I sleep better?"}
    assert len(kept) < 12, "answers that say almost the same"
    reasons = {row["reason"].partition(":")[0] for row in rows(tmp_path / "out" / "rejected.jsonl")}
    assert "near-duplicate" in reasons


def test_a_model_that_always_says_the_same_makes_no_pair_and_is_told_off_early(tmp_path: Path) -> None:
    path = config(tmp_path, "similarity = 1.0", writer="constant", training=12)
    with pytest.raises(
        UserError, match=r"pairs: none of the first people's answers made a pair \(most often: "
    ):
        built(path)
    assert not (tmp_path / "out" / "pairs" / "train.jsonl").exists()


@pytest.mark.parametrize(
    ("line", "training", "sentence"),
    [
        ("per_persn = 1", 3, "has no key 'per_persn'; did you mean 'per_person'"),
        ("", 0, "set training in [people]"),
        ('questions = "none.jsonl"', 3, "questions: there is no file"),
        ('exclude = ["nowhere"]', 3, "exclude: there is no benchmark"),
    ],
)
def test_a_section_that_cannot_be_is_refused(tmp_path: Path, line: str, training: int, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        built(config(tmp_path, line, training=training))
    assert sentence in str(refused.value)


def test_rated_answers_are_pairs_only_when_far_enough_apart(tmp_path: Path) -> None:
    found = list(rated_pairs(rated(tmp_path)))
    assert [(one.prompt, one.better[-1], one.gap) for one in found] == [
        ("Prompt 0", "a", 3.0),
        ("Prompt 1", "b", 2.0),
        ("Prompt 3", "b", 3.0),
    ]
    bad = tmp_path / "bad.jsonl"
    bad.write_text(json.dumps({"prompt": "p", "response": "r", "helpfulness": "4"}) + "\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"line 1, field 'helpfulness' must be a number, not"):
        list(rated_pairs(bad))


def test_questions_of_every_kind_of_item_are_held_out() -> None:
    held_out = HeldOut([], [], [])
    kinds = {item.kind for item in FolderBenchmark(STARTER, kind=None).items()}
    assert {"choice", "relevance", "preference"} <= kinds
    assert all(held_out.has_question(item.prompt) for item in FolderBenchmark(STARTER, kind=None).items())
