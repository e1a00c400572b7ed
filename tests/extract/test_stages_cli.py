"""The command itself: what it prints, its exit codes, its pages, and the marks that come back from them."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from personafit.benchmarks import FolderBenchmark, check_folder
from personafit.extract.records import StageFile
from tests.extract.conftest import Stages
from tests.extract.world import chat
from tests.faults.world import write_benchmark
from tests.scripted import invoke, write_lines
from tests.stub_endpoint import StubEndpoint


def test_what_is_printed(log: Path, stages: Stages) -> None:
    printed = stages("--prepare", "language=en").out
    assert "4 conversations read, 8 messages of users." in printed
    assert re.search(r"language\s*│\s+3 │\s+2 │\s+4 │\s+3 │", printed)
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
        (["--verifier", "people:log.jsonl"], "log.jsonl, line 1 is no mark"),
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


def test_marks_from_a_page_are_believed(
    tmp_path: Path, log: Path, stages: Stages, endpoint: StubEndpoint
) -> None:
    stages()
    files = StageFile(tmp_path / "out")
    rows = list(files.read_attributes())
    dog = next(row for row in rows if "Rex" in row.text)
    tea = next(row for row in rows if row.status == "rewritten")
    diary = next(row for row in rows if row.status == "dropped")
    marks = [
        {"attribute": dog.id, "text": dog.text, "label": "rejected"},
        {"attribute": tea.id, "text": tea.text, "label": "rejected"},
        {"attribute": diary.id, "text": diary.text, "label": "accepted"},
    ]
    write_lines(tmp_path / "marks.jsonl", marks)
    endpoint.requests.clear()
    stages("--verifier", "people:marks.jsonl", "--verifier", endpoint.spec())
    assert endpoint.requests == [], "what people say costs no ask"
    after = {row.id: row for row in files.read_attributes()}
    assert (after[dog.id].status, after[dog.id].reason) == ("dropped", "The person says that it is not true.")
    assert after[tea.id].status == "dropped", "it was the rewritten words that were marked"
    assert after[diary.id].status == "kept"
    assert {verdict.by for verdict in files.read_verdicts()} == {"human", "llm"}


def test_the_induced_profile_beside_the_true_one(
    tmp_path: Path, stages: Stages, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_benchmark(tmp_path / "world")
    write_lines(
        tmp_path / "log.jsonl", [chat("c", "p1", "I like tea and rain."), chat("d", "other", "I like soup.")]
    )
    stages("--verifier", "rule", "--benchmark", "world")
    assert check_folder(tmp_path / "out" / "benchmark") == []
    (person,) = FolderBenchmark(tmp_path / "out" / "benchmark").people()
    assert person.facets["Job"] == "job 1"
    assert [one.text for one in person.attributes] == ["The user says I like tea and rain."]
    views = ["--context", "profile", "--context", "attributes:all"]
    invoke(monkeypatch, tmp_path, "run", "out/benchmark", "--rater", "rule:overlap", *views, "--json")
    results = json.loads(capsys.readouterr().out)["results"]
    assert {row["context"] for row in results} == {"profile", "attributes:all"}
    write_lines(tmp_path / "log.jsonl", [chat("d", "other", "I like soup.")])
    refused = stages("--verifier", "rule", "--benchmark", "world", code=2)
    assert "must have the same ids" in refused.err


def test_pages_hold_evidence_and_nothing_that_runs(tmp_path: Path, stages: Stages) -> None:
    wild = "I like <script>alert(1)</script> & <img src=x onerror=alert(2)> \u202etea."
    rows = [chat("c", "../../<b>ann</b>", wild), chat("d", "index", "I like soup.")]
    write_lines(tmp_path / "log.jsonl", rows)
    stages("--verifier", "rule")
    pages = sorted(path.name for path in (tmp_path / "out" / "pages").iterdir())
    assert len(pages) == 3
    assert not (tmp_path / "out" / "index.html").exists()
    for name in pages:
        page = (tmp_path / "out" / "pages" / name).read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<b>" not in page
        assert "default-src &#39;none&#39;" in page
        assert "\u202e" not in page


def test_a_person_can_mark_their_page(tmp_path: Path, log: Path, stages: Stages) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no browser is installed")
    stages()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            page = browser.new_page()
            faults: list[str] = []
            page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
            page.goto((tmp_path / "out" / "pages" / "ann.html").as_uri())
            assert page.locator(".attribute").count() == 3
            assert page.locator(".turn.used").count() == 4
            page.locator(".attribute").nth(1).get_by_label("not true").check()
            (mark,) = [json.loads(line) for line in page.locator("#marked").input_value().splitlines()]
            assert faults == []
        finally:
            browser.close()
    assert mark["label"] == "rejected"
    known = {row.id: row.text for row in StageFile(tmp_path / "out").read_attributes()}
    assert known[mark["attribute"]] == mark["text"]
