"""People: exact counts from a strong writer, rules, balance, a person's decisions, and what a weak writer leaves to the template."""

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks import open_benchmark
from personafit.build import Unfit, read_config
from personafit.build.candidates import (
    INTERESTS,
    LEAVES,
    OURS,
    CandidateSampler,
    elements,
    own_seeds,
)
from personafit.build.people import check_sentence, lines_reader
from tests.build.builds import lines, run_build, write_build

TEMPLATE = "template:people-1"
SECTION = "[people]\nquota = 8\ntraining = 4\nsimilarity = 1.0\n"


def test_a_strong_writer_gives_exact_counts_and_lineage(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_build(write_build(tmp_path, SECTION), out)
    people, training = lines(out / "people.jsonl"), lines(out / "steps/people/training_people.jsonl")
    assert (len(people), len(training)) == (8, 4)
    assert not {one["id"] for one in people} & {one["id"] for one in training}
    both = [*people, *training]
    for person in both:
        assert all(isinstance(person["facets"][leaf], str) for leaf in LEAVES)
        assert len(person["facets"][INTERESTS]) == 3
    profiles = [row for row in lines(out / "products.jsonl") if row["kind"] == "profile"]
    assert [row["about"] for row in profiles] == [one["id"] for one in people]
    assert TEMPLATE not in {row["maker"] for row in profiles}
    assert Counter(one["language"] for one in both)["en"] >= 5
    rejected = lines(out / "rejected.jsonl")
    assert all(row["reason"] and row["by"] for row in rejected)


def test_the_same_seed_makes_the_same_people_and_another_others(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run_build(write_build(tmp_path, SECTION), tmp_path / name)
    run_build(write_build(tmp_path, SECTION, 'languages = ["en", "zh"]\nseed = 5'), tmp_path / "c")
    texts = [(tmp_path / name / "people.jsonl").read_bytes() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


def test_whom_a_person_drops_is_replaced(tmp_path: Path) -> None:
    config, out = write_build(tmp_path, SECTION), tmp_path / "out"
    run_build(config, out)
    before = [one["id"] for one in lines(out / "people.jsonl")]
    queue = out / "review" / "people.jsonl"
    rows = lines(queue)
    assert {row["id"] for row in rows} >= set(before)
    for row in rows:
        row["decision"] = "drop" if row["id"] == before[0] else ""
    queue.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run_build(config, out)
    after = [one["id"] for one in lines(out / "people.jsonl")]
    assert before[0] not in after
    assert len(after) == 8
    assert lines(queue)[0].keys() >= {"decision", "id"}
    assert any(row["reason"] == "dropped in review" for row in lines(out / "rejected.jsonl"))
    assert run_build(config, out).done == [], "and it stays dropped"


def test_a_decision_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    config, out = write_build(tmp_path, SECTION), tmp_path / "out"
    (out / "review").mkdir(parents=True)
    (out / "review" / "people.jsonl").write_text('{"decision": "maybe", "id": "p000001"}\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"people.jsonl, line 1, field 'decision': 'maybe' is not drop"):
        run_build(config, out)


@pytest.mark.parametrize("writer", ["template", "python:strong_writer:answer"])
def test_what_no_writer_puts_is_the_templates_and_that_is_said(tmp_path: Path, writer: str) -> None:
    config, out = write_build(tmp_path, SECTION.replace("8", "5")), tmp_path / "out"
    (tmp_path / "strong_writer.py").write_text(
        'def answer(messages):\n    return "A" if "letter" in messages[0]["content"] or "字母" in messages[0]["content"] else "Yes."\n',
        encoding="utf-8",
    )
    text = config.read_text(encoding="utf-8").replace("python:strong_writer:answer", writer)
    config.write_text(text, encoding="utf-8")
    run_build(config, out)
    assert {product["maker"] for product in lines(out / "products.jsonl")} == {TEMPLATE}
    assert f"| profile | {TEMPLATE} |" in (out / "card.md").read_text(encoding="utf-8")


def test_rules_find_what_cannot_be_one_person() -> None:
    drawing = CandidateSampler(own_seeds(), {"en": elements("en")}, 0, 0)
    sound = next(one for one in map(drawing.draw, range(100)) if not list(one.contradictions()))
    tables = elements("en").tables
    child = replace(sound, age=12)
    assert any("age 12 does not go with" in fault for fault in child.contradictions())
    parent = next(one for one in tables["households"] if "children" in one.tags)
    assert list(replace(sound, age=22, household=parent).contradictions())
    meat = next(one for one in tables["food"] if "meat" in one.tags)
    vegetarian = next(one for one in tables["values"] if "vegetarian" in one.tags)
    odd = replace(sound, leaves={**sound.leaves, "Local_Life.Food_and_Drink": meat}, values=(vegetarian,))
    assert any(meat.text in fault and vegetarian.text in fault for fault in odd.contradictions())
    retired = next(one for one in tables["jobs"] if "retired" in one.tags)
    assert list(replace(sound, age=30, job=retired).contradictions())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_most_draws_hold_and_all_fields_of_work_come_up(language: str) -> None:
    drawing = CandidateSampler(own_seeds(), {language: elements(language)}, 3, 0)
    drawn = [drawing.draw(number) for number in range(600)]
    faulty = [one for one in drawn if list(one.contradictions())]
    assert 0 < len(faulty) < 300
    fields = Counter(one.job.field for one in drawn)
    assert max(fields.values()) - min(fields.values()) <= 1
    assert len({one.person({}).version for one in drawn}) == 600


def test_the_people_in_the_documentation_are_as_drawn() -> None:
    """Whoever changes the lists sees to the page: but for the fields marked with a star, it prints what is drawn."""
    page = Path(__file__).parents[3] / "docs" / "measurements" / "built-people.md"
    people = page.read_text(encoding="utf-8").split("\n## ")[1:]
    sampler = CandidateSampler(own_seeds(), {"en": elements("en"), "zh": elements("zh")}, 11, 0)
    drafts = [draft for draft in map(sampler.draw, range(13)) if not any(draft.contradictions())]
    assert {person.partition(",")[0] for person in people} == {draft.name for draft in drafts}
    printed = {person.partition(",")[0]: person for person in people}
    for draft in drafts:
        starred = printed[draft.name].count("*: ")
        absent = [one.text for one in draft.drawn if one.text not in printed[draft.name]]
        assert len(absent) == starred == 4, (draft.name, absent)


def test_seeds_are_ours_complete_and_nobody_of_the_starter_set() -> None:
    seeds = own_seeds()
    assert len(seeds) >= 20
    assert {seed.language for seed in seeds} == {"en", "zh"}
    known = {str(person.facets["Name"]) for person in open_benchmark("starter").people()}
    for seed in seeds:
        assert set(LEAVES) <= set(seed.facets)
        assert seed.facets["Name"] not in known


def test_replies_are_read_strictly() -> None:
    hint = "Sings in a choir that never wins anything"
    said = "Sings in a small choir that has never won."
    assert check_sentence(f' "{said}" ', "en", "Ada") == said
    for bad in (
        "",
        "Sings.",
        "唱歌唱歌唱歌唱歌唱歌唱歌唱歌唱歌唱歌唱歌唱歌",
        f"Ada {hint}",
        "Sings in a choir that never [wins]",
        "x" * 500,
    ):
        with pytest.raises(Unfit):
            check_sentence(bad, "en", "Ada")
    whole = lines_reader("en", ["Social", "Travel.Leisure"], "Ada")
    good = "Social: Sings in a choir that never wins\n\n- Travel.Leisure: Prefers short day trips to holidays"
    assert whole(good).splitlines()[1] == "Travel.Leisure: Prefers short day trips to holidays"
    for bad in (
        good + "\nSocial: Sings in a choir that never wins",
        good.splitlines()[0],
        "Here you go:\n" + good,
    ):
        with pytest.raises(Unfit):
            whole(bad)


def test_people_are_drawn_from_lists_of_ones_own(tmp_path: Path) -> None:
    ours = Path(OURS.format("en")).read_text(encoding="utf-8")
    own = re.sub(r'^(  \{text = ")(?=[^"]*", field = )', r"\1Zoo: ", ours, flags=re.MULTILINE)
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    sections = "[people]\nquota = 5\nfields = []\nsimilarity = 1.0\n"
    config = write_build(tmp_path, sections, 'elements = {en = "own.toml"}')
    run_build(config, tmp_path / "out")
    people = lines(tmp_path / "out" / "people.jsonl")
    assert all(one["facets"]["Demographics.Work"].startswith("Zoo: ") for one in people)
    for text, said in (
        (own.replace("households = [", "homesteads = ["), "needs a list 'households'"),
        (own.replace('gender = "f"', 'gender = "x"'), "there is no name of gender 'f' for the home"),
        (own.replace("ages = [24, 61]", "ages = 24", 1), "own.toml, jobs, 1, field 'ages'"),
        (own.replace("education = [", "education = 3\nothers = ["), "needs a list 'education'"),
    ):
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        with pytest.raises(UserError) as raised:
            read_config(config)
        assert said in str(raised.value)
        assert "own.toml" in str(raised.value)
