import json
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks import FolderBenchmark, check_folder, write_folder
from personafit.benchmarks.recentering import RelevanceLabels, open_relevance
from tests.benchmarks.recentering.world import Row, row, rows, write_world

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "recentering"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(),
    reason=f"the published relevance labels are not at {DATA}: NOT CHECKED AGAINST REAL DATA",
)


def test_reads_people_items_gold_and_votes(tmp_path: Path) -> None:
    labels = RelevanceLabels(write_world(tmp_path, rows()))
    people = list(labels.people())
    items = list(labels.items())
    gold = list(labels.gold())
    assert len(people) == 8
    assert people[0].attributes[0].text == "The user likes tea of kind 0."
    assert len(items) == len({item.id for item in items}) == 80
    assert len({item.group for item in items}) == 16
    assert {judgment.rater for judgment in gold} == {"majority", "gpt-5.4"}
    assert sum(j.label == "yes" for j in gold if j.rater == "majority") == 16
    assert sum(j.label == "yes" for j in gold if j.rater == "gpt-5.4") == 32


def test_votes_of_models_are_no_part_of_what_raters_are_shown(tmp_path: Path) -> None:
    labels = RelevanceLabels(write_world(tmp_path, rows()))
    shown = [*labels.people(), *labels.products(), *labels.items()]
    assert not any("gpt-5.4" in record.model_dump_json() for record in shown)


def test_reasons_are_the_parents_of_attributes(tmp_path: Path) -> None:
    products = {product.id: product for product in RelevanceLabels(write_world(tmp_path, rows())).products()}
    attributes = [product for product in products.values() if product.kind == "attribute"]
    assert len(attributes) == 40
    assert all(products[one.parents[0]].text.startswith("They said so") for one in attributes)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("user", None, "must be a text, not null"),
        ("user", "", "empty"),
        ("prompt", 7, "must be a text, not a number"),
        ("prompt_index", None, "must be a text, not null"),
        ("prompt_index", True, "must be a text, not true or false"),
        ("attribute", None, "must be a text, not null"),
        ("attribute", ["a"], "must be a text, not a list"),
        ("reason", 3, "must be a text, not a number"),
        ("relevant", "yes", "must be true or false, not"),
        ("relevant", 1, "must be true or false, not"),
        ("model_votes", ["gpt"], "must be an object, not a list"),
        ("model_votes", {"gpt": "yes"}, "must be true or false, not"),
        ("prompt", "Another question?", "another prompt on line 1"),
    ],
)
def test_a_bad_field_is_named_with_file_and_line(
    tmp_path: Path, field: str, value: object, said: str
) -> None:
    def spoil(lines: list[Row]) -> None:
        lines[4][field] = value

    labels = RelevanceLabels(write_world(tmp_path, rows(), spoil))
    with pytest.raises(UserError, match=rf"relevance\.jsonl, line 5, field '{field}.*{said}"):
        list(labels.items())


def test_users_and_prompts_may_be_numbers(tmp_path: Path) -> None:
    def number(lines: list[Row]) -> None:
        for line in lines:
            line["user"], line["prompt_index"] = int(str(line["user"]).strip("u")), str(line["prompt_index"])

    labels = RelevanceLabels(write_world(tmp_path / "numbered", rows(), number))
    named = RelevanceLabels(write_world(tmp_path / "named", rows()))
    assert {person.id for person in labels.people()} == {
        str(int(one.id.strip("u"))) for one in named.people()
    }
    assert len(list(labels.items())) == len(list(named.items()))


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    folder = write_world(tmp_path, rows())
    with (folder / "relevance.jsonl").open("a") as file:
        file.write('{"user": "u00", "prom')
    with pytest.raises(UserError, match="line 81 is not JSON"):
        list(RelevanceLabels(folder).items())


def test_pairs_without_a_majority_are_kept_and_said(tmp_path: Path) -> None:
    labels = RelevanceLabels(write_world(tmp_path, [*rows(), row(0, 0, "The user paints.", relevant=None)]))
    assert "Pairs without a majority, judged and not scored: 1." in labels.notes()
    assert len(list(labels.items())) == 81
    assert sum(judgment.rater == "majority" for judgment in labels.gold()) == 80


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is empty"):
        list(RelevanceLabels(write_world(tmp_path, [])).items())


def test_data_must_be_named_and_hold_relevance(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"needs --data FOLDER .* --data starter"):
        open_relevance(None)
    with pytest.raises(UserError, match="holds no data of recentering"):
        open_relevance(tmp_path)


def test_the_file_can_be_named_in_place_of_its_folder(tmp_path: Path) -> None:
    folder = write_world(tmp_path, rows())
    named = open_relevance(folder / "relevance.jsonl")
    assert list(named.items()) == list(open_relevance(folder).items())


def test_written_as_a_folder_it_reads_the_same(tmp_path: Path) -> None:
    labels = RelevanceLabels(write_world(tmp_path / "published", rows()))
    write_folder(tmp_path / "folder", labels)
    assert check_folder(tmp_path / "folder") == []
    folder = open_relevance(tmp_path / "folder")
    assert isinstance(folder, FolderBenchmark)
    assert [item.model_dump() for item in folder.items()] == [item.model_dump() for item in labels.items()]
    assert [gold.label for gold in folder.gold()] == [gold.label for gold in labels.gold()]


def test_a_folder_without_relevance_items_says_so(tmp_path: Path) -> None:
    write_folder(tmp_path / "folder", RelevanceLabels(write_world(tmp_path / "published", rows())))
    items = tmp_path / "folder" / "items.jsonl"
    changed = [json.loads(line) | {"kind": "note"} for line in items.read_text().splitlines()]
    items.write_text("".join(json.dumps(one) + "\n" for one in changed))
    with pytest.raises(UserError, match="no items of kind 'relevance'"):
        open_relevance(tmp_path / "folder")


@needs_data
def test_the_published_labels() -> None:
    labels = RelevanceLabels(DATA)
    gold = [judgment for judgment in labels.gold() if judgment.rater == "majority"]
    assert len(gold) == 3019
    assert sum(judgment.label == "yes" for judgment in gold) == 554
    assert len(list(labels.people())) == 44
    assert labels.notes() == [
        "3,019 of the 3,969 labelled pairs are here, on 31 of 41 prompts; published scores are over other sets."
    ]
