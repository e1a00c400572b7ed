"""The demo as a real process: offline, its figures are those of its results, and those are those of the recording."""

import json
import re
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import personafit as pf
from personafit import Store
from personafit.api import demo
from personafit.api.demo import JUDGE, LABELS, NOTE_ASSISTANT, RECORDING, WITH, WITHOUT
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


def share(row: dict[str, Any]) -> str:
    text = f"{100 * row['value']:.1f}"
    return text if row["low"] is None else f"{text} ({100 * row['low']:.1f}–{100 * row['high']:.1f})"


def points(row: dict[str, Any]) -> str:
    if row["low"] is None:
        return f"{100 * row['value']:.1f}"
    return f"{100 * row['value']:.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"


def line(printed: str, *starts: str) -> str:
    """The only line with these words at its beginning, one after the other."""
    pattern = r"^\s*" + r"\s+".join(map(re.escape, starts)) + r"\s.*$"
    (found,) = re.findall(pattern, printed, re.MULTILINE)
    return str(found)


def test_the_judges_printed_figures_are_those_of_the_results(done: tuple[Path, str]) -> None:
    folder, printed = done
    rows = results_of(folder, "judge")
    titles = {
        JUDGE: JUDGE,
        "rule:overlap": "rule: overlaps more",
        "rule:length": "rule: longer",
    }
    for rater, title in titles.items():
        told, none, wrong = (
            one(rows, "accuracy", rater, context, None) for context in ("profile", "none", "wrong:profile")
        )
        lift = one(rows, "lift", rater, "profile", None)
        shown = (share(told), f"{100 * none['value']:.1f}", f"{100 * wrong['value']:.1f}", points(lift))
        assert re.search(r"\s+".join(map(re.escape, shown)) + "$", line(printed, title)), title
        assert told["coverage"] == 1.0
    assert "144 questions of 25 invented people" in printed


def test_the_assistants_printed_figures_and_gates_are_those_of_the_results(done: tuple[Path, str]) -> None:
    folder, printed = done
    rows, generic = results_of(folder, "assistant"), results_of(folder, "assistant", against="generic")
    lifts = {}
    for rater, title in ((JUDGE, JUDGE), (LABELS, LABELS)):
        lifts[rater] = one(rows, "lift", rater, "profile", WITH)
        win = one(generic, "win_rate", rater, "profile", WITH)
        assert line(printed, WITH, title).split("  ")[-1].strip() == points(lifts[rater])
        assert share(win) in line(printed, WITH, title)
        nothing = one(rows, "lift", rater, "profile", WITHOUT)
        assert (nothing["value"], nothing["low"]) == (0.0, None)
    assert line(printed, WITHOUT, "both").split()[-2:] == ["50.0", "0.0"]
    for bar in (0.02, 0.05, 0.2):
        low, high = (min(row[end] for row in lifts.values()) for end in ("low", "high"))
        outcome = (
            "passes (exit 0)" if low >= bar else "fails (exit 1)" if high < bar else "cannot tell (exit 1)"
        )
        assert f" {outcome}: " in line(printed, f"lift={bar:g}", "with memory")
    assert " fails (exit 1): " in line(printed, "lift=0.02", "without memory")
    assert {"passes", "fails", "cannot tell"} == set(
        re.findall(r"(passes|fails|cannot tell) \(exit", printed)
    )


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
    assert len(lines) <= 40
    assert "4. Do live models run on this machine?" in printed
    assert "Scripted: " in printed
    assert lines[-2] == "Report: demo/report.html"
    assert lines[-1].endswith("personafit run starter --rater openai:MODEL@http://HOST/v1")
    assert not re.search(
        r"<(script|link|img)[^>]+(src|href)=.https?:", (folder / "report.html").read_text("utf-8")
    )


@pytest.mark.slow
def test_a_dozen_live_asks_and_no_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("xllamacpp")
    with Store(tmp_path / "store.db") as store:
        run = demo._run_live(store, 300.0)
        assert run is not None
        assert list(run.judgments.filter(rater="embedded")["status"]) == ["ok"] * 12
    assert "(SmolLM2, 135M parameters) answered 12 of 12 asks." in capsys.readouterr().out


def test_without_the_embedded_model_or_on_a_busy_machine_the_rest_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store(tmp_path / "store.db") as store:
        assert demo._run_live(store, 0.0) is None
        busy = capsys.readouterr().out
        monkeypatch.setattr("personafit.models.embedded._installed", lambda: None)
        assert demo._run_live(store) is None
    missing = capsys.readouterr().out
    assert busy.startswith("   Not shown: ")
    assert "pip install" in missing
