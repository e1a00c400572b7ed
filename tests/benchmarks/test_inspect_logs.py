"""Inspect's logs, written by Inspect itself: answers become an answer log."""

import json
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.benchmarks.inspect_logs import InspectLog
from personafit.benchmarks.rows import file_benchmark
from tests.helpers import Later
from tests.scripted import invoke

inspect_ai: Any = Later("inspect_ai")


def answering(prefix: str) -> Any:
    """A model that repeats what it was asked last; the word 'break' breaks it."""

    def answer(messages: list[Any], _tools: Any, _choice: Any, _config: Any) -> Any:
        if "break" in messages[-1].text:
            raise RuntimeError("it broke")
        output = inspect_ai.model.ModelOutput.from_content(
            "mockllm/model", f"{prefix}{messages[-1].text[-40:]}"
        )
        output.usage = inspect_ai.model.ModelUsage(input_tokens=5, output_tokens=3)
        return output

    return inspect_ai.model.get_model("mockllm/model", custom_outputs=answer)


def usual_samples() -> list[Any]:
    model, sample = inspect_ai.model, inspect_ai.dataset.Sample
    return [
        sample(id="one", input="What to cook?", metadata={"person": {"id": "p1", "Diet": "vegan"}}),
        sample(
            id="two",
            input=[
                model.ChatMessageSystem(content="Be kind."),
                model.ChatMessageUser(content="What to read?"),
            ],
            metadata={"person": "A retired sailor.", "expect": "generic"},
        ),
        sample(id="three", input="Please break.", metadata={"person": {"id": "p1", "Diet": "vegan"}}),
    ]


def logged(
    folder: Path, prefix: str, form: str = "eval", samples: list[Any] | None = None
) -> tuple[Path, Any]:
    (log,) = inspect_ai.eval(
        inspect_ai.Task(dataset=samples or usual_samples(), name="assistant"),
        model=answering(prefix),
        log_dir=str(folder),
        log_format="json" if form == "json" else "eval",
        display="none",
        fail_on_error=False,
        epochs=1,
    )
    return Path(log.location.removeprefix("file://")), log


@pytest.mark.parametrize("form", ["eval", "json"])
def test_answers_of_any_task(form: str, tmp_path: Path) -> None:
    personal, _ = logged(tmp_path / "a", "For you: ", form)
    plain, _ = logged(tmp_path / "b", "", form)
    found = {row["id"]: row for row in InspectLog(personal).answers("person", InspectLog(plain))}
    assert set(found) == {"one", "two", "three"}
    assert (found["three"]["answer"], found["three"]["generic"]) == (None, ""), (
        "a sample that failed has no answer"
    )
    assert found["one"] == {
        "id": "one",
        "person": {"id": "p1", "Diet": "vegan"},
        "question": "What to cook?",
        "answer": "For you: What to cook?",
        "generic": "What to cook?",
        "system": "mockllm/model",
    }
    assert (found["two"]["question"], found["two"]["expect"]) == ("What to read?", "generic")
    assert found["two"]["person"]["About"] == "A retired sailor."
    out = tmp_path / "answers.jsonl"
    out.write_text("".join(json.dumps(row) + "\n" for row in found.values()), encoding="utf-8")
    people = {person.id: person for person in file_benchmark(out).people()}
    assert len(people) == 2
    assert people["p1"].facets == {"Diet": "vegan"}


def test_the_command_and_then_the_judges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    personal, _ = logged(tmp_path / "a", "For you: ")
    plain, _ = logged(tmp_path / "b", "")
    invoke(
        monkeypatch,
        tmp_path,
        "data",
        "import",
        str(personal),
        "--generic",
        str(plain),
        "--out",
        "answers.jsonl",
    )
    printed = capsys.readouterr().out
    assert "Wrote 3 answers of mockllm/model to answers.jsonl." in printed
    assert "1 samples failed or were empty: they are written without an answer, and lose." in printed
    command = ("run", "answers.jsonl", "--rater", "rule:length", "--context", "profile", "--json")
    invoke(monkeypatch, tmp_path, *command, code=1)  # nothing was completed to compare the third with
    rows = json.loads(capsys.readouterr().out)["results"]
    longest = [r for r in rows if r["rater"] == "rule:length" and r["slice"] == {"against": "generic"}]
    assert {row["value"] for row in longest if row["metric"] == "win_rate"} == {1.0}


def test_a_log_in_which_no_sample_was_completed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It became a run with coverage 0."""
    broken, _ = logged(tmp_path / "a", "", samples=usual_samples()[2:])
    invoke(monkeypatch, tmp_path, "data", "import", str(broken), code=2)
    assert "no sample was completed (" in capsys.readouterr().err


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    path, _ = logged(
        tmp_path,
        "",
        samples=[inspect_ai.dataset.Sample(id="nobody", input="What?", metadata={"user": "x", "level": 1})],
    )
    with pytest.raises(UserError) as caught:
        list(InspectLog(path).answers("person"))
    assert str(path) in str(caught.value)
    assert "sample 'nobody': metadata has no 'person'" in str(caught.value)
    assert "only level, user; name the field with --person" in str(caught.value)
    assert next(InspectLog(path).answers("user")) is not None


@pytest.mark.parametrize(("name", "data"), [("broken.eval", b"not a zip"), ("other.json", b'{"a": 1}')])
def test_what_is_no_log_is_one_sentence(name: str, data: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UserError, match="is not an Inspect log"):
        InspectLog(tmp_path / name)
    with pytest.raises(UserError, match="is not there"):
        InspectLog(tmp_path / f"no-{name}")


def test_choices_are_no_answers(tmp_path: Path) -> None:
    path, _ = logged(tmp_path, "", form="json")
    body = json.loads(path.read_text(encoding="utf-8"))
    body["eval"]["task"] = "personafit/choices"
    path.write_text(json.dumps(body), encoding="utf-8")
    with pytest.raises(UserError, match="is a log of personafit/choices"):
        InspectLog(path)
