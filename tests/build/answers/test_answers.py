"""Answers: who is told what, what is masked, who wrote what anew and how long, and what stands in for a model that cannot."""

from pathlib import Path

import numpy as np
import pytest

from personafit import UserError
from personafit.benchmarks import check_folder
from personafit.build import Unfit, estimate, read_config
from personafit.build.answer_texts import (
    answer_reader,
    length_in_words,
    name_in,
    template_answer,
    without_marks,
)
from personafit.build.answers import bearing, mostly_masked
from personafit.build.candidates import own_seeds
from personafit.people import Person, facet_values
from tests.build.answers.building import MODELS, rows, write_config
from tests.build.builds import lines, run_build

TEMPLATE = "template:answers-1"
POOL = f'answerers = ["{MODELS}able", "{MODELS}other"]\n'
ANNA = Person(id="anna", language="en", facets={"Name": "Anna Lind", "Demographics.Age": 30})
WEI = Person(id="wei", language="zh", facets={"Name": "王小梅", "Demographics.Age": 30})


def test_a_strong_pool_gives_exact_counts_masks_and_lineage(tmp_path: Path, answered: Path) -> None:
    out = answered
    run_build(write_config(tmp_path, models=POOL), out)
    answers = rows(out, "answers")
    assert len(answers) == 4 * 3 * (2 * 4 + 2), (
        "four people, three questions, two models, four ways; two written anew"
    )
    people = {row["id"]: Person.model_validate(row) for row in lines(out / "people.jsonl")}
    products = {row["id"]: row for row in lines(out / "products.jsonl")}
    makers = {row["fingerprint"]: row for row in lines(out / "makers.jsonl")}
    prompts = {
        "A1": {"answers.person-3"},
        "A2": {"answers.person-3"},
        "A3": {"answers.anybody-2"},
        "wrong-person": {"answers.person-3"},
        "improved": {"answers.better-3"},
        "degraded": {"answers.less-personal-2", "answers.less-helpful-2"},
    }
    by_id = {row["id"]: row for row in answers}
    assert len(by_id) == len(answers)
    for row in answers:
        person, maker = people[row["person"]], makers[row["maker"]]
        assert maker["prompt"] in prompts[row["strategy"]]
        assert maker["model"] == row["model"]
        assert products[row["id"]]["text"] == row["text"]
        assert products[row["id"]]["parents"][0] == row["question"]
        told = products[row["given"]]["text"] if row["given"] else ""
        assert not name_in(told, person)
        assert (row["given"] is None) == (row["strategy"] in ("A3", "degraded"))
        assert (row["written_for"] != row["person"]) == (row["strategy"] == "wrong-person")
        if row["strategy"] == "A1":
            assert str(person.facets["Demographics.Work"]) in told
            assert told.count("\n- ") >= 4
            assert all(
                told.count(value) == 1 for value in facet_values({"": person.facets["Personality.Values"]})
            ), "told once"
        if row["strategy"] == "A2":
            leaves = [path for path in person.facets if path != "Name"]
            assert len(row["masked"]) == round(0.8 * len(leaves))
            shown = {line.strip().partition(":")[0] for line in told.splitlines()}
            left = set(leaves) - set(row["masked"])
            assert {path.split(".")[-1].replace("_", " ") for path in left} <= shown
            assert len([line for line in told.splitlines() if not line.endswith(":")]) == len(left)
        else:
            assert row["masked"] == []
        if row["parent"]:
            before = by_id[row["parent"]]
            assert before["strategy"] in {"improved": ("A2", "A3"), "degraded": ("A1", "A2")}[row["strategy"]]
            assert before["model"] == row["model"]
            assert products[row["id"]]["parents"] == [row["question"], row["parent"]]
            assert abs(len(row["text"]) - len(before["text"])) <= 0.1 * len(before["text"])
            allowed = ("better",) if row["strategy"] == "improved" else ("less-personal", "less-helpful")
            assert row["direction"] in allowed
    assert {row["direction"] for row in answers} == {None, "better", "less-personal", "less-helpful"}
    assert check_folder(out) == []
    assert "For A2 14.0 fields" in (out / "card.md").read_text(encoding="utf-8")
    assert run_build(tmp_path / "build.toml", out).done == []
    run_build(tmp_path / "build.toml", tmp_path / "again")
    assert rows(tmp_path / "again", "answers") == answers


def test_fewer_makers_are_drawn_and_another_take_masks_other_fields(tmp_path: Path, answered: Path) -> None:
    out = answered
    config = write_config(tmp_path, "makers = 1\nimproved = 0\ndegraded = 2", models=POOL)
    run_build(config, out)
    first = rows(out, "answers")
    assert len(first) == 12 * (4 + 2)
    assert len({row["model"] for row in first}) == 2, "each is drawn for some questions"
    assert all(len({r["model"] for r in first if r["question"] == row["question"]}) == 1 for row in first)
    built = run_build(config, out, redo="answers")
    assert built.done == ["answers"]
    masks = [
        [row["masked"] for row in found if row["strategy"] == "A2"] for found in (first, rows(out, "answers"))
    ]
    assert masks[0] != masks[1]


def test_markup_is_taken_away_and_a_name_is_refused(tmp_path: Path, answered: Path) -> None:
    assert without_marks("# Plan\n\n1. **Go** now\n- `rest`\n") == "Plan Go now rest"
    with pytest.raises(Unfit, match="must not say the name Anna"):
        answer_reader([ANNA], 4)("Well, Anna, go now.")
    assert answer_reader([ANNA], 4)("Annabel sits in Lindau.") == "Annabel sits in Lindau."
    with pytest.raises(Unfit, match="王小梅"):
        answer_reader([WEI], 8)("王小梅今天可以去走走")
    with pytest.raises(Unfit, match="about 40 words, not 4"):
        answer_reader([ANNA], 40)("Go for a walk.")
    with pytest.raises(Unfit, match="between 90 and 110 characters, not 111"):
        answer_reader([ANNA], 40, "a" * 100)("b" * 111)
    with pytest.raises(Unfit, match="same answer"):
        answer_reader([ANNA], 40, "a" * 100)("a" * 100)
    run_build(write_config(tmp_path, models=f'answerers = ["{MODELS}marked"]'), answered)
    texts = [row["text"] for row in rows(answered, "answers")]
    assert len(texts) >= 70, "of 72, of which a draw may miss one"
    assert not any("*" in text or "#" in text or "\n" in text for text in texts)


def test_a_rewrite_of_another_length_is_asked_for_again_and_then_rejected(
    tmp_path: Path, answered: Path
) -> None:
    run_build(write_config(tmp_path, models=f'answerers = ["{MODELS}wavering"]'), answered)
    strategies = {row["strategy"] for row in rows(answered, "answers")}
    assert strategies == {"A1", "A2", "A3", "wrong-person"}
    rejected = rows(answered, "answers", "rejected")
    assert len(rejected) == 24
    assert all("characters, not" in row["reason"] and row["by"] == f"{MODELS}wavering" for row in rejected)
    assert "| it must have between … and … characters, not … | 24 |" in (answered / "card.md").read_text(
        "utf-8"
    )


def test_features_nearest_by_embedding_are_told(tmp_path: Path) -> None:
    run_build(write_config(tmp_path, "features = 2", people=2), tmp_path / "out")
    products = {row["id"]: row["text"] for row in lines(tmp_path / "out" / "products.jsonl")}
    told = [products[row["given"]] for row in rows(tmp_path / "out", "answers") if row["strategy"] == "A1"]
    assert len(told) == 6
    assert all(2 <= text.count("\n- ") < 15 for text in told)


def test_of_somebody_without_preferences_the_core_is_told() -> None:
    person = Person(id="few", language="en", facets={"Name": "A B", "Demographics.Work": "Nurse"})
    told = bearing(person, np.ones((1, 2), np.float32), np.ones(2, np.float32), [], 4, "a")
    assert told.product.text.splitlines() == ["Demographics:", "  Work: Nurse"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dull", "says one and the same of everybody"),
        (
            "mumbling",
            r"none of the first 12 answers by .*mumbling could be used \(such as: it must have about 30 words",
        ),
    ],
)
def test_a_model_of_no_use_is_found_out(tmp_path: Path, answered: Path, name: str, sentence: str) -> None:
    config = write_config(tmp_path, models=f'answerers = ["{MODELS}{name}"]')
    with pytest.raises(UserError, match=sentence):
        run_build(config, answered)
    assert (answered / "steps" / "questions" / "done.json").is_file()


def test_a_model_that_often_fails_is_still_used(tmp_path: Path, answered: Path) -> None:
    config = write_config(tmp_path, "improved = 0\ndegraded = 0", models=f'answerers = ["{MODELS}patchy"]')
    run_build(config, answered)
    failed = [row["reason"] for row in rows(answered, "answers", "rejected")]
    assert 12 <= len(failed) <= 36, "enough of them to look like a model of no use by themselves"
    assert len(rows(answered, "answers")) == 48 - len(failed)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_templates_answer_without_a_model_and_say_so(tmp_path: Path, language: str) -> None:
    config = write_config(
        tmp_path,
        "improved = 2\ndegraded = 2",
        models='answerers = ["template"]',
        build=f'languages = ["{language}"]',
    )
    out = tmp_path / "out"
    run_build(config, out)
    answers = rows(out, "answers")
    assert {row["maker"] for row in answers} == {TEMPLATE}
    assert len(answers) > 12 * 7
    by_id = {row["id"]: row["text"] for row in answers}
    for row in answers:
        if row["parent"]:
            assert abs(len(row["text"]) - len(by_id[row["parent"]])) <= 0.1 * len(by_id[row["parent"]])
            assert row["text"] != by_id[row["parent"]]
    assert f"| answer | {TEMPLATE} |" in (out / "card.md").read_text(encoding="utf-8")
    assert check_folder(out) == []


def test_template_answers_have_the_length_asked_for_and_quote_what_is_known() -> None:
    for person in own_seeds():
        known = str(person.facets["Social"])
        text = template_answer(person.language, f"- {known}", 30, person.id) or ""
        assert known.rstrip(".。") in text
        assert 0.7 * 30 <= length_in_words(text) <= 1.3 * 30
        other = template_answer(
            person.language, f"- {known}", 30, person.id, before=text, direction="less-personal"
        )
        assert other is None or known.rstrip(".。") not in other


def test_masking_leaves_a_fifth_by_a_draw() -> None:
    person = next(seed for seed in own_seeds() if seed.language == "en")
    one, same, other = (mostly_masked(person, 0.8, key) for key in ("a", "a", "b"))
    assert one == same
    assert one.masked != other.masked
    leaves = [path for path in person.facets if path != "Name"]
    assert len(one.masked) == round(0.8 * len(leaves))
    few = Person(id="few", language="en", facets={"Name": "A B", "Social": "Alone"})
    assert mostly_masked(few, 0.8).product.text == "Social: Alone"
    named = Person(id="n", language="en", facets={"Demographics.Full_Name": "Ann Lee", "Social": "Alone"})
    assert mostly_masked(named, 0.8).product.text == "Social: Alone"
    told = bearing(named, np.ones((1, 2), np.float32), np.ones(2, np.float32), [], 4, "a")
    assert told.product.text == "- Social: Alone", "under whatever key a name stands"


def test_a_dry_run_counts_calls(tmp_path: Path) -> None:
    said = estimate(read_config(write_config(tmp_path, models=POOL)))
    assert f"answers: answers by {MODELS}other: about 48 calls" in said
    assert f"answers: rewrites by {MODELS}able: about 12 calls" in said
