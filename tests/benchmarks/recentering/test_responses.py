"""Pairs of answers as published and in a folder: what is read, and what is refused with file, line and field."""

from pathlib import Path

import orjson
import pytest

from personafit import UserError
from personafit.benchmarks.responses import PAIRS, ResponsePairs, open_prompts, open_responses
from tests.preference_world import write_pairs, write_preferences
from tests.scripted import write_lines

SHARED = Path(__file__).parents[4] / "shared" / "data" / "recentering"


def test_published_pairs_keep_only_attributes_people_called_relevant(tmp_path: Path) -> None:
    pairs = ResponsePairs(write_pairs(tmp_path / "data"))
    items = list(pairs.items())
    texts = {product.id: product for product in pairs.products()}
    assert len(items) == 16
    assert not list(pairs.gold())
    first = items[0]
    assert [texts[one].kind for one in first.products] == ["answer", "answer", "attribute", "attribute"]
    assert first.slices["generator"] == "gpt-9"
    assert texts[first.products[1]].maker == "gpt-9"
    assert [len(item.products) for item in items if item.person == "u1"] == [3] * 4
    people = {person.id: [one.text for one in person.attributes] for person in pairs.people()}
    assert people["u1"] == ["The user keeps bees.", "The user lives in town 1.", "The user likes jazz."]


def test_a_pair_without_a_relevant_attribute_is_left_out_and_said(tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "data", users=1)
    lines = (folder / PAIRS).read_text().replace('"is_relevant": true', '"is_relevant": false').splitlines()
    whole = (folder / PAIRS).read_text().splitlines()
    (folder / PAIRS).write_text("\n".join([lines[0], *whole[1:]]), encoding="utf-8")
    pairs = ResponsePairs(folder)
    assert len(list(pairs.items())) == 3
    assert any("none of their attributes relevant: 1." in note for note in pairs.notes())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"generic": ""}, "line 1, field 'generic' is empty"),
        ({"prompt_index": None}, "field 'prompt_index' must be a text, not null"),
        ({"attributes": {}}, "field 'attributes' must be a list, not an object"),
        (
            {"attributes": [{"attribute": "x", "is_relevant": 1}]},
            "attributes.0.is_relevant' must be true or false",
        ),
        ({"attributes": [{"text": "x"}]}, "attributes.0.attribute' is missing"),
    ],
)
def test_faults_name_file_line_and_field(tmp_path: Path, change: dict[str, object], words: str) -> None:
    folder = write_pairs(tmp_path / "data", users=1)
    row = orjson.loads((folder / PAIRS).read_text().splitlines()[0])
    write_lines(folder / PAIRS, [{**row, **change}])
    with pytest.raises(UserError, match=words):
        list(ResponsePairs(folder).items())


def test_the_same_pair_twice_is_refused(tmp_path: Path) -> None:
    folder = write_pairs(tmp_path / "data", users=1)
    lines = (folder / PAIRS).read_text().splitlines()
    (folder / PAIRS).write_text("\n".join([*lines, lines[0]]), encoding="utf-8")
    with pytest.raises(UserError, match="same user, prompt and generator as line 1"):
        list(ResponsePairs(folder).items())


def test_a_folder_brings_gold_votes_and_who_wrote_the_answers(tmp_path: Path) -> None:
    folder = write_preferences(tmp_path / "little")
    vote = {
        "item": "i0",
        "question": "preference",
        "target": "bees",
        "rater": "ann",
        "label": "5",
        "value": 5,
    }
    write_lines(folder / "votes.jsonl", [vote, {**vote, "rater": "bot"}, {**vote, "label": "4", "value": 4}])
    write_lines(folder / "raters.jsonl", [{"fingerprint": "bot", "name": "bot", "kind": "llm"}])
    opened = open_responses(folder)
    assert {item.slices["generator"] for item in opened.items()} == {"writer"}
    votes = [row for row in opened.gold() if (row.extra or {}).get("voter")]
    target = next(iter(opened.items())).products[2]
    found = {(row.rater, (row.extra or {})["voter"], row.label, row.target) for row in votes}
    assert found == {("ann", "human", "4", target), ("bot", "llm", "5", target)}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, r"response_pairs\.jsonl"),
        ("nowhere", "there is no such folder"),
        ("pairs.zip", "is an archive; unpack it"),
    ],
)
def test_no_data_is_said(tmp_path: Path, data: str | None, words: str) -> None:
    (tmp_path / "pairs.zip").write_bytes(b"PK")
    with pytest.raises(UserError, match=words):
        open_responses(None if data is None else tmp_path / data)


def test_prompts_of_pairs_and_of_preferences(tmp_path: Path) -> None:
    prompts = open_prompts(write_pairs(tmp_path / "data"))
    assert len(prompts.situations) == 8
    one = prompts.situations["recentering/u1/0"]
    assert len(one.known) == 3
    assert one.relevant == ("The user keeps bees.",)
    little = open_prompts(write_preferences(tmp_path / "little"))
    assert {situation.relevant for situation in little.situations.values()} == {("The user keeps bees.",)}


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data/recentering is not here")
def test_the_published_pairs_are_read_whole() -> None:
    pairs = ResponsePairs(SHARED)
    items = list(pairs.items())
    assert len(items) == 238
    assert sum(len(item.products) - 2 for item in items) == 1108
    assert len(open_prompts(SHARED).situations) == 119


def test_lists_whose_ids_begin_alike_stay_apart(tmp_path: Path) -> None:
    """As in docs/reference/folder.md, where items are q1/a1, q1/a2: two people with one question, and two questions of one."""
    asked = [("ann", "What now?"), ("bob", "What now?"), ("bob", "And then?")]
    write_lines(tmp_path / "people.jsonl", [{"id": name, "language": "en"} for name in ("ann", "bob")])
    texts = [{"id": f"a{n}", "kind": "attribute", "text": f"The user likes {n}."} for n in range(3)]
    write_lines(tmp_path / "products.jsonl", texts)
    items = [
        {"id": f"q1/{n}", "kind": "relevance", "person": who, "prompt": prompt, "products": [f"a{n}"]}
        for n, (who, prompt) in enumerate(asked)
    ]
    write_lines(tmp_path / "items.jsonl", items)
    gold = [{"item": f"q1/{n}", "question": "relevance", "rater": "author", "label": "yes"} for n in range(3)]
    write_lines(tmp_path / "gold.jsonl", gold)
    (tmp_path / "benchmark.toml").write_text('name = "mine"\nversion = "1"\n', encoding="utf-8")
    situations = open_prompts(tmp_path).situations
    assert [(one.person, one.prompt) for one in situations.values()] == asked
    assert all(name == one.id for name, one in situations.items())
