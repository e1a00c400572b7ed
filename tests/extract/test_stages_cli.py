"""The command itself: what it prints and its exit codes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from personafit.benchmarks import FolderBenchmark, check_folder
from tests.extract.conftest import Stages
from tests.extract.world import chat
from tests.faults.world import write_benchmark
from tests.scripted import invoke, write_lines
from tests.stub_endpoint import StubEndpoint


def test_what_is_printed(log: Path, stages: Stages) -> None:
    printed = stages("--prepare", "language=en").out
    assert "4 conversations read, 8 messages of users." in printed
    assert re.search(r"language\s*│\s+2 │\s+3 │", printed)
    assert re.search(r"rewritten\s*│\s+1 │ 20\.0 %", printed)
    assert "Faults: over-generalised 2." in printed


def test_a_log_with_many_broken_lines_is_below_the_bar(log: Path, stages: Stages) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write("this is no JSON\n")
    printed = stages(code=1)
    assert "1 of them could not be read; out/conversations.jsonl says why." in printed.out
    assert "80.0 % of the log's conversations could be read, below the bar of 95 %" in printed.err


def test_json_is_one_object_of_flat_records(log: Path, stages: Stages) -> None:
    results: list[dict[str, Any]] = json.loads(stages("--json").out)["results"]
    found = {row["metric"]: row for row in results}
    assert found["extraction_coverage"]["value"] == 1.0
    accepted = found["accepted_share"]
    assert accepted["value"] == pytest.approx(5 / 7)
    assert (accepted["low"], accepted["high"]) == (None, None), "three people are too few for an interval"
    assert (accepted["n"], accepted["people"], accepted["coverage"]) == (7, 3, 1.0)
    shares = [found[f"{fate}_share"]["value"] for fate in ("kept", "rewritten", "dropped")]
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--prepare", "nonsense"], "there is no step 'nonsense'"),
        (["--matcher", "rule:bm25"], "--matcher means nothing without --prompts"),
        (["--prompts", "missing.jsonl"], "missing.jsonl cannot be read"),
        (["--prompts", "log.jsonl"], "field 'prompt' is missing"),
        (["--verifier", "fitted:nowhere"], "nowhere is missing"),
        (["--verifier", "nobody"], "'nobody' names no model"),
        (["--budget", "1"], "--budget needs to know what"),
    ],
)
def test_wrong_usage_is_one_sentence(
    log: Path, stages: Stages, endpoint: StubEndpoint, arguments: list[str], sentence: str
) -> None:
    said = stages(*arguments, code=2).err
    assert sentence in said
    assert "Traceback" not in said
    assert endpoint.requests == []


def test_a_log_that_is_not_there(stages: Stages) -> None:
    assert "log.jsonl is not there" in stages(code=2).err


def test_low_coverage_is_an_exit_code(log: Path, stages: Stages, endpoint: StubEndpoint) -> None:
    endpoint.behave("prose")
    assert "attributes could be read from 0.0 % of the conversations" in stages(code=1).err


def test_the_induced_profile_beside_the_true_one(
    tmp_path: Path, stages: Stages, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_benchmark(tmp_path / "village")
    write_lines(
        tmp_path / "log.jsonl", [chat("c", "p1", "I like tea and rain."), chat("d", "other", "I like soup.")]
    )
    stages("--verifier", "rule", "--benchmark", "village")
    assert check_folder(tmp_path / "out" / "benchmark") == []
    (person,) = FolderBenchmark(tmp_path / "out" / "benchmark").people()
    assert person.facets["Job"] == "job 1"
    assert [one.text for one in person.attributes] == ["The user says I like tea and rain."]
    contexts = ["--context", "profile", "--context", "attributes:all"]
    invoke(monkeypatch, tmp_path, "run", "out/benchmark", "--rater", "rule:overlap", *contexts, "--json")
    results = json.loads(capsys.readouterr().out)["results"]
    assert {row["context"] for row in results} == {"profile", "attributes:all"}
    write_lines(tmp_path / "log.jsonl", [chat("d", "other", "I like soup.")])
    refused = stages("--verifier", "rule", "--benchmark", "village", code=2)
    assert "must have the same ids" in refused.err
