"""The demo as a real process: offline, its figures are those of its results, and those are those of the recording."""

import json
import re
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from markupsafe import escape

import personafit as pf
from personafit import Store
from personafit.api import demo
from personafit.api.demo import JUDGE, LABELS, LIVE_TITLE, NOTE_ASSISTANT, QUESTIONS, RECORDING, WITH, WITHOUT
from personafit.benchmarks.starter import FOLDER
from personafit.store import run_answers
from tests.helpers import run_cli

SOURCE = Path(__file__).parents[2] / "docs" / "recordings" / "qwen2.5-coder-1.5b-memory.jsonl"
# Offline and without the embedded model: a dozen asks to that cost more than all the rest, and have a test of their own.
ALONE = """
import socket
import sys

sys.modules["xllamacpp"] = None


def refuse(self, address):
    raise OSError(f"the demo must not connect to {address}")


socket.socket.connect = socket.socket.connect_ex = refuse
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the demo and what was printed."""
    folder = tmp_path_factory.mktemp("demo")
    path = folder / "path"
    path.mkdir()
    (path / "sitecustomize.py").write_text(ALONE, encoding="utf-8")
    return folder / "demo", run_cli("demo", "--out", "demo", cwd=folder, path=path).stdout


def results_of(folder: Path, run: str, **where: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "results.json").read_bytes())["runs"][run]["results"]
    return [row for row in rows if row["slice"] == where]


def one(rows: list[dict[str, Any]], metric: str, rater: str, context: str, system: str | None) -> Any:
    (row,) = (
        row
        for row in rows
        if (row["metric"], row["rater"], row["system"]) == (metric, rater, system)
        and context in (row.get("view"), row.get("context"))
    )
    return row


def share(row: dict[str, Any], unit: str) -> str:
    text = f"{100 * row['value']:.1f}{unit}"
    return text if row["low"] is None else f"{text} ({100 * row['low']:.1f}–{100 * row['high']:.1f})"


def points(row: dict[str, Any], unit: str) -> str:
    return f"{100 * row['value']:.1f}{unit} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"


def test_the_judges_printed_figures_are_those_of_the_results(done: tuple[Path, str]) -> None:
    folder, printed = done
    rows, said = results_of(folder, "judge"), " ".join(printed.split())
    told, none, wrong = (
        one(rows, "accuracy", JUDGE, context, None) for context in ("profile", "none", "wrong:profile")
    )
    shown = [f"{100 * row['value']:.1f}" for row in (told, none, wrong)]
    assert (
        f"in {shown[0]} % of 144 questions; told nothing, in {shown[1]} %; told somebody else's profile, in {shown[2]} %"
        in said
    )
    lift = one(rows, "lift", JUDGE, "profile", None)
    assert f"Knowing the person adds {points(lift, ' points')}." in said
    overlap, longer = (
        one(rows, "accuracy", f"rule:{rule}", "profile", None) for rule in ("overlap", "length")
    )
    assert (
        f"right in {100 * overlap['value']:.1f} %, the longer one in {100 * longer['value']:.1f} %." in said
    )
    assert {row["coverage"] for row in (told, overlap, longer)} == {1.0}


def test_the_assistants_printed_figures_and_gates_are_those_of_the_results(done: tuple[Path, str]) -> None:
    folder, printed = done
    rows, generic = results_of(folder, "assistant"), results_of(folder, "assistant", against="generic")
    said = " ".join(printed.split())
    lifts = []
    for rater, whose in ((JUDGE, "recorded judge"), (LABELS, "authors' labels")):
        lifts.append(one(rows, "lift", rater, "profile", WITH))
        win = one(generic, "win_rate", rater, "profile", WITH)
        assert re.search(rf"{re.escape(share(win, ' %'))} (of 144 questions )?by the {whose}", said)
        nothing = one(rows, "lift", rater, "profile", WITHOUT)
        assert (nothing["value"], nothing["low"]) == (0.0, None)
    outcomes = {}
    for bar in (0.02, 0.05, 0.2):
        low, high = (min(row[end] for row in lifts) for end in ("low", "high"))
        outcomes[bar] = "passes" if low >= bar else "fails" if high < bar else "cannot tell"
    assert f"points, {outcomes[0.02]} with memory and fails without it." in said
    assert f"lift=0.05 {outcomes[0.05]} and lift=0.2 {outcomes[0.2]}." in said
    assert len(set(outcomes.values())) == 3


def test_the_figures_follow_from_the_recording_and_the_labels(done: tuple[Path, str]) -> None:
    """Computed here once more, from the files alone."""
    folder, _ = done
    scores = {
        row["key"]: row["letter_scores"]["likelihood"]
        for row in map(json.loads, RECORDING.read_text(encoding="utf-8").splitlines())
    }
    gold = {
        row["item"]: int(row["label"])
        for row in map(json.loads, (FOLDER / "gold.jsonl").read_text(encoding="utf-8").splitlines())
        if f"{row['item']}|none|0|0" in scores
    }
    assert len(gold) == 144

    def choice(item: str, context: str, bare: bool = False) -> int:
        told, untold = ([scores[f"{item}|{one}|{i}|0"] for i in (0, 1)] for one in (context, "none"))
        gains = told if bare or context == "none" else [a - b for a, b in zip(told, untold, strict=True)]
        return gains.index(max(gains))

    def wins(judge: dict[str, int], bare: bool = False) -> list[float]:
        return [
            0.5 if ours == theirs else float(ours == judge[item])
            for item in gold
            for ours in [choice(item, "memory", bare)]
            for theirs in (choice(item, "none"), choice(item, "wrong:memory", bare))
        ]

    accuracy = sum(choice(item, "profile") == label for item, label in gold.items()) / len(gold)
    assert one(results_of(folder, "judge"), "accuracy", JUDGE, "profile", None)["value"] == pytest.approx(
        accuracy
    )
    rows = results_of(folder, "assistant")
    by_profile = {item: choice(item, "profile") for item in gold}
    for rater, judge in ((JUDGE, by_profile), (LABELS, gold)):
        assert one(rows, "win_rate", rater, "profile", WITH)["value"] == pytest.approx(mean(wins(judge)))
    bare = wins(by_profile, bare=True)
    lift = mean(bare) - max(
        0.5, mean(wins({item: choice(item, "wrong:profile") for item in gold}, bare=True))
    )
    assert f"({100 * mean(one != 0.5 for one in bare):.0f} % of comparisons)" in NOTE_ASSISTANT
    assert f"the lift would be {100 * lift:.1f} points" in NOTE_ASSISTANT


def test_what_is_shipped_is_part_of_the_recording_of_the_docs() -> None:
    shipped = RECORDING.read_text(encoding="utf-8").splitlines()
    assert set(shipped) <= set(SOURCE.read_text(encoding="utf-8").splitlines())
    assert len(shipped) == len(set(shipped)) == 144 * 5 * 2


def test_the_judge_is_told_of_the_assistants_people_what_it_was_told_when_recorded(
    done: tuple[Path, str],
) -> None:
    """Its recorded figures are used again for the assistant's answers: right only if every context is the same text."""
    folder, _ = done
    told: dict[str, set[tuple[str, str, str]]] = {}
    runs = json.loads((folder / "results.json").read_bytes())["runs"]
    with Store(str(folder / "store.db")) as store:
        for name in ("judge", "assistant"):
            run = pf.load(runs[name]["run"], store=store)
            people = dict(run.items.select("item", "person").iter_rows())
            asks = (
                run_answers(store, run.record.id).filter(status="ok").select("item", "context", "context_id")
            )
            told[name] = {
                (people[item], context, context_id)
                for item, context, context_id in asks.iter_rows()
                if context == "wrong:profile"
            }
    assert len(told["judge"]) == 25
    assert told["assistant"] == told["judge"]


def test_it_fits_a_terminal_and_says_where_to_go_on(done: tuple[Path, str]) -> None:
    folder, printed = done
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 30
    assert "4. Do live models run on this machine?" in printed
    assert "The assistant is scripted: " in printed
    assert lines[-2] == "Report: demo/report.html"
    assert lines[-1].endswith("personafit run starter --rater openai:MODEL@http://HOST/v1")
    assert not re.search(
        r"<(script|link|img)[^>]+(src|href)=.https?:", (folder / "report.html").read_text("utf-8")
    )


def test_the_page_answers_the_questions_that_the_terminal_asks(done: tuple[Path, str]) -> None:
    folder, printed = done
    page = (folder / "report.html").read_text("utf-8")
    for question in (*QUESTIONS, LIVE_TITLE):
        assert question in printed
        assert f"<dt>{escape(question)}</dt>" in page


@pytest.mark.slow
def test_a_dozen_live_asks_and_no_more(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    with Store(tmp_path / "store.db") as store:
        run, said = demo._run_live(store, 300.0)
        assert run is not None
        assert list(run.judgments.filter(rater="embedded")["status"]) == ["ok"] * 12
    assert "(SmolLM2, 135M parameters) answered 12 of 12 asks." in said


def test_without_the_embedded_model_or_on_a_busy_machine_the_rest_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "store.db") as store:
        run, busy = demo._run_live(store, 0.0)
        assert run is None
        monkeypatch.setattr("personafit.models.embedded._installed", lambda: None)
        run, missing = demo._run_live(store)
        assert run is None
    assert busy.startswith("Not shown: ")
    assert "pip install" in missing
