"""`personafit data best-of` from file to choices."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from personafit import UserError, load
from personafit.api.candidates import BestCandidate, BestOfChoices, CandidateSet
from personafit.cli.app import app
from tests.raters.reward.scoring_server import ScoringServer
from tests.scripted import write_lines
from tests.stub_endpoint import StubEndpoint


def called(folder: Path, *arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["data", "best-of", *arguments, "--store", str(folder / "store.db")])
    if isinstance(result.exception, UserError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rows(count: int = 12) -> list[dict[str, Any]]:
    """Tea drinkers who are offered tea, or more and more coffee."""
    return [
        {
            "id": f"q{number}",
            "person": {"id": f"p{number % 4}", "Likes": "tea", "Number": str(number % 4)},
            "question": f"What shall I drink, {number}?",
            "answers": ["coffee " * (number % 5 + 2), "tea", "coffee", "water " * (number % 3 + 1)],
        }
        for number in range(count)
    ]


def test_a_reward_model_chooses(tmp_path: Path) -> None:
    file, out = write_lines(tmp_path / "in.jsonl", rows()), tmp_path / "out.jsonl"
    with ScoringServer("classify") as server:
        arguments = [str(file), "--rater", server.spec(), "--out", str(out)]
        result = called(tmp_path, *arguments)
        asked = len(server.requests)
        first = out.read_bytes()
        called(tmp_path, *arguments)
        assert len(server.requests) == asked  # nothing is asked twice
    assert out.read_bytes() == first
    chosen = lines(out)
    assert [row["id"] for row in chosen] == [f"q{number}" for number in range(12)]
    assert {(row["chosen"], row["answer"], row["status"]) for row in chosen} == {(1, "tea", "ok")}
    assert [one["score"] for one in chosen[0]["candidates"]] == [14.0, 1003.0, 6.0, 6.0]
    assert chosen[0]["longest"] == 0
    assert chosen[0]["candidates"][1]["length"] == 3
    assert "that is taken out" in result.stdout
    assert "0.0 % of the choices are the longest answer" in result.stdout


@pytest.mark.parametrize("options", [[], ["--no-length-control"]])
def test_length_is_taken_out_of_the_scores(tmp_path: Path, options: list[str]) -> None:
    """A rater that sees length alone has nothing left to choose by."""
    made = [{**row, "answers": [row["answers"][0], row["answers"][2] * 4]} for row in rows(40)]
    file, out = write_lines(tmp_path / "in.jsonl", made), tmp_path / "out.jsonl"
    result = called(tmp_path, str(file), "--rater", "rule:length", "--out", str(out), "--json", *options)
    found = {r["metric"]: r for r in json.loads(result.stdout)["results"]}
    same = found["same_as_longest"]
    assert (same["n"], same["people"], same["coverage"]) == (40, 4, 1.0)
    if options:
        assert same["value"] == 1.0
    else:
        assert same["value"] < 1.0
        assert "that is taken out" in same["note"]


def test_questions_that_recur_are_a_second_cluster() -> None:
    def chosen(same: bool) -> BestOfChoices:
        """Everybody's choice of one question in three is the longest; questions are the same for all, or not."""
        made = []
        for number in range(96):
            person, question = f"p{number // 12}", f"q{number % 12}{'' if same else number}"
            prompt = CandidateSet(str(number), person, question, ("long answer", "short"))
            place = int(number % 3 > 0) if number > 4 else 1
            made.append(BestCandidate(prompt, [1.0, 1.0], [1.0, 1.0], place))
        return BestOfChoices(made, None)

    recurring, apart = (chosen(same).same_as_longest() for same in (True, False))
    assert recurring.value == apart.value
    assert recurring.low is not None
    assert apart.low is not None
    assert recurring.low < apart.low


def test_any_rater_scores(tmp_path: Path) -> None:
    """Leads over the same candidate: a rule's differences, a judge's margins over both orders."""
    file, out = write_lines(tmp_path / "in.jsonl", rows(2)), tmp_path / "out.jsonl"
    result = called(tmp_path, str(file), "--rater", "rule:length", "--out", str(out))
    assert "Too few questions" in result.stdout
    assert [row["chosen"] for row in lines(out)] == [row["longest"] for row in lines(out)]
    with pytest.raises(UserError, match="chose the best of several answers"):
        _ = load("last", store=tmp_path / "store.db").results
    first = lines(out)[0]["candidates"]
    base = next(one for one in first if one["score"] == 0)
    assert all(one["score"] == one["length"] - base["length"] for one in first)
    with StubEndpoint() as endpoint:
        called(tmp_path, str(file), "--rater", endpoint.spec(), "--out", str(out))
        assert len(endpoint.requests) == 2 * 3 * 2
    assert all(one["score"] is not None for row in lines(out) for one in row["candidates"])


def test_what_cannot_be_scored_is_not_chosen(tmp_path: Path) -> None:
    (tmp_path / "picky.py").write_text(
        "def score(person, question, answers):\n"
        "    if any('water' in answer for answer in answers):\n        raise ValueError('no water')\n"
        "    if question.endswith('0?'):\n        raise ValueError('not this one')\n"
        "    return [len(answer) for answer in answers]\n",
        encoding="utf-8",
    )
    made = [{**row, "answers": ["coffee coffee", "tea", "water " * 9]} for row in rows(2)]
    file, out = write_lines(tmp_path / "in.jsonl", made), tmp_path / "out.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        result = called(tmp_path, str(file), "--rater", "python:picky:score", "--out", str(out), code=1)
    assert "nothing could be chosen for 1 of 2 questions" in result.stderr
    failed, chosen = lines(out)
    assert (failed["status"], failed["chosen"], failed["answer"]) == ("failed", None, None)
    assert (chosen["chosen"], chosen["candidates"][2]["score"]) == (0, None)


def test_a_system_makes_the_candidates(tmp_path: Path) -> None:
    asked = [{name: row[name] for name in ("id", "person", "question")} for row in rows(3)]
    file, out = write_lines(tmp_path / "in.jsonl", asked), tmp_path / "out.jsonl"
    (tmp_path / "seeded.py").write_text(
        "calls = []\ndef answer(person, messages):\n    calls.append((person, messages[0]['content']))\n    return 'tea ' * len(calls)\n",
        encoding="utf-8",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        arguments = [
            str(file),
            "--system",
            "python:seeded:answer",
            "--rater",
            "rule:length",
            "--out",
            str(out),
        ]
        called(tmp_path, *arguments, "--samples", "3")
        import seeded  # type: ignore[import-not-found]

        assert len(seeded.calls) == 9
        assert all("Likes: tea" in told for told in seeded.calls[0])
        assert [len(row["candidates"]) for row in lines(out)] == [3, 3, 3]
        called(tmp_path, *arguments, "--samples", "3")
        assert len(seeded.calls) == 9
        called(tmp_path, *arguments, "--samples", "4")
        assert len(seeded.calls) == 12


def test_samples_get_seeds_and_a_temperature(tmp_path: Path) -> None:
    asked = [{name: row[name] for name in ("id", "person", "question")} for row in rows(1)]
    file, out = write_lines(tmp_path / "in.jsonl", asked), tmp_path / "out.jsonl"
    with StubEndpoint("plain") as endpoint:
        arguments = [
            str(file),
            "--system",
            endpoint.spec(),
            "--rater",
            "rule:length",
            "--out",
            str(out),
            "--samples",
            "3",
        ]
        called(tmp_path, *arguments)
        assert sorted(body["seed"] for body in endpoint.requests) == [1, 2, 3]
        assert {body["temperature"] for body in endpoint.requests} == {0.8}
    (row,) = lines(out)
    assert len(row["candidates"]) == 1  # the same words three times are one candidate
    assert (row["chosen"], row["status"]) == (0, "ok")


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    arguments = [str(file), "--rater", "rule:length", "--out", str(out)]
    good = rows(1)[0]
    for bad, sentence in [
        ([good, {**good, "question": "And then?"}], r"line 2, field 'id': 'q0' occurs twice"),
        ([{**good, "answers": ["a", " "]}], r"line 1, field 'answers\.1' is empty"),
        ([{**good, "answers": []}], "'q0' has no answers to choose among"),
        ([{**good, "person": "ann"}], "line 1, field 'person'"),
        ([{**good, "reply": "x"}], "field 'reply'"),
        ([], "holds no questions"),
    ]:
        write_lines(file, bad)
        with pytest.raises(UserError, match=sentence):
            called(tmp_path, *arguments)
    write_lines(file, [good])
    with pytest.raises(UserError, match="has answers already"):
        called(tmp_path, *arguments, "--system", "python:x:y")
    with pytest.raises(UserError, match="cannot be written"):
        called(tmp_path, str(file), "--rater", "rule:length", "--out", str(tmp_path / "no" / "out.jsonl"))
    assert not out.exists()


def test_a_question_that_nobody_answered_does_not_end_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = 'def answer(messages):\n    return "" if "bad" in messages[-1]["content"] else "An answer."\n'
    (tmp_path / "half_silent.py").write_text(said, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    asked = [{"id": name, "person": {"id": "p"}, "question": f"A {name} one?"} for name in ("good", "bad")]
    file, out = write_lines(tmp_path / "in.jsonl", asked), tmp_path / "out.jsonl"
    arguments = [str(file), "--system", "python:half_silent:answer", "--samples", "2", "--out", str(out)]
    result = called(tmp_path, *arguments, "--rater", "rule:length", code=1)
    assert "nothing could be chosen for 1 of 2 questions" in result.output
    assert [(row["status"], row["answer"], row["longest"]) for row in lines(out)] == [
        ("ok", "An answer.", 0),
        ("failed", None, None),
    ]
