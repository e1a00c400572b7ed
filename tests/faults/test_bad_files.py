"""Bad files, names and places: one sentence that names file, line and field, exit code 2, and nothing judged is lost.

Most cases call the command line within this process, which is fast; the way out through a real process is tested too.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from personafit.benchmarks import RunConfig
from tests.faults.world import (
    Command,
    answers,
    carry_out,
    personafit,
    sentences,
    write_benchmark,
    write_lines,
)

Fault = Callable[[Path], object]


def edit(file: str, line: int, **change: object) -> Fault:
    """Change fields of a line; None takes a field away."""

    def apply(folder: Path) -> None:
        rows = [json.loads(text) for text in (folder / file).read_text(encoding="utf-8").splitlines()]
        rows[line - 1] = {k: v for k, v in {**rows[line - 1], **change}.items() if v is not None}
        write_lines(folder / file, rows)

    return apply


def replace(file: str, line: int, data: bytes) -> Fault:
    """Put other bytes in place of a line."""

    def apply(folder: Path) -> None:
        lines = (folder / file).read_bytes().splitlines()
        lines[line - 1] = data
        (folder / file).write_bytes(b"\n".join(lines))

    return apply


def whole(file: str, data: bytes) -> Fault:
    """Put other bytes in place of a file."""
    return lambda folder: (folder / file).write_bytes(data)


FOLDER_FAULTS: dict[str, tuple[Fault, str]] = {
    "missing file": (
        lambda f: (f / "gold.jsonl").unlink(),
        "village is not a benchmark folder: gold.jsonl is missing",
    ),
    "bad TOML": (whole("benchmark.toml", b"name = \n"), "village/benchmark.toml is not TOML: "),
    "TOML in Latin-1": (
        whole("benchmark.toml", b'name = "caf\xe9"\n'),
        "village/benchmark.toml is not TOML: ",
    ),
    "no version": (
        whole("benchmark.toml", b'name = "x"\n'),
        "village/benchmark.toml, field 'version' is missing",
    ),
    "not JSON": (replace("items.jsonl", 3, b"{oops"), "village/items.jsonl, line 3 is not JSON"),
    "cut off": (replace("gold.jsonl", 12, b'{"item": "wor'), "village/gold.jsonl, line 12 is not JSON"),
    "a list": (
        replace("people.jsonl", 2, b"[1]"),
        "village/people.jsonl, line 2 must be a JSON object, not a list",
    ),
    "invalid UTF-8": (
        replace("products.jsonl", 2, b'{"text": "\xff\xfe"}'),
        "village/products.jsonl, line 2 is not UTF-8 (byte 10 cannot be read)",
    ),
    "wrong type": (
        edit("items.jsonl", 2, prompt=7),
        "village/items.jsonl, line 2, field 'prompt' must be a text, not",
    ),
    "missing field": (
        edit("people.jsonl", 1, language=None),
        "village/people.jsonl, line 1, field 'language' is missing",
    ),
    "misspelt field": (
        edit("items.jsonl", 1, promt="x"),
        "village/items.jsonl, line 1, field 'promt' is not a field that is known here",
    ),
    "empty prompt": (
        edit("items.jsonl", 4, prompt=""),
        "village/items.jsonl, line 4, field 'prompt': string should have at least 1 character",
    ),
    "empty answer": (
        edit("products.jsonl", 5, text=" \n"),
        "village/products.jsonl, line 5, field 'text' is empty.",
    ),
    "unknown person": (
        edit("items.jsonl", 2, person="nobody"),
        "village/items.jsonl, line 2, field 'person': 'nobody' is not in people.jsonl.",
    ),
    "missing product": (
        edit("items.jsonl", 2, products=["i1-0", "gone"]),
        "village/items.jsonl, line 2, field 'products': 'gone' is not in products.jsonl.",
    ),
    "one product": (
        edit("items.jsonl", 2, products=["i1-0"]),
        "village/items.jsonl, line 2, field 'products': a choice is between 2 and 20 products, not 1.",
    ),
    "same person twice": (
        edit("people.jsonl", 2, id="p0"),
        "village/people.jsonl, line 2, field 'id': 'p0' occurs twice; ids must be unique.",
    ),
    "same product twice": (
        edit("products.jsonl", 2, id="i0-0"),
        "village/products.jsonl, line 2, field 'id': 'i0-0' occurs twice",
    ),
    "same item twice": (
        edit("items.jsonl", 2, id="village/0"),
        "village/items.jsonl, line 2, field 'id': 'village/0' occurs twice",
    ),
    "gold of nothing": (
        edit("gold.jsonl", 3, item="village/99"),
        "village/gold.jsonl, line 3, field 'item': 'village/99' is not in items.jsonl.",
    ),
    "gold beyond the answers": (
        edit("gold.jsonl", 3, label="2"),
        "village/gold.jsonl, line 3, field 'label': '2' is no index into the item's products; use 0 to 1.",
    ),
    "gold twice": (
        edit("gold.jsonl", 3, item="village/0"),
        "village/gold.jsonl, line 3, field 'item': 'village/0 by author' occurs twice",
    ),
}


@pytest.mark.parametrize("name", FOLDER_FAULTS)
def test_a_faulty_folder_is_named_and_what_was_judged_stays(
    command: Command, tmp_path: Path, name: str
) -> None:
    store = tmp_path / ".personafit" / "store.db"
    fault, expected = FOLDER_FAULTS[name]
    write_benchmark(tmp_path / "village")
    good = RunConfig("village", contexts=["none"])
    carry_out(store, good)
    before = answers(store)
    fault(tmp_path / "village")
    said = command("run", "village", "--context", "none")
    assert any(one.startswith(expected) for one in said), said  # what follows from it is said too
    assert answers(store) == before
    write_benchmark(tmp_path / "village")
    assert {lane.reused for lane in carry_out(store, good).lanes} == {12}, "mended, it needs no judging again"
    assert answers(store) == before


@pytest.mark.parametrize("file", ["products.jsonl", "gold.jsonl"])
def test_an_edited_benchmark_is_another_data_set(command: Command, tmp_path: Path, file: str) -> None:
    """A corrected answer is judged anew; a corrected label counts, and needs no judging."""
    folder = write_benchmark(tmp_path / "village")
    results = tmp_path / "out" / "results.json"
    line = ("run", "village", "--context", "none", "--rater", "rule:length", "--out", "out")
    command(*line, code=0)
    before, store = json.loads(results.read_bytes()), tmp_path / ".personafit" / "store.db"
    judged = len(answers(store))
    change = {"text": "long " * 99} if file == "products.jsonl" else {"label": "0"}
    edit(file, 12, **change)(folder)
    command(*line, code=0)
    assert json.loads(results.read_bytes()) != before
    assert len(answers(store)) == judged + (2 if file == "products.jsonl" else 0)


def test_two_folders_may_use_the_same_names(command: Command, tmp_path: Path) -> None:
    for name, long in (("one", "i0-0"), ("two", "i0-1")):
        folder = write_benchmark(tmp_path / name, items=1, people=2)
        texts = [{"id": i, "kind": "answer", "text": "x" * (9 if i == long else 1)} for i in ("i0-0", "i0-1")]
        write_lines(folder / "products.jsonl", texts)
        command("run", name, "--context", "none", code=0)
    rows = answers(tmp_path / ".personafit" / "store.db")
    assert sorted(row[7] for row in rows if row[1] == "rule:length") == ["0", "1"]


NAMES = {
    "benchmark": (
        ("nonsense",),
        "There is no benchmark 'nonsense'; there are starter, personafeedback",
    ),
    "no data": (("personafeedback",), "personafeedback needs --data FOLDER"),
    "wrong data": (("personafeedback", "--data", "nowhere"), "--data nowhere: there is no such folder"),
    "rater": (
        ("village", "--rater", "nonsense:x"),
        "'nonsense:x' names no rater of choice items; kinds are embedded, hf, inspect, openai",
    ),
    "rule": (("village", "--rater", "rule:best"), "rule:best: there is no such rule"),
    "option": (("village", "--rater", "openai:m@http://h,x=1"), "unknown option 'x'; openai knows"),
    "view": (("village", "--context", "horoscope"), "Unknown context 'horoscope'; there are none, profile"),
    "field": (
        ("village", "--context", "profile:Shoe"),
        "profile:Shoe: nobody has such a field; the profiles have Job, Likes",
    ),
    "users": (("village", "--people", "nowhere.txt"), "--people nowhere.txt"),
    "budget": (
        ("village", "--rater", "openai:m@http://h", "--budget", "1"),
        "--budget needs to know what openai:m@http://h",
    ),
    "bar": (("village", "--fail-under", "lift"), "--fail-under lift: write METRIC=X"),
    "log": (
        ("nowhere.jsonl",),
        "nowhere.jsonl cannot be read (No such file or directory)",
    ),
    "nothing to judge": (("answers",), "run answers needs --system SPEC"),
    "store in a file": (
        ("village", "--store", "file/store.db"),
        "The store file/store.db cannot be opened (",
    ),
    "store is a folder": (
        ("village", "--store", "village"),
        "The store village cannot be opened (unable to open",
    ),
    "store is no database": (
        ("village", "--store", "file"),
        "The store file cannot be opened (file is not a database)",
    ),
    "out in a file": (("village", "--out", "file/out"), "file/out cannot be written (Not a directory)"),
    "out is a file": (("village", "--out", "file"), "file cannot be written (File exists)"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_name_or_place_is_one_sentence(command: Command, tmp_path: Path, name: str) -> None:
    write_benchmark(tmp_path / "village")
    (tmp_path / "file").write_text("notes, and nothing but notes; " * 50, encoding="utf-8")
    arguments, expected = NAMES[name]
    (said,) = command("run", *arguments)
    assert expected in said, said


def test_a_wrong_person_needs_somebody_else(command: Command, tmp_path: Path) -> None:
    write_benchmark(tmp_path / "village", people=1)
    (said,) = command("run", "village", "--context", "wrong:profile")
    assert said.startswith("wrong:profile: there is nobody but p0 in language 'en' to be mistaken for")


def test_all_faults_of_a_folder_are_listed_and_a_wrong_option_is_named(tmp_path: Path) -> None:
    write_benchmark(tmp_path / "village")
    edit("items.jsonl", 2, person="nobody")(tmp_path / "village")
    edit("gold.jsonl", 3, label="2")(tmp_path / "village")
    done = personafit("run", "village", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentences(done.stderr) == [
        "village has 2 faults:",
        "village/items.jsonl, line 2, field 'person': 'nobody' is not in people.jsonl.",
        "village/gold.jsonl, line 3, field 'label': '2' is no index into the item's products; use 0 to 1.",
    ]
    wrong = personafit("run", "village", "--colour", "red", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "No such option" in wrong.stderr
    assert "Traceback" not in wrong.stderr
