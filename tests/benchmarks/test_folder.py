"""The benchmark folder: written, read back the same, and every fault named with file, line and field."""

import json
import re
from pathlib import Path

import pytest

import personafit as pf
from personafit.benchmarks import BenchmarkInfo, FolderBenchmark, check_folder, starter, write_folder
from tests.conftest import Command


def test_a_written_folder_reads_back_the_same(tmp_path: Path) -> None:
    write_folder(tmp_path / "copy", starter())
    copy, original = FolderBenchmark(tmp_path / "copy"), starter()
    assert list(copy.items()) == list(original.items())
    assert list(copy.people()) == list(original.people())
    assert list(copy.products()) == list(original.products())
    assert list(copy.gold()) == list(original.gold())
    assert copy.info == original.info
    assert check_folder(tmp_path / "copy") == []


def test_splits_and_settings_of_metrics_are_written(tmp_path: Path) -> None:
    benchmark = starter()
    people = [person.id for person in benchmark.people()]
    splits = {"train": people[:3], 'of "others"': people[3:]}
    metrics = {"chance": 0.25, "closed_values": {"size": ["small", "large"]}}
    benchmark.info = benchmark.info.model_copy(update={"splits": splits, "metrics": metrics})
    write_folder(tmp_path / "copy", benchmark)
    copy = FolderBenchmark(tmp_path / "copy")
    assert (copy.info.splits, copy.info.metrics) == (splits, metrics)


@pytest.mark.parametrize(
    ("file", "line", "change", "expected"),
    [
        (
            "people.jsonl",
            2,
            {"language": None},
            r"people.jsonl, line 2, field 'language' must be a text, not",
        ),
        ("people.jsonl", 2, {"id": "nadia"}, r"people.jsonl, line 2, field 'id': 'nadia' occurs twice"),
        (
            "items.jsonl",
            3,
            {"person": "nobody"},
            r"items.jsonl, line 3, field 'person': 'nobody' is not in people",
        ),
        (
            "items.jsonl",
            3,
            {"products": ["x"]},
            r"items.jsonl, line 3, field 'products': 'x' is not in products",
        ),
        (
            "items.jsonl",
            1,
            {"colour": "red"},
            r"items.jsonl, line 1, field 'colour' is not a field that is known here",
        ),
        ("gold.jsonl", 5, {"label": "7"}, r"gold.jsonl, line 5, field 'label': '7' is no index"),
        ("gold.jsonl", 5, {"item": "else"}, r"gold.jsonl, line 5, field 'item': 'else' is not in items"),
        (
            "products.jsonl",
            4,
            {"text": 3},
            r"products.jsonl, line 4, field 'text' must be a text, not",
        ),
    ],
)
def test_check_names_the_place(
    personafit: Command, tmp_path: Path, file: str, line: int, change: dict[str, object], expected: str
) -> None:
    write_folder(tmp_path, starter())
    lines = (tmp_path / file).read_text(encoding="utf-8").splitlines()
    lines[line - 1] = json.dumps({**json.loads(lines[line - 1]), **change})
    (tmp_path / file).write_text("\n".join(lines), encoding="utf-8")
    problems = check_folder(tmp_path)
    assert any(re.search(expected, problem) for problem in problems), problems
    done = personafit("data", "check", str(tmp_path), code=1)
    assert re.search(r"\d problems?\.", done.out)


def test_a_line_that_cannot_be_read_is_not_reported_again_by_those_that_name_it(tmp_path: Path) -> None:
    write_folder(tmp_path, starter())
    for file in ("items.jsonl", "people.jsonl"):
        whole = (tmp_path / file).read_text(encoding="utf-8")
        (tmp_path / file).write_text(whole.replace("{", '{"colour": 1, ', 1), encoding="utf-8")
        (fault,) = check_folder(tmp_path)
        assert f"{file}, line 1, field 'colour'" in fault
        (tmp_path / file).write_text(whole, encoding="utf-8")


def test_a_folder_says_what_it_lacks(tmp_path: Path) -> None:
    write_folder(tmp_path, starter())
    (tmp_path / "gold.jsonl").write_text("", encoding="utf-8")
    run = pf.evaluate(tmp_path, raters="rule:length", limit=4, store=tmp_path / "s.db", progress=False)
    assert any("gold.jsonl has no labels, so nothing is scored" in note for note in run.notes)
    items = (tmp_path / "items.jsonl").read_text(encoding="utf-8")
    (tmp_path / "items.jsonl").write_text(
        items.replace('{"id"', '{"kind": "dialogue", "id"'), encoding="utf-8"
    )
    with pytest.raises(pf.UserError, match=r"has no tasks\.jsonl, which dialogues are held about"):
        pf.evaluate(tmp_path, raters="rule:length", store=tmp_path / "s.db", progress=False)


def test_pairs_csv_becomes_a_benchmark_that_runs(personafit: Command, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(
        "person,person.Job,question,chosen,rejected,tier,team\n"
        'ann,nurse,"What, now?",Rest after the night shift,Go out,easy,x\n'
        "bob,cook,What now?,Taste the soup,Sleep,hard,y\n",
        encoding="utf-8",
    )
    personafit("data", "import", "pairs.csv", "--out", "mine")
    assert check_folder(tmp_path / "mine") == []
    items = list(FolderBenchmark(tmp_path / "mine").items())
    assert [item.slices for item in items] == [{"team": "x"}, {"team": "y"}]
    done = personafit("run", "mine", "--rater", "rule:length", "--json")
    results = json.loads(done.out)["results"]
    (total,) = (
        r
        for r in results
        if r["rater"] == "rule:length"
        and r["context"] == "profile"
        and not r["slice"]
        and r["metric"] == "accuracy"
    )
    assert (total["value"], total["n"], total["people"]) == (1.0, 2, 2)
    assert {tuple(r["slice"].items()) for r in results if r["metric"] == "accuracy"} >= {(("tier", "easy"),)}


def test_folders_that_say_view_and_views_are_read_and_keep_their_data_sets() -> None:
    said = {"name": "old", "version": "1"}
    old = BenchmarkInfo.model_validate({**said, "view": "memory", "controls": {"views": ["none"]}})
    new = BenchmarkInfo.model_validate({**said, "context": "memory", "controls": {"contexts": ["none"]}})
    assert old == new
    assert '"view":"memory"' in new.identity()
    assert '"views":["none"]' in new.identity()
    assert new.stored()["view"] == "memory"
