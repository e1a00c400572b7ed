"""A run that is killed in the middle of its dialogues goes on from the last turn of each: none is asked for twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from sqlalchemy import func, select

from personafit import Store
from personafit.simulate import StopReason, dialogues
from personafit.store import tables as t
from tests.scripted import run
from tests.simulate.talking import Talking, configuration, write_tasks

PEOPLE = 6
PATIENCE = (
    31  # requests that are answered before the endpoint stops answering: in the midst of twelve dialogues
)
PATIENT_SECONDS = 60


def stored_asks(store: Store) -> int:
    """How many asks are committed."""
    return int(store.frame(select(func.count()).select_from(t.asks)).item())


def await_asks(path: Path, count: int) -> None:
    """Wait until so many asks are committed."""
    end = time.monotonic() + PATIENT_SECONDS
    with Store(path) as store:
        while stored_asks(store) < count:
            assert time.monotonic() < end, f"{stored_asks(store)} of {count} turns were stored"
            time.sleep(0.05)


def turns_asked(endpoint: Talking) -> dict[str, int]:
    """How often each turn was asked for; judges may well see two dialogues that are the same word for word."""
    return {key: count for key, count in endpoint.asked.items() if not key.startswith('["judge"')}


def test_kill_in_mid_dialogue_repeats_no_finished_turn(tmp_path: Path) -> None:
    data, path = write_tasks(tmp_path / "data", PEOPLE), tmp_path / "store.db"
    with Talking() as endpoint:
        endpoint.patience = PATIENCE
        command = [
            sys.executable,
            "-m",
            "personafit",
            "run",
            "personalens",
            "--data",
            str(data),
            "--system-context",
            "I",
        ]
        command += ["--system", endpoint.model("assistant"), "--user", endpoint.model("user")]
        command += ["--rater", endpoint.model("judge"), "--store", str(path)]
        process = subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            await_asks(path, PATIENCE)
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        finished = set(endpoint.answered)
        assert sum(endpoint.answered.values()) == PATIENCE
        endpoint.patience = None
        with Store(path) as store:
            again = run(store, configuration(data, endpoint, system_contexts=["I"]))
            found = list(dialogues(store, again.run.id))
            assert again.run.finished is not None
    assert len(found) == 2 * PEOPLE
    assert {dialogue.stop for dialogue in found} == {StopReason.SATISFIED}
    assert {dialogue.exchanges for dialogue in found} == {3}
    assert all(endpoint.asked[key] == 1 for key in finished)
    # What was under way at the kill is the only thing asked for twice.
    assert set(turns_asked(endpoint).values()) == {1, 2}


def test_the_same_run_again_asks_nothing(tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data")
    with Talking() as endpoint, Store(tmp_path / "store.db") as store:
        first = run(store, configuration(data, endpoint, system_contexts=["none", "D"]))
        asked = len(endpoint.requests)
        before = {dialogue.id: dialogue for dialogue in dialogues(store, first.run.id)}
        second = run(store, configuration(data, endpoint, system_contexts=["none", "D"]))
        assert len(endpoint.requests) == asked
        assert {dialogue.id: dialogue for dialogue in dialogues(store, second.run.id)} == before
        assert sum(lane.reused for lane in second.summary.lanes) == sum(
            lane.finished for lane in first.summary.lanes
        )
        # A run that wants more of the same shares what is there, and its own record knows all of it.
        third = run(store, configuration(data, endpoint, system_contexts=["none", "D", "S"]))
        assert third.run.name != first.run.name
        assert len(list(dialogues(store, third.run.id))) == 18
        assert len(list(dialogues(store, first.run.id))) == 12


def test_a_budget_ends_dialogues_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data")
    with Talking() as endpoint, Store(tmp_path / "store.db") as store:
        price = ",price=100/100"
        roles = {
            "systems": [endpoint.model("assistant", price)],
            "user": endpoint.model("user", price),
            "system_contexts": ["I"],
        }
        judges = [endpoint.model("judge", ",price=0/0")]
        # A stub's reply costs 110 tokens, so 0.011 USD: enough for 20 of the 42 turns, less the 800 tokens that each may be answered with.
        first = run(store, configuration(data, endpoint, **roles, raters=judges, budget=0.22))
        assert first.summary.lanes[0].stopped
        assert "budget" in first.summary.lanes[0].stopped
        assert first.summary.cost <= 0.22
        assert 8 < len(endpoint.requests) <= 20
        second = run(store, configuration(data, endpoint, **roles, raters=judges, budget=5.0))
        assert second.run.finished is not None
        assert {dialogue.stop for dialogue in dialogues(store, second.run.id)} == {StopReason.SATISFIED}
    assert set(turns_asked(endpoint).values()) == {1}


def test_forgetting_somebody_leaves_the_dialogues_of_others_whole(tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data")
    with Talking() as endpoint, Store(tmp_path / "store.db") as store:
        finished = run(store, configuration(data, endpoint, system_contexts=["none", "I", "wrong:I"]))
        before = {dialogue.id: dialogue for dialogue in dialogues(store, finished.run.id)}
        about = {key: store.frame(select(t.products.c.about).where(t.products.c.id == one.system_context_id)).item()
                 for key, one in before.items()}  # fmt: skip
        store.forget("p0")
        after = {dialogue.id: dialogue for dialogue in dialogues(store, finished.run.id)}
        judged = set(store.frame(select(t.asks.c.item).where(t.asks.c.item.like("dialogue-%")))["item"])
    others = {key for key, dialogue in before.items() if "p0" not in (dialogue.person, about[key])}
    assert 0 < len(others) < len(before)
    assert after == {key: before[key] for key in others}
    assert judged == others
