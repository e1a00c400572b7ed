"""`personafit data`: list, check, import, and judgments as JSONL, CSV and Parquet that say the same."""

import json
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from personafit.benchmarks import (
    BENCHMARKS,
    FolderBenchmark,
    ImportedPairs,
    check_folder,
    starter,
    write_folder,
)
from tests.scripted import invoke, simple_pairs, write_lines, write_pairs

PEOPLE = 3
FORMULA = '=HYPERLINK("http://evil.example","click")'


@pytest.fixture
def world(tmp_path: Path) -> Path:
    write_folder(tmp_path / "mine", ImportedPairs(write_pairs(tmp_path / "pairs.csv", simple_pairs(PEOPLE))))
    return tmp_path


def test_list_names_every_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, tmp_path, "data", "list")
    lines = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in lines]
    assert names[:2] == ["starter", "personafeedback"]
    prefeval = next(line for line in lines if line.startswith("prefeval "))
    assert "PrefEval: which of four answers follows the person's preference?" in prefeval
    assert "needs --data FOLDER with benchmark_dataset/" in prefeval
    assert "answers" in names


def test_check_counts_what_is_there_and_exits_1_on_a_fault(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, world, "data", "check", "mine", "--json")
    body = json.loads(capsys.readouterr().out)
    assert (body["problems"], body["counts"]) == ([], {"people": PEOPLE, "items": PEOPLE, "gold": PEOPLE})
    invoke(monkeypatch, world, "data", "check", "starter")
    assert capsys.readouterr().out.rstrip().endswith("nothing wrong.")
    path = world / "mine" / "gold.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("{", "", 1), encoding="utf-8")
    invoke(monkeypatch, world, "data", "check", "mine", "--json", code=1)
    (problem, *_) = json.loads(capsys.readouterr().out)["problems"]
    assert "gold.jsonl, line 1 is not JSON" in problem
    invoke(monkeypatch, world, "data", "check", "nowhere", code=2)
    assert "There is no benchmark 'nowhere'" in capsys.readouterr().err


def test_check_counts_items_of_every_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A study may hold no choice at all, and is no empty folder for that."""
    study = tmp_path / "study"
    study.mkdir()
    (study / "benchmark.toml").write_text('name = "study"\nversion = "1"\n', encoding="utf-8")
    write_lines(study / "people.jsonl", [{"id": "ann", "language": "en"}])
    texts = [
        ("attribute", "Ann keeps bees."),
        ("answer", "Plant beans."),
        ("answer", "Plant clover for the bees."),
    ]
    write_lines(
        study / "products.jsonl",
        [{"id": f"t{n}", "kind": kind, "text": text} for n, (kind, text) in enumerate(texts)],
    )
    about = {"person": "ann", "prompt": "What can I plant in May?"}
    write_lines(
        study / "items.jsonl",
        [
            {**about, "id": "r", "kind": "relevance", "products": ["t0"]},
            {**about, "id": "p", "kind": "preference", "products": ["t1", "t2", "t0"]},
        ],
    )
    write_lines(
        study / "gold.jsonl",
        [
            {"item": "r", "question": "relevance", "rater": "author", "label": "yes", "value": 1},
            {"item": "p", "question": "preference", "rater": "author", "label": "4", "value": 4},
        ],
    )
    invoke(monkeypatch, tmp_path, "data", "check", "study")
    line = capsys.readouterr().out.splitlines()[-1]
    assert line == "1 people, 2 items (1 relevance, 1 preference), 2 gold: nothing wrong."
    invoke(monkeypatch, tmp_path, "data", "check", "study", "--json")
    body = json.loads(capsys.readouterr().out)
    assert body["counts"] == {"people": 1, "items": 2, "gold": 2}
    assert body["kinds"] == {"relevance": 1, "preference": 1}
    assert list(FolderBenchmark(study).items()) == [], "a run of choices takes none of them"
    assert [item.id for item in FolderBenchmark(study, kind=None).items()] == ["r", "p"]


def test_import_makes_a_folder_named_after_the_file(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, world, "data", "import", "pairs.csv")
    assert check_folder(world / "pairs") == []
    assert len(list(FolderBenchmark(world / "pairs").items())) == PEOPLE
    assert "try: personafit run pairs" in capsys.readouterr().out
    invoke(monkeypatch, world, "data", "import", "missing.csv", code=2)
    assert "missing.csv cannot be read" in capsys.readouterr().err
    invoke(monkeypatch, world, "data", "import", "pairs.csv", "--out", "pairs.csv", code=2)
    assert "pairs.csv cannot be written" in capsys.readouterr().err


def test_convert_writes_a_benchmark_as_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pairs(tmp_path / "pairs.csv", simple_pairs(PEOPLE))
    monkeypatch.setitem(BENCHMARKS, "mine", lambda _data: ImportedPairs(tmp_path / "pairs.csv"))
    invoke(monkeypatch, tmp_path, "data", "convert", "mine", "--out", "folder")
    assert check_folder(tmp_path / "folder") == []
    assert len(list(FolderBenchmark(tmp_path / "folder").items())) == PEOPLE


def test_a_folder_is_converted_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Conversations, labels of memories, the card and items of every kind go along, not the choices alone."""
    invoke(monkeypatch, tmp_path, "data", "convert", "starter", "--out", "copy")
    assert check_folder(tmp_path / "copy") == []
    copied = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in starter().folder.iterdir()}
    assert {"conversations.jsonl", "relevant_memories.jsonl", "card.md"} <= set(copied)
    (tmp_path / "copy" / "notes.txt").write_text("mine", encoding="utf-8")
    invoke(monkeypatch, tmp_path, "data", "convert", "copy", "--out", "again")
    assert not (tmp_path / "again" / "notes.txt").exists(), "what is no part of a folder stays behind"
    (tmp_path / "copy" / "people.jsonl").write_text("no JSON\n", encoding="utf-8")
    invoke(monkeypatch, tmp_path, "data", "convert", "copy", "--out", "third", code=2)
    assert "people.jsonl, line 1" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()


def test_a_run_reads_back_the_same_from_all_three_formats(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invoke(monkeypatch, world, "run", "mine")
    for ending in ("jsonl", "csv", "parquet"):
        invoke(monkeypatch, world, "data", "convert", "last", "--out", f"out/judgments.{ending}")
    assert "Wrote 18 judgments to out/judgments.parquet." in capsys.readouterr().out
    parquet = pl.read_parquet(world / "out" / "judgments.parquet")
    assert len(parquet) == PEOPLE * 3 * 2, "people × contexts × rules"
    assert set(parquet["rater"]) == {"rule:length", "rule:overlap"}
    assert set(parquet["status"]) == {"ok"}
    assert set(parquet["person"]) == {f"person{number}" for number in range(PEOPLE)}
    assert set(parquet["prompt"]) == {"Question 0?"}
    assert parquet["gold"].null_count() == 0
    columns = ["item", "person", "prompt", "gold", "context", "rater", "status", "label", "value"]
    expected = parquet.select(columns).sort(columns)
    jsonl = pl.read_ndjson(world / "out" / "judgments.jsonl", infer_schema_length=None)
    assert_frame_equal(jsonl.select(columns).sort(columns), expected)
    csv = pl.read_csv(
        world / "out" / "judgments.csv", schema_overrides={"label": pl.String, "gold": pl.String}
    )
    assert_frame_equal(csv.select(columns).sort(columns), expected)
    assert sorted(path.name for path in (world / "out").iterdir()) == [
        "judgments.csv",
        "judgments.jsonl",
        "judgments.parquet",
    ], "nothing half-written is left"


def test_a_text_that_a_spreadsheet_would_run_is_made_inert_in_csv_only(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failed asks' details carry texts of others: here the key of an item whose id is a formula."""
    rows = simple_pairs(PEOPLE)
    for number, row in enumerate(rows):
        row["id"] = FORMULA if number == 0 else f"+{number}"
    write_folder(world / "=evil", ImportedPairs(write_pairs(world / "=evil.csv", rows)))
    for name in ("items.jsonl", "gold.jsonl"):  # the folder's name is plain; its ids may be anything
        text = (world / "=evil" / name).read_text(encoding="utf-8")
        (world / "=evil" / name).write_text(text.replace('"evil/', '"=evil/'), encoding="utf-8")
    invoke(monkeypatch, world, "run", "=evil")
    for ending in ("csv", "parquet"):
        invoke(monkeypatch, world, "data", "convert", "last", "--out", f"judgments.{ending}")
    ids = set(pl.read_parquet(world / "judgments.parquet")["item"])
    assert all(name.startswith("=") for name in ids)
    frame = pl.read_csv(world / "judgments.csv", infer_schema=False)
    assert set(frame["item"]) == {f"'{name}" for name in ids}
    for cell in (cell for row in frame.rows() for cell in row if cell):
        assert cell[0] not in "=+@\t\r", cell
        assert cell[0] != "-" or float(cell) < 0, "a negative number is a number"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("last", "--out", "judgments.xlsx"), "use one of .jsonl, .csv, .parquet"),
        (("nothing", "--out", "judgments.csv"), "There is no run 'nothing'"),
        (("last", "--out", "pairs.csv/judgments.csv"), "cannot be written"),
        (("nothing", "--out", "folder"), "There is no benchmark 'nothing'"),
    ],
)
def test_what_cannot_be_converted_is_one_sentence(
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    invoke(monkeypatch, world, "run", "mine", "--limit", "1")
    invoke(monkeypatch, world, "data", "convert", *arguments, code=2)
    assert sentence in capsys.readouterr().err


def test_a_corrected_text_under_the_same_id_is_judged_anew(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder may name its products as it likes; what counts is what they say."""

    def accuracy() -> float:
        invoke(monkeypatch, world, "run", "mine", "--json", "--context", "none")
        records = json.loads(capsys.readouterr().out)["results"]
        (found,) = (r for r in records if (r["rater"], r["metric"]) == ("rule:length", "accuracy"))
        return float(found["value"])

    path = world / "mine" / "products.jsonl"
    products = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert accuracy() == 1.0
    for product in products:
        product["text"] = product["text"][:2] if "fitting" in product["text"] else product["text"]
    write_lines(path, products)
    assert check_folder(world / "mine") == []
    assert accuracy() == 0.0
