"""People who are given: a CSV, a people.jsonl, published folders; and how drawn people differ."""

import json
from collections import Counter
from pathlib import Path

import pytest

from personafit import UserError
from personafit.build import estimate, read_config
from personafit.build.candidates import CandidateSampler, elements, own_seeds
from personafit.build.diversity import diversity
from personafit.people import Person
from tests.build.builds import lines, run_build, write_build
from tests.build.questions.asking import ASKER

SHARED = Path(__file__).parents[4] / "shared" / "data"
ROWS = "id,language,Demographics.Work,Likes,Habit\n" + "".join(
    f'n{n},en,Nurse {n},"tea; rye bread {n}",Walks the harbour wall number {n} every evening\n'
    for n in range(6)
)
REST = """[memories]
per_person = 6
sampled = 2
features = 2
[questions]
specific = 3
general = 0
similarity = 1.0
"""


def build_from(folder: Path, given: str, quota: int, languages: str = '["en"]', more: str = REST) -> Path:
    section = f'[people]\nquota = {quota}\ntraining = 1\ngiven = "{given}"\n'
    config = write_build(folder, section + more, f"languages = {languages}")
    (folder / "strong_writer.py").write_text(ASKER, encoding="utf-8")
    return config


def test_people_of_a_csv_get_memories_and_questions(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(ROWS, encoding="utf-8")
    config, out = build_from(tmp_path, "own.csv", 4), tmp_path / "out"
    run_build(config, out)
    people = lines(out / "people.jsonl")
    assert len(people) == 4
    assert {one["id"] for one in people} < {f"n{n}" for n in range(6)}
    first = people[0]
    assert first["facets"]["Likes"] == ["tea", f"rye bread {first['id'][1:]}"]
    assert len(first["memories"]) == 8, "six of their own, and a quarter as many of other people's"
    own = {row["id"]: row["own"] for row in lines(out / "steps/memories/own.jsonl")}
    assert len(own[first["id"]]) == 6
    evidence = {note for one in first["attributes"] for note in one["evidence"]}
    assert evidence <= set(own[first["id"]]), "features rest on a person's own memories"
    asked = [row for row in lines(out / "steps/questions/questions.jsonl") if row["person"] == first["id"]]
    assert len(asked) == 3
    assert len({name for row in asked for name in row["features"]}) == 6, (
        "each question has features of its own"
    )
    card = (out / "card.md").read_text(encoding="utf-8")
    assert "| 8.0 | 6.0 | 2.0 |" in card
    assert "Its people were given: own.csv." in card
    assert "simulated" not in card.partition("## ")[0]
    assert "people: no model call" in estimate(read_config(config))
    queue = out / "review" / "people.jsonl"
    rows = [{**row, "decision": "drop" if row["id"] == first["id"] else ""} for row in lines(queue)]
    queue.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run_build(config, out)
    assert first["id"] not in {one["id"] for one in lines(out / "people.jsonl")}


def test_a_folder_of_ones_own_keeps_its_memories(tmp_path: Path) -> None:
    memories = [{"id": f"a{n}", "text": f"Bought a kite number {n} at the pier"} for n in range(7)]
    rows = [
        {"id": f"q{n}", "language": "en", "facets": {"Likes": "kites and wind"}, "memories": memories}
        for n in range(3)
    ]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = build_from(tmp_path, "people.jsonl", 2, more=REST.replace("sampled", "noise = 0\nsampled"))
    run_build(config, tmp_path / "out")
    person = lines(tmp_path / "out" / "people.jsonl")[0]
    assert {one["text"] for one in person["memories"]} == {one["text"] for one in memories}
    assert "These memories are clean" in (tmp_path / "out" / "card.md").read_text(encoding="utf-8")


def test_who_has_too_few_memories_keeps_them_and_gets_more(tmp_path: Path) -> None:
    own = [{"id": "a0", "text": "Bought a kite at the pier"}]
    rows = [
        {"id": f"q{n}", "language": "en", "facets": {"Likes": "kites and wind"}, "memories": own}
        for n in range(3)
    ]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = build_from(tmp_path, "people.jsonl", 2, more=REST.replace("sampled", "noise = 0.01\nsampled"))
    run_build(config, tmp_path / "out")
    assert "These memories are clean" in (tmp_path / "out" / "card.md").read_text(encoding="utf-8"), (
        "too little for one"
    )
    said = {one["text"] for one in lines(tmp_path / "out" / "people.jsonl")[0]["memories"]}
    assert own[0]["text"] in said
    assert len(said) == 7


def test_features_that_serve_too_many_questions_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(ROWS, encoding="utf-8")
    alike = ASKER.replace("sha256(asked.encode())", 'sha256("".join(sorted(asked)).encode())')
    config = build_from(tmp_path, "own.csv", 2, more=REST.replace("sampled = 2", "sampled = 6"))
    (tmp_path / "strong_writer.py").write_text(alike, encoding="utf-8")
    run_build(config, tmp_path / "out")
    card = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "One feature serves at most 100%" in card
    assert "**That is more than a third**" in card


@pytest.mark.parametrize(
    ("given", "quota", "sentence"),
    [
        ("nowhere.csv", 2, "there is no file or folder"),
        ("own.csv", 9, "are more than the 6 people of"),
        ("twice.csv", 2, "line 3, field 'id' is there twice"),
        ("zh.csv", 1, "has nobody in en"),
    ],
)
def test_what_is_wrong_with_given_people_is_a_sentence(
    tmp_path: Path, given: str, quota: int, sentence: str
) -> None:
    (tmp_path / "own.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "twice.csv").write_text("id,Likes\na,tea and rain\na,tea and rain\n", encoding="utf-8")
    (tmp_path / "zh.csv").write_text("id,Likes\na,喜欢喝茶也喜欢下雨\n", encoding="utf-8")
    with pytest.raises(UserError, match=sentence):
        read_config(build_from(tmp_path, given, quota))


@pytest.mark.parametrize(("name", "languages"), [("personafeedback", '["zh"]'), ("personalens", '["en"]')])
def test_published_people_get_memories_and_questions(tmp_path: Path, name: str, languages: str) -> None:
    if not (SHARED / name).is_dir():
        pytest.skip(f"{name} is not beside the project")
    run_build(build_from(tmp_path, str(SHARED / name), 2, languages), tmp_path / "out")
    people = lines(tmp_path / "out" / "people.jsonl")
    assert len(people) == 2
    assert all(one["memories"] and one["attributes"] for one in people)
    assert len(lines(tmp_path / "out/steps/questions/questions.jsonl")) == 6


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_thousand_drawn_people_share_no_sentence_more_than_three_times(
    tmp_path: Path, language: str
) -> None:
    sections = "[people]\nquota = 1000\nfields = []\nsimilarity = 1.0\n"
    config = write_build(tmp_path, sections, f'languages = ["{language}"]')
    text = config.read_text(encoding="utf-8").replace("python:strong_writer:answer", "template")
    config.write_text(text, encoding="utf-8")
    run_build(config, tmp_path / "out")
    people = [Person.model_validate(row) for row in lines(tmp_path / "out" / "people.jsonl")]
    assert len(people) == 1000
    said: dict[str, Counter[str]] = {}
    for person in people:
        for path, value in person.facets.items():
            if path not in ("Name", "Demographics.Age", "Demographics.Gender", "Personality.MBTI"):
                said.setdefault(path, Counter()).update(value if isinstance(value, list) else [str(value)])
    assert len(said) == 15
    assert {path: counts.most_common(1)[0] for path, counts in said.items() if max(counts.values()) > 3} == {}
    assert not any("{" in text for counts in said.values() for text in counts)
    found = diversity(people[:60])
    assert found.clusters > 40
    assert found.spread > 0.35


def test_a_seed_makes_the_same_person_and_gaps_are_checked(tmp_path: Path) -> None:
    one, same = (CandidateSampler(own_seeds(), {"en": elements("en")}, 7, 0).draw(3) for _ in range(2))
    assert one == same
    ours = elements("en").path.read_text(encoding="utf-8")
    for old, new, sentence in (
        ("pet = [", "pets = [", "there is no list 'pet' in"),
        ('pet = ["no pets"', 'pet = ["{pet}"', "refer to each other"),
    ):
        (tmp_path / "own.toml").write_text(ours.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(UserError, match=sentence):
            read_config(write_build(tmp_path, "[people]\n", 'elements = {en = "own.toml"}'))
