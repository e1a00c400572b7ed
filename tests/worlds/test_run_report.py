"""What is read back from a run of a world: figures, verdict, ladder, viewer, gate, comparison, and what forgetting leaves."""

from collections.abc import Iterator
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pytest

import personafit as pf
from personafit import Store
from personafit.api.forgetting import forget
from personafit.kinds import run_lines
from personafit.reports.episode import EpisodeReport
from personafit.reports.episode_viewer import episode_items
from personafit.reports.gate import gate_verdicts
from personafit.reports.result import Result
from personafit.statistics import cluster_mean
from personafit.testing import assert_metric
from personafit.worlds import AGENTS
from tests.reports.unpacking import unpacked
from tests.scripted import invoke

LIMIT, SAMPLES = 24, 3


def hasty(request: str, tools: Any, person: str) -> str:
    """Commits the first offers that the profile speaks of, asks now and then, and tells a contact too much."""
    hasty.calls += 1  # type: ignore[attr-defined]
    domains = tools.schemas[0]["parameters"]["properties"]["domain"]["enum"]
    for domain in domains:
        offers = tools.search(domain=domain).get("offers", []) if domain not in OWN else []
        if offers:
            best = max(offers, key=lambda offer: sum(str(value) in person for value in offer.values()))
            needed = tools.get(id=best["id"]).get("slots", [])
            if hasty.calls % 3 == 0:  # type: ignore[attr-defined]
                tools.ask_user(text="What is your budget?")
            slots = {name: {"date": "2026-03-09", "people": 2}[name] for name in needed if name != "note"}
            tools.commit(id=best["id"], slots=slots)
    contacts = tools.search(domain="contacts")["contacts"]
    if contacts:
        tools.send(contact=contacts[0]["title"], text=person[:3000] or "Hello.")
    return "Done."


hasty.calls = 0  # type: ignore[attr-defined]
hasty.version = "1"  # type: ignore[attr-defined]
OWN = ("calendar", "bookings", "orders", "playlists", "contacts", "messages")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pf.Run]:
    with Store(tmp_path_factory.mktemp("world") / "s.db") as store:
        yield pf.evaluate(
            "world",
            systems=[hasty, "majority"],
            system_contexts=["profile", "none", "wrong:profile"],
            limit=LIMIT,
            samples=SAMPLES,
            store=store,
            progress=False,
        )


def value(run: pf.Run, metric: str, system: str, system_context: str | None = None, **where: str) -> Any:
    (found,) = [
        one
        for one in run.figures
        if (one.metric, one.system, one.system_context, one.slice) == (metric, system, system_context, where)
    ]
    return found


def test_every_episode_has_a_row_and_the_controls_part(run: pf.Run) -> None:
    lines = {(line.system, line.system_context): line for line in run_lines(run._store, run.record).lines}
    assert {name for name, system_context in lines if system_context is None} == set(AGENTS)
    assert len(lines["hasty", "profile"].frame) == LIMIT * SAMPLES
    assert len(lines["majority", None].frame) == LIMIT
    assert lines["majority", None].control is None
    assert lines["oracle", None].control
    assert lines["hasty", "none"].control == "no context"
    ladder = [value(run, "regret", name).value for name in ("oracle", "profile", "majority", "wrong-person")]
    assert ladder == sorted(ladder)
    assert {value(run, "success", "oracle", level=level).value for level in ("easy", "medium", "hard")} == {
        1.0
    }


def test_pass_k_is_the_chance_that_all_of_k_succeed(run: pf.Run) -> None:
    line = next(one for one in run_lines(run._store, run.record).lines if one.system_context == "profile")
    won = line.frame.group_by("request").agg(pl.col("success").sum())["success"]
    for k in (2, 3):
        wanted = sum(comb(int(one), k) / comb(SAMPLES, k) for one in won) / LIMIT
        assert value(run, "pass_k", "hasty", "profile", k=str(k)).value == pytest.approx(wanted)


def test_regret_by_questions_adds_up(run: pf.Run) -> None:
    parts = [one for one in run.figures if one.metric == "regret" and "questions" in one.slice]
    mine = [one for one in parts if (one.system, one.system_context) == ("hasty", "profile")]
    whole = value(run, "regret", "hasty", "profile")
    assert sum(one.n for one in mine) == whole.n
    assert sum(one.n * (one.value or 0) for one in mine) / whole.n == pytest.approx(whole.value)


def test_the_verdict_is_about_the_system_beside_the_controls(run: pf.Run) -> None:
    said = str(run.verdict)
    assert "hasty told “profile” did what was asked in" in said
    assert "a profile reader's 0." in said
    assert "wrong:profile" not in said
    assert f"{LIMIT * SAMPLES * 3 + LIMIT} episodes made" in said


def test_the_page_shows_the_ladder_and_every_piece(run: pf.Run, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    run.report(page)
    text = page.read_text(encoding="utf-8")
    for piece in ("Systems among the controls", "Regret by number of questions", "pass^k", "Leaks, errors"):
        assert piece in text
    report = EpisodeReport(run._store, run.record)
    rows = [(row.control is not None, row.cells[1].sort) for row in report.table().rows]
    assert rows == sorted(rows, key=lambda one: (one[0], 9.0 if one[1] is None else one[1]))
    assert not rows[0][0], "a system first, not a control"


def test_the_browser_says_where_regret_arose(run: pf.Run) -> None:
    found = episode_items(run._store, run.record, run_lines(run._store, run.record).lines)
    data = {
        name: [value for one in kind for value in unpacked(one)] for name, kind in found["blocks"].items()
    }
    (index,) = data["index"]
    assert found["facets"][0]["name"] == "system"
    names = [found["facets"][0]["values"][place] for place in index["facets"][0]]
    own = [name in ("hasty", "majority") for name in names]
    assert own == sorted(own, reverse=True)  # those asked for come first
    assert all("regret" in about for about in index["about"])
    changes = [tag for one in data["turns"] for turn in one["turns"] if turn[1] == "tool" for tag in turn[4]]
    assert changes
    assert {tag[0] for tag in changes} == {"+"}
    for name, parts in zip(names, data["marks"], strict=True):
        places = {cells[2][0] for _, _, cells in parts} - {""}
        assert places <= {"profile", "memory", "user"}
        if name == "oracle":
            assert parts[0][2][3][0] != "nothing"
    lost = [cells for parts in data["marks"] for _, _, cells in parts if cells[3][1]]
    assert lost
    assert any(turn[1] == "user" for one in data["turns"] for turn in one["turns"])


def test_what_is_counted_is_found(run: pf.Run) -> None:
    assert value(run, "leaks", "hasty", "profile").value > 0
    assert value(run, "leaks", "hasty", "none").value == 0
    assert value(run, "collateral", "hasty", "profile").value > 0
    assert value(run, "questions", "hasty", "profile").value > 0
    assert value(run, "questions", "asks-everything").value > 3


def test_a_gate_holds_regret_below_its_bar(run: pf.Run) -> None:
    regret = value(run, "regret", "majority")
    inside = (regret.value + regret.high) / 2
    for bar, outcome, said in (
        (regret.high, "passes", f"regret of majority is {regret.value:.3f} "),
        (regret.low - 0.001, "fails", f", above {regret.low - 0.001:g}."),
        (inside, "cannot tell", f"cannot tell whether regret of majority is at most {inside:g}: it is "),
    ):
        (found,) = [one for one in gate_verdicts(run.figures, [("regret", bar)]) if one.subject == "majority"]
        assert (found.outcome, found.side) == (outcome, "at most")
        assert said in found.reason
    (found,) = [one for one in gate_verdicts(run.figures, [("success", 0.0)]) if one.subject == "majority"]
    assert (found.outcome, found.side) == ("passes", "at least")


def test_a_gate_on_regret_from_the_command_line_and_in_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "world", "--system", "majority", "--limit", "60", "--store", "s.db", "--junit", "j.xml"]
    invoke(monkeypatch, tmp_path, *command, "--fail-under", "regret=1.2")
    capsys.readouterr()
    assert "majority at most 1.2" in (tmp_path / "j.xml").read_text()
    first = pf.load("last", store=tmp_path / "s.db")
    (found,) = first.verdict.gate
    assert found.outcome == "passes"
    assert found.sentence.startswith("Gate regret=1.2: passes. Regret of majority is 0.")
    assert found.sentence.endswith(", at most 1.2.")
    assert found.sentence in str(first.verdict)
    assert_metric(first, "regret", at_least=1.2)
    with pytest.raises(AssertionError, match=r"regret of majority is 0\.\d+ \(.*\), above 0\.2\."):
        assert_metric(first, "regret", at_least=0.2)
    first.close()
    invoke(
        monkeypatch,
        tmp_path,
        *command,
        "--fail-under",
        "regret=0.2",
        "--fail-under",
        "regret[level=hard]=0.2",
        code=1,
    )
    said = capsys.readouterr().err
    assert "personafit: regret of majority is 0." in said
    assert ", above 0.2." in said
    assert "regret[level=hard] of majority is " in said


@pytest.mark.parametrize(
    ("values", "bar", "outcome", "said"),
    [
        ([0] * 40, 0.0, "passes", "leaks of s is 0.000, at most 0."),
        ([0] * 40, 0.1, "passes", "leaks of s is 0.000 (0.000 to 0.075), at most 0.1."),
        ([0] * 20, 0.1, "cannot tell", "it is 0.000 (0.000 to 0.150); if that is its true value, about "),
        ([0] * 5, 0.0, "cannot tell", "over 5 people, and at least 6 are needed"),
        ([0] * 39 + [1], 0.0, "fails", "leaks of s is 0.025 (0.000 to 0.0"),
        ([1] * 39 + [0], 0.1, "fails", ", above 0.1."),
    ],
)
def test_a_count_that_is_zero_throughout_can_be_gated(
    values: list[int], bar: float, outcome: str, said: str
) -> None:
    people = [str(place) for place in range(len(values))]
    found = cluster_mean([float(one) for one in values], people, bounds=None)
    found = found if found.low is None else replace(found, low=max(0.0, found.low))
    result = replace(Result.of(found, metric="leaks", system="s"), better="lower")
    (verdict,) = gate_verdicts([result], [("leaks", bar)])
    assert verdict.outcome == outcome
    assert said in verdict.reason


def test_a_folder_with_the_name_of_the_benchmark_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "world").mkdir()
    made = pf.evaluate("world", limit=4, store=tmp_path / "s.db", progress=False)
    said = "This is the benchmark world, not the folder of that name here; `run ./world` runs the folder."
    assert made.record.config["notes"][0] == said
    made.close()


def test_a_run_compares_with_another(run: pf.Run) -> None:
    other = pf.evaluate("world", systems=["profile"], limit=LIMIT, store=run._store, progress=False)
    said = " ".join(pf.compare(run, other).sentences)
    assert "profile" in said
    assert "regret" in said


def test_the_control_episodes_of_another_run_are_not_played_again(run: pf.Run) -> None:
    again = pf.evaluate("world", systems=["profile"], limit=LIMIT, store=run._store, progress=False)
    assert again.summary is not None
    assert {lane.finished for lane in again.summary.lanes} == {0}


def test_a_forgotten_person_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Store(path) as store:
        made = pf.evaluate("world", systems=[hasty], limit=6, store=store, progress=False)
        person = made.items["person"][0]
    done = forget(person, store=path)
    assert done.counts
    with Store(path) as store:
        again = pf.load("last", store=store)
        assert person not in set(again.items["person"])
        texts = store.frame(_episodes())
        assert all(orjson.loads(text)["person"] != person for text in texts["text"])
        assert "did what was asked" in str(again.verdict)


def _episodes() -> Any:
    from sqlalchemy import select

    from personafit.store import tables as t

    return select(t.products.c.text).where(t.products.c.kind == "episode")
