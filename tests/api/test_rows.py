"""Rows in memory and in files: what is read, what it is called, and what is said of what is missing."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import personafit as pf
from tests.api.world import answers, by_length, pairs


def judged(source: Any, **more: Any) -> pf.Run:
    return pf.evaluate(source, raters=by_length, progress=False, **more)


def test_a_frame_and_a_list_of_pairs_are_one_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pairs(tier="easy")
    first = judged(rows)
    assert (first.asked, first.reused) == (3 * 3 * len(rows), 0)  # with the two rules, under three contexts
    for same in (pl.DataFrame(rows), pd.DataFrame(rows), pl.LazyFrame(rows), iter(rows)):
        again = judged(same)
        assert (again.name, again.asked) == (first.name, 0)
    assert judged(pairs(9, tier="easy")).name != first.name
    mine = first.results.filter(pl.col("rater") == "by_length", pl.col("context") == "profile")
    accuracy = mine.filter(metric="accuracy", slice="")
    assert accuracy.select("value", "n", "people", "coverage").row(0) == (1.0, 8, 8, 1.0)
    assert mine.filter(metric="accuracy", slice="tier=easy").height == 1
    assert first.items.columns == ["item", "person", "question", "answers", "gold", "tier"]
    assert first.items["answers"].list.len().to_list() == [2] * 8


def test_answers_are_compared_with_generic_and_wrong_ones(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    run = judged(answers(wrong="Somebody else's rest.", latency=3), store=store)
    assert run.benchmark == "answers"
    assert run.items["against"].to_list() == ["generic", "wrong"] * 8
    assert "Fields kept as metadata: latency." in run.notes
    assert run.items["latency"].to_list() == ["3"] * 16
    wins = run.results.filter(rater="by_length", context="profile", metric="win_rate", slice="")
    assert wins["value"].to_list() == [1.0]
    restrained = judged(answers(expect="generic"), store=store)
    assert restrained.items["expect"].unique().to_list() == ["generic"]


def test_ids_may_be_whole_numbers_of_numpy(tmp_path: Path) -> None:
    rows = [row | {"person": np.int64(n), "person.likes": "tea"} for n, row in enumerate(pairs())]
    run = judged(rows, store=tmp_path / "s.db", contexts="profile")
    assert run.items["person"].to_list() == [str(n) for n in range(len(rows))]


def test_people_may_be_known_by_id_from_a_folder(tmp_path: Path) -> None:
    rows = [
        {"person": name, "question": "What?", "answer": f"For {name}", "generic": "None"}
        for name in ("nadia", "owen")
    ]
    run = judged(rows, data="starter", store=tmp_path / "s.db")
    assert set(run.items["person"]) == {"nadia", "owen"}
    with pytest.raises(pf.UserError, match=r"line 1, field 'person': nothing is known about 'nadia'"):
        judged(rows, store=tmp_path / "s.db")
    fields = [{**row, "person.job": "cook"} for row in rows]
    assert set(judged(fields, store=tmp_path / "s.db").items["person"]) == {"nadia", "owen"}


def test_what_is_not_known_of_a_person_is_left_out(tmp_path: Path) -> None:
    told = [
        {"id": f"p{number}", "job": "nurse", "cats": math.nan, "likes": ["tea", None]} for number in range(6)
    ]
    rows = [{**row, "person": one} for row, one in zip(pairs(6), told, strict=True)]
    seen = []

    def judge(person: str, answers: list[str]) -> int:
        seen.append(person)
        return 0

    pf.evaluate(rows, raters=judge, contexts="profile", store=tmp_path / "s.db", progress=False)
    assert set(seen) == {"job: nurse\nlikes: tea"}


def test_files_are_read_by_their_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = pairs()
    with (tmp_path / "mine.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    pl.DataFrame(rows).write_parquet(tmp_path / "mine.parquet")
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers()))
    for name in ("mine.csv", "mine.parquet", tmp_path / "mine.jsonl"):
        run = judged(name)
        assert (run.benchmark, run.items.height) == ("mine", 8), name
    assert judged("log.jsonl").benchmark == "answers"
    with pytest.raises(pf.UserError, match=r"nothing\.parquet cannot be read"):
        judged("nothing.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(pf.UserError, match=r"broken\.parquet cannot be read"):
        judged("broken.parquet")


WRONG: dict[str, tuple[Any, str]] = {
    "no columns": (
        [{"text": "x"}],
        "pairs need person, question, chosen, rejected; answers need person, question",
    ),
    "one missing": (
        [{"person": "a b", "question": "x", "chosen": "y"}],
        "lack 'rejected'; pairs need",
    ),
    "two missing": ([{"answer": "y"}], "lack 'person', 'question'; pairs need"),
    "none": ([], "There are no rows to judge"),
    "no rows": (7, "a polars or pandas frame, or a list of dictionaries, not int"),
    "one row": ({"person": "a b"}, "a list of dictionaries, not dict"),
    "no dictionary": ([1], "Row 1 must be a dictionary, not int"),
    "an empty cell": ([*pairs(2), {**pairs(1)[0], "chosen": " "}], "rows, line 3, field 'chosen' is empty"),
    "nothing": (pl.DataFrame([{**pairs(1)[0], "chosen": None}]), "rows, line 1, field 'chosen' is empty"),
    "not a number": (
        pd.DataFrame([pairs(1)[0], {"person": "a b"}]),
        "rows, line 2, field 'question' is empty",
    ),
    "a number": (
        [{**pairs(1)[0], "rejected": 3}],
        "rows, line 1, field 'rejected' must be a text, not a number",
    ),
    "twice": ([{**row, "id": "a"} for row in pairs(2)], "line 2, field 'id': 'a' occurs twice"),
    "nobody": ([{**pairs(1)[0], "person": None}], "rows, line 1, field 'person' is empty"),
    "two of a name": (
        [{**row, "person": {"id": "x", "cats": number}} for number, row in enumerate(pairs(2))],
        "'x' was described differently before",
    ),
    "to nothing": (
        [{**row, "generic": None} for row in answers(2)],
        "No answer has one to be compared with",
    ),
    "expect": ([{**row, "expect": "much"} for row in answers(1)], "rows, line 1, field 'expect'"),
    "endless": (
        [{**row, "seconds": math.inf} for row in answers(1)],
        "field 'seconds': input should be a finite",
    ),
    "columns": (
        pd.concat([pd.DataFrame(pairs(2))] * 2, axis=1),
        "The frame has several columns called 'person'; rename or drop all but one.",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_rows_are_refused_in_a_sentence(case: str, tmp_path: Path) -> None:
    source, said = WRONG[case]
    with pytest.raises(pf.UserError) as refused:
        judged(source, store=tmp_path / "store.db")
    assert said in str(refused.value)
    assert not (tmp_path / "store.db").exists()  # found out before anything was opened
