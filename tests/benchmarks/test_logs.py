"""A team's log of answers: everything wrong with it at once, nothing lost of what it says, and one count for every command."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import personafit as pf
from tests.conftest import Command


def line(number: int, **more: Any) -> dict[str, Any]:
    """One answer of an assistant, with what it says to nobody in particular."""
    return {
        "person": {"id": f"p{number}", "job": "nurse", "cats": number},
        "question": f"What should I do on day {number}?",
        "answer": f"Rest with your {number} cats, and have some tea.",
        "generic": "Go for a run.",
        **more,
    }


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def without(row: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != field}


FAULTY = [
    (line(0), None),
    ("{\n", "line 2 is not JSON"),
    (line(2, person={"id": "p0", "job": "cook", "cats": 0}), "line 3, field 'person': 'p0' was described differently before, on line 1 ('job')"),
    (line(3, question=" ", expect="both"), "line 4, field 'question' is empty."),
    (line(4, person="zoe"), "line 5, field 'person': nothing is known about 'zoe'"),
    (line(5, answer=7), "line 6, field 'answer' must be a text, not a number."),
    (without(line(6), "answer"), "line 7, field 'answer' is missing; write null where the system made no answer."),
    (line(7, id="1"), "line 8, field 'id': '1' occurs twice, first on line 1; ids must be unique."),
]  # fmt: skip


def test_all_faults_of_a_log_are_said_at_once(personafit: Command, tmp_path: Path) -> None:
    write(tmp_path / "log.jsonl", [row for row, _ in FAULTY])
    expected = [f"log.jsonl, {said}" for _, said in FAULTY if said]
    expected.insert(3, "log.jsonl, line 4, field 'expect': input should be 'personal' or 'generic'.")
    done = personafit("run", "log.jsonl", "--rater", "rule:length", code=2)
    heading, *faults = done.err.splitlines()
    assert heading == "personafit: log.jsonl has 8 faults:"
    assert len(faults) == len(expected) == 8
    assert all(fault.startswith(f"  {said}") for fault, said in zip(faults, expected, strict=True))
    checked = personafit("data", "check", "log.jsonl", "--json", code=1)
    assert json.loads(checked.out)["problems"] == [fault.strip() for fault in faults]
    with pytest.raises(pf.UserError) as refused:
        pf.evaluate(tmp_path / "log.jsonl", raters="rule:length", progress=False)
    assert refused.value.faults == [fault.strip().replace("log.jsonl", str(tmp_path / "log.jsonl"), 1) for fault in faults]  # fmt: skip


def test_of_very_many_faults_twenty_are_listed_and_the_rest_counted(
    personafit: Command, tmp_path: Path
) -> None:
    write(tmp_path / "log.jsonl", [line(number, question="") for number in range(50)])
    done = personafit("run", "log.jsonl", "--rater", "rule:length", code=2)
    assert done.err.splitlines()[0] == "personafit: log.jsonl has 50 faults:"
    assert len(done.err.splitlines()) == 22
    assert "and 30 more; `personafit data check` lists all faults of a file." in done.err
    assert personafit("data", "check", "log.jsonl", code=1).out.endswith("50 problems.\n")


def test_faults_of_pairs_are_said_at_once_too(tmp_path: Path) -> None:
    pairs = "person,question,chosen,rejected\nA nurse,q,Tea.,Tea.\nA cook,,Tea.,Milk.\nA cook,q,Tea.\n"
    (tmp_path / "pairs.csv").write_text(pairs)
    with pytest.raises(pf.UserError) as refused:
        pf.evaluate(tmp_path / "pairs.csv", raters="rule:length", progress=False)
    assert [fault.partition(", line ")[2] for fault in refused.value.faults] == [
        "2, field 'rejected' is the same text as 'chosen': nothing can be preferred.",
        "3, field 'question' is empty.",
        "4 has another number of cells than the first line.",
    ]


def test_unknown_fields_are_metadata_and_slips_are_pointed_out(personafit: Command, tmp_path: Path) -> None:
    more = {
        "topic": "rest",
        "trace": {"tools": ["search"]},
        "latency_ms": 812,
        "of": "p1",
        "unmade": "answer",
    }
    rows = [line(n, **(more if n else more | {"topic": "work"})) for n in range(4)]
    write(tmp_path / "log.jsonl", rows)
    run = pf.evaluate(tmp_path / "log.jsonl", raters="rule:length", store=tmp_path / "s.db", progress=False)
    kept = run.items.filter(person="p1")
    assert kept.select("topic", "trace", "latency_ms").row(0) == ("rest", '{"tools": ["search"]}', "812")
    assert not {"of", "unmade"} & set(run.items.columns), "names that mean something by themselves"
    wins = run.results.filter(rater="rule:length", context="profile", metric="win_rate", slice="")
    assert wins["value"].to_list() == [1.0]
    done = personafit("run", "log.jsonl", "--rater", "rule:length", "--where", "topic=work", "--json")
    found = json.loads(done.out)["results"]
    assert {row["n"] for row in found if row["metric"] == "win_rate" and not row["slice"]} == {1}
    write(tmp_path / "slip.jsonl", [without(line(n, generc="Go."), "generic") for n in range(2)])
    said = personafit("run", "slip.jsonl", "--rater", "rule:length", code=2).err
    assert "no answer has one to be compared with" in said
    assert "generc (did you mean generic?)" in said


def test_a_forgotten_judge_and_a_missing_file_are_said(personafit: Command, tmp_path: Path) -> None:
    write(tmp_path / "answers.jsonl", [line(n) for n in range(4)])
    said = personafit("run", "answers.jsonl", code=2).err
    assert said.startswith("personafit: Nobody judges the answers: name a judge with --rater")
    said = personafit("run", "answer.jsonl", "--rater", "rule:length", code=2).err
    assert said.endswith("answer.jsonl cannot be read (No such file or directory); check the path.\n")


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "rows"])
def test_an_empty_answer_is_an_answer_that_loses(form: str, tmp_path: Path) -> None:
    rows = [{**line(n), "person": f"A nurse with {n} cats", "expect": "personal"} for n in range(4)]
    rows[0]["answer"], rows[1]["answer"] = None, "  "
    path = tmp_path / f"log.{form}"
    if form == "jsonl":
        write(path, rows)
    elif form == "csv":
        pl.DataFrame(rows).write_csv(path)
    elif form == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    source = rows if form == "rows" else path
    run = pf.evaluate(source, raters="rule:length", store=tmp_path / "s.db", progress=False)
    wins = run.results.filter(rater="rule:length", context="profile", metric="win_rate", slice="")
    assert wins.select("value", "n", "coverage").row(0) == (0.5, 4, 1.0)
    assert (
        "2 of 4 personal answers were not made: they lose to every answer they are compared with."
        in run.notes
    )


def test_repeated_rows_are_read_once_and_counted_the_same_by_every_command(
    personafit: Command, tmp_path: Path
) -> None:
    rows = [line(n, id=f"a{n}") for n in range(4)]
    write(tmp_path / "log.jsonl", [*rows, rows[0], {**rows[1], "id": "again"}])
    said = "2 rows repeat an earlier one word for word and are read once, the first on line 5."
    checked = personafit("data", "check", "log.jsonl")
    assert said in checked.out
    assert "4 people, 4 items, 4 answers: nothing wrong." in checked.out
    ran = personafit("run", "log.jsonl", "--rater", "rule:length")
    assert said in " ".join(ran.out.split())
    assert pf.load("last", store=tmp_path / ".personafit" / "store.db").items.height == 4
    pairs = (
        "person,question,chosen,rejected\nA nurse,q,Tea.,Milk.\nA nurse,q,Tea.,Milk.\nA cook,q,Tea.,Milk.\n"
    )
    (tmp_path / "pairs.csv").write_text(pairs)
    said = "1 row repeats an earlier one word for word and is read once, the first on line 3."
    assert said in personafit("data", "import", "pairs.csv").out
    assert said in personafit("data", "check", "pairs.csv").out
    assert "2 people, 2 items, 2 gold" in personafit("data", "check", "pairs").out
    audited = json.loads(personafit("audit", "pairs.csv", "--json").out)
    assert (audited["repeats"]["rows"], audited["repeats"]["repeated_rows"]) == (2, 0)


def test_a_question_of_several_turns_is_judged_as_a_transcript(tmp_path: Path) -> None:
    asked = [
        {"role": "user", "content": "I cook tonight."},
        {"role": "assistant", "content": "For whom?"},
        {"role": "user", "content": "For two."},
    ]
    rows = [line(n, question=asked) for n in range(2)]
    run = pf.evaluate(
        write(tmp_path / "log.jsonl", rows), raters="rule:length", store=tmp_path / "s.db", progress=False
    )
    shown = "[user] I cook tonight.\n\n[assistant] For whom?\n\n[user] For two."
    assert run.items["question"].unique().to_list() == [shown]


def test_time_and_cost_name_the_answers_that_have_them(tmp_path: Path) -> None:
    rows = [line(0, seconds=1), line(1, seconds=3, cost=0.25), line(2), line(3)]
    run = pf.evaluate(rows, raters="rule:length", store=tmp_path / "s.db", progress=False)
    assert "2 of 4 answers of the system took 2 s at the median, 3 s at the 95th percentile." in run.notes
    assert "1 of 4 answers of the system cost 0.25 USD each, 0.25 USD in all." in run.notes


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_table_of_a_spreadsheet_may_have_semicolons_or_tabs(tmp_path: Path, separator: str) -> None:
    rows = ["person;question;answer;generic", '"ann: likes; tea";A drink, please?;Tea.;Water.']
    rows += ["bob: likes beer;A drink, please?;Beer.;Water."]
    text = "\r\n".join(rows) if separator == ";" else "\n".join(rows).replace(";", "\t")
    (tmp_path / "log.csv").write_text(text, encoding="utf-8-sig")
    run = pf.evaluate(tmp_path / "log.csv", raters="rule:overlap", store=tmp_path / "s.db", progress=False)
    assert sorted(set(run.items["question"])) == ["A drink, please?"]


def test_time_and_cost_of_served_answers_are_shown(tmp_path: Path) -> None:
    rows = [line(n, seconds=1 + n, cost=0.25, system="v2") for n in range(4)]
    run = pf.evaluate(rows, raters="rule:length", store=tmp_path / "s.db", progress=False)
    assert (
        "4 answers of v2 took 2.5 s at the median, 4 s at the 95th percentile and cost 0.25 USD each, 1 USD in all."
        in run.notes
    )
    (spent,) = run.as_dict()["systems"]
    assert spent == {
        "system": "v2",
        "system_context": None,
        "answers": 4,
        "timed": 4,
        "priced": 4,
        "seconds_median": 2.5,
        "seconds_p95": 4.0,
        "cost_mean": 0.25,
        "cost": 1.0,
    }


def test_fields_whose_names_mean_something_here_are_kept_under_another(tmp_path: Path) -> None:
    rows = [line(n, topic="work", until="noon", unmade="yes", of="x", history="h") for n in range(2)]
    run = pf.evaluate(rows, raters="rule:length", store=tmp_path / "s.db", progress=False)
    assert set(run.items["log.until"]) == {"noon"}
    assert {"topic", "log.unmade", "log.of", "log.history"} <= set(run.items.columns)
    assert any("topic, until (as log.until), unmade (as log.unmade)" in note for note in run.notes)
    wins = run.results.filter(rater="rule:length", context="profile", metric="win_rate", slice="")
    assert wins["coverage"].to_list() == [1.0], "nothing counts as an answer that was not made"


def test_few_questions_asked_of_many_people_explain_wide_intervals(tmp_path: Path) -> None:
    said = "There are only 2 different questions, asked of several people"
    rows = [line(place, question=f"What now, {place % 2}?") for place in range(8)]
    run = pf.evaluate(rows, raters="rule:length", store=tmp_path / "s.db", progress=False)
    assert any(note.startswith(said) for note in run.notes)
    alone = [line(place, question=f"What now, {place}?") for place in range(8)]
    run = pf.evaluate(alone, raters="rule:length", store=tmp_path / "s.db", progress=False)
    assert not any("different questions" in note for note in run.notes)
