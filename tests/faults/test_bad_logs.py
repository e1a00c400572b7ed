"""Faulty answer logs and CSV files: one sentence that names file, line and field."""

import json
from pathlib import Path

import pytest

from personafit import UserError
from personafit.benchmarks import ImportedPairs
from tests.faults.world import Command

GOOD = {
    "person": {"id": "ann", "Job": "nurse"},
    "question": "What now?",
    "answer": "Rest.",
    "generic": "Go out.",
}

LOG_FAULTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"\n", "log.jsonl holds no rows."),
    "not JSON": (b"{", "log.jsonl, line 2 is not JSON"),
    "not an object": (b'"text"', "log.jsonl, line 2 must be a JSON object, not a text."),
    "invalid UTF-8": (b'{"question": "\xc3("}', "log.jsonl, line 2 is not UTF-8 (byte 14 cannot be read)"),
    "no answer": (
        b'{"person": {"id": "x"}, "question": "q"}',
        "log.jsonl, line 2, field 'answer' is missing; write null where the system made no answer.",
    ),
    "empty question": (
        b'{"person": {"id": "x"}, "question": " ", "answer": "a"}',
        "log.jsonl, line 2, field 'question' is empty.",
    ),
    "wrong type": (
        b'{"person": {"id": "x"}, "question": "q", "answer": 7}',
        "log.jsonl, line 2, field 'answer' must be a text, not",
    ),
    "unknown person": (
        b'{"person": "zoe", "question": "q", "answer": "a"}',
        "log.jsonl, line 2, field 'person': nothing is known about 'zoe'",
    ),
    "nameless person": (
        b'{"person": {}, "question": "q", "answer": "a"}',
        "log.jsonl, line 2, field 'person.id' is missing",
    ),
    "changed person": (
        b'{"person": {"id": "ann", "Job": "cook"}, "question": "q", "answer": "a"}',
        "log.jsonl, line 2, field 'person': 'ann' was described differently before, on line 1 ('Job')",
    ),
    "same id twice": (
        b'{"id": "1", "person": {"id": "x"}, "question": "q", "answer": "a"}',
        "log.jsonl, line 2, field 'id': '1' occurs twice, first on line 1; ids must be unique.",
    ),
    "messages without a question": (
        b'{"person": {"id": "x"}, "question": [{"role": "assistant", "content": "Hi."}], "answer": "a"}',
        "log.jsonl, line 2, field 'question': the last message must be the user's.",
    ),
    "unknown expectation": (
        b'{"person": {"id": "x"}, "question": "q", "answer": "a", "expect": "both"}',
        "log.jsonl, line 2, field 'expect': input should be 'personal' or 'generic'.",
    ),
}


@pytest.mark.parametrize("name", LOG_FAULTS)
def test_a_faulty_log_is_named(command: Command, tmp_path: Path, name: str) -> None:
    line, expected = LOG_FAULTS[name]
    first = b"" if name == "empty" else json.dumps(GOOD).encode() + b"\n"
    (tmp_path / "log.jsonl").write_bytes(first + line)
    (said,) = command("run", "log.jsonl", "--rater", "rule:length")
    assert said.startswith(expected), said


CSV_FAULTS: dict[str, tuple[bytes, str]] = {
    "no rows": (b"person,question,chosen,rejected\n", "pairs.csv holds no rows"),
    "no column": (
        b"person,question,chosen\na,b,c\n",
        "pairs.csv, line 1, field 'rejected': this column is missing",
    ),
    "empty": (b"", "pairs.csv, line 1, field 'person': this column is missing"),
    "empty answer": (
        b"person,question,chosen,rejected\na,b,c, \n",
        "pairs.csv, line 2, field 'rejected' is empty.",
    ),
    "too few cells": (
        b"person,question,chosen,rejected\na,b,c\n",
        "pairs.csv, line 2 has another number of cells",
    ),
    "too many cells": (
        b"person,question,chosen,rejected\na,b,c,d,e\n",
        "pairs.csv, line 2 has another number of",
    ),
    "invalid UTF-8": (b"person,question,chosen,rejected\na,b,c,\xff\n", "pairs.csv is not UTF-8"),
    "a field without end": (
        b"person,question,chosen,rejected\na,b,c,d\na,b,c," + b"x" * 9_000_000 + b"\n",
        "pairs.csv, line 3 is not CSV: field larger than field limit",
    ),
    "one text": (
        b"person,question,chosen,rejected\na,b,c,c \n",
        "pairs.csv, line 2, field 'rejected' is the same text as 'chosen'",
    ),
    "same id twice": (
        b"id,person,question,chosen,rejected\n1,a,b,c,d\n1,a,b,c,e\n",
        "pairs.csv, line 3, field 'id': '1' occurs twice, first on line 2; ids must be unique.",
    ),
}


@pytest.mark.parametrize("name", CSV_FAULTS)
def test_a_faulty_csv_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    data, expected = CSV_FAULTS[name]
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_bytes(data)
    with pytest.raises(UserError) as caught:
        ImportedPairs(Path("pairs.csv"))
    assert str(caught.value).startswith(expected), caught.value
    assert "\n" not in str(caught.value)
