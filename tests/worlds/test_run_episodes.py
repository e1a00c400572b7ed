"""`run world` through the store: agents that act, err, never stop or raise; what is asked once is never asked again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import personafit as pf
from personafit import Store, UserError
from personafit.benchmarks import Finished
from personafit.kinds import run_lines
from personafit.kinds.episode import load_units
from personafit.worlds import AGENTS, EpisodeRecord, episode, shipped
from tests.scripted import run
from tests.simulate.test_resume import await_asks
from tests.worlds.acting import Acting, configuration

REQUESTS = 6


def played(store: Store, done: Finished, system: str | None = None) -> pl.DataFrame:
    """The episodes of a run, of one system by its name."""
    units = load_units(store, done.run)
    members = [*done.run.config["systems"], *done.run.config["controls"]]
    names = {one["fingerprint"]: one["name"] for one in members}
    frame = units.with_columns(system=pl.col("agent").replace_strict(names, default=None))
    return frame if system is None else frame.filter(system=system)


def only(store: Store, done: Finished) -> pl.DataFrame:
    """The episodes of the run's only system."""
    return played(store, done, done.run.config["systems"][0]["name"])


@pytest.mark.parametrize(("system", "options"), [("agent", ""), ("agent-text", ",tools=text")])
def test_a_model_that_acts_does_what_was_asked(tmp_path: Path, system: str, options: str) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        one = {"where": ["level=easy"]} if options else {}  # by text there is one call to a reply
        done = run(store, configuration(endpoint, system, options, **one))
        found = only(store, done)
        assert done.run.finished is not None
        assert len(found) == REQUESTS
        assert found["success"].to_list() == [1.0] * REQUESTS
        assert found["regret"].max() == pytest.approx(0.0)
        assert found["malformed"].sum() == found["impossible"].sum() == 0
        controls = played(store, done).filter(pl.col("system").is_in(list(AGENTS)))
        assert len(controls) == REQUESTS * len(AGENTS)
        sent = [body for body in endpoint.requests if "tools" in body]
        assert bool(sent) == (not options)


def test_the_same_command_again_asks_nothing(tmp_path: Path) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        first = run(store, configuration(endpoint, "agent-asks", user=endpoint.model("user")))
        asked = len(endpoint.requests)
        before = played(store, first)
        again = run(store, configuration(endpoint, "agent-asks", user=endpoint.model("user")))
        assert len(endpoint.requests) == asked
        assert played(store, again).equals(before)
        assert again.run.name == first.run.name


PATIENCE = 17


def test_a_killed_run_goes_on_and_asks_no_finished_step_twice(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Acting() as endpoint:
        endpoint.patience = PATIENCE
        command = [sys.executable, "-m", "personafit", "run", "world", "--limit", "8", "--store", str(path)]
        command += ["--system", endpoint.model("agent-asks"), "--user", endpoint.model("user")]
        process = subprocess.Popen(
            command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            await_asks(path, PATIENCE + 8 * len(AGENTS))
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        finished = set(endpoint.answered)
        endpoint.patience = None
        with Store(path) as store:
            again = run(store, configuration(endpoint, "agent-asks", user=endpoint.model("user"), limit=8))
            assert again.run.finished is not None
            assert len(only(store, again)) == 8
    assert all(endpoint.asked[key] == 1 for key in finished if key in endpoint.answered and _unique(key))
    assert set(endpoint.asked.values()) <= {1, 2}


def _unique(key: str) -> bool:
    """Whether nothing but one step of one episode is asked for so."""
    return not json.loads(key)[0].startswith("user")


def test_broken_calls_are_counted_and_the_episode_goes_on(tmp_path: Path) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        found = only(store, run(store, configuration(endpoint, "agent-broken")))
        assert len(found) == REQUESTS
        assert set(found["success"]) == {0.0}
        assert set(found["regret"]) == {1.0}
        assert set(found["malformed"]) == {
            5.0
        }  # broken JSON, an unknown tool, two wrong types, an empty reply
        assert set(found["impossible"]) == {1.0}


def test_an_agent_that_never_stops_is_stopped(tmp_path: Path) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        done = run(store, configuration(endpoint, "agent-endless", limit=2))
        found = only(store, done)
        assert done.run.finished is not None
        assert set(found["stop"]) == {"steps"}
        assert set(found["steps"]) == {30.0}
        assert len(endpoint.requests) == 60


def test_words_are_no_deeds_and_a_refusal_is_a_loss(tmp_path: Path) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        for system in ("agent-talks", "agent-refuses"):
            found = only(store, run(store, configuration(endpoint, system)))
            assert (set(found["success"]), set(found["regret"])) == ({0.0}, {1.0})


def test_a_user_that_ends_early_spoils_the_episode(tmp_path: Path) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        user = endpoint.model("user-ends")
        done = run(store, configuration(endpoint, "agent-asks", user=user))
        found = only(store, done)
        assert set(found["ended_early"]) == {1.0}
        assert done.run.config["user"]["name"] == user
        results = pf.load("last", store=store).results.filter(pl.col("metric") == "spoilt")
        assert set(results.filter(pl.col("control").is_null())["value"]) == {1.0}


def test_an_endpoint_that_takes_no_tools_says_what_to_do(tmp_path: Path) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        endpoint.broken = {"agent": 400}
        endpoint.why = "this model does not support tools"
        done = run(store, configuration(endpoint))
        assert done.run.finished is None
        assert any("add ,tools=text to the spec" in str(lane.stopped) for lane in done.summary.lanes)


@pytest.mark.slow
def test_the_embedded_model_plays_ten_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("xllamacpp", reason="the embedded engine is not installed")
    monkeypatch.setattr(episode, "MOST_STEPS", 2)
    with Store(tmp_path / "s.db") as store:
        done = run(store, configuration_of("embedded,threads=1", limit=10))
        found = only(store, done)
        assert done.run.finished is not None
        assert len(found) == 10
        assert done.summary.failed == 0
        assert set(found["stop"]) <= {"agent", "user", "steps"}
        assert "embedded,threads=1 told “profile” did what was asked in" in str(
            pf.load("last", store=store).verdict
        )


# -- agents in Python --------------------------------------------------------------------------------------------------

MODULE = """
def first(request, tools, person, today):
    assert today and request
    for domain in tools.schemas[0]["parameters"]["properties"]["domain"]["enum"][:8]:
        found = tools.search(domain=domain)
        assert isinstance(found, dict), found
    tools.search(domain=object())
    tools.call("__class__")
    return tools.ask_user(text="What would you like?")

async def waits(request, tools):
    tools.search(domain="meals")

def raises(request, tools):
    raise ValueError("no idea")

def endless(request, tools):
    while True:
        try:
            tools.search(domain="meals")
        except Exception:
            pass

def hangs(request, tools):
    import time
    time.sleep(60)

def interrupts(request, tools):
    raise KeyboardInterrupt

def late(request, tools):
    raise TimeoutError("no route")

def falls(request, tools):
    tools.cancel(id="bookings-1")
    tools.call("\\ud800", text="\\ud800")
    tools.say("\\ud800\\x00")
    tools.search = tools.state = None
    raise ValueError("no idea")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "world_agents.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "python:world_agents"


def test_a_function_gets_the_tools(tmp_path: Path, module: str) -> None:
    result = pf.evaluate(
        "world", systems=[f"{module}:first"], limit=3, store=tmp_path / "s.db", progress=False
    )
    units = load_units(result._store, result.record)
    own = units.filter(pl.col("agent") == result.record.config["systems"][0]["fingerprint"])
    assert len(own) == 3
    assert set(own["malformed"]) == {2.0}
    assert all(own["questions"] >= 1)


@pytest.mark.parametrize(
    ("name", "stop", "why"),
    [
        ("waits", "agent", None),
        ("raises", "failed", "raised ValueError: no idea"),
        ("endless", "steps", None),
        ("hangs,timeout=0.2", "failed", "did not end within 0.2 s"),
        ("interrupts", "failed", "raised KeyboardInterrupt"),
        ("late", "failed", "raised TimeoutError: no route"),
    ],
)
def test_functions_that_misbehave_lose_and_say_why(
    tmp_path: Path, module: str, name: str, stop: str, why: str | None
) -> None:
    with Store(tmp_path / "s.db") as store:
        done = run(store, configuration_of(f"{module}:{name}"))
        found = only(store, done)
        assert set(found["stop"]) == {stop}
        assert (set(found["success"]), set(found["regret"])) == ({0.0}, {1.0})
        if why is not None:
            assert why in str(done.summary.last_failure)


def test_what_a_function_did_before_it_raised_is_kept(tmp_path: Path, module: str) -> None:
    with Store(tmp_path / "s.db") as store:
        found = only(store, run(store, configuration_of(f"{module}:falls")))
        assert set(found["stop"]) == {"failed"}
        assert set(found["collateral"]) == {1.0}
        assert set(found["steps"]) == {3.0}
        first = found["episode"][0]
        record = EpisodeRecord.from_json(json.dumps(json.loads(store.texts([first])[first])["record"]))
        assert [one.changes != () for one in record.turns] == [True, False, False]


def test_a_user_whose_endpoint_stumbles_is_asked_again(tmp_path: Path, module: str) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        endpoint.stumbles = 2
        done = run(store, configuration_of(f"{module}:first", user=endpoint.model("user")))
        assert endpoint.stumbles == 0
        assert done.summary.failed == 0
        assert set(only(store, done)["stop"]) <= {"agent", "user"}


def configuration_of(system: str, **more: Any) -> Any:
    from personafit.benchmarks import RunConfig

    return RunConfig("world", systems=[system], **{"limit": 2, **more})


def test_a_function_may_be_handed_over_and_talk_with_a_model(tmp_path: Path) -> None:
    heard: list[str] = []

    def mine(request: str, tools: Any) -> None:
        heard.append(tools.ask_user(text="What would you like?"))

    with Acting() as endpoint:
        pf.evaluate(
            "world",
            systems=[mine],
            user=endpoint.model("user"),
            limit=2,
            store=tmp_path / "s.db",
            progress=False,
        )
    assert heard == ["No preference."] * 2


# -- what an agent is told --------------------------------------------------------------------------------------------

CONTEXTS = """
def recall(person, item):
    return f"Recalled for {person.id} at {item.prompt}: {person.memories[0].text}"

def forgets(person):
    raise KeyError(person.id)

async def slow(person):
    return "Late."
"""


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "world_contexts.py").write_text(CONTEXTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "python:world_contexts"


def test_an_agent_is_told_what_its_context_says(tmp_path: Path, contexts: str) -> None:
    heard: list[tuple[str, str]] = []

    def listens(request: str, tools: Any, person: str) -> None:
        heard.append((request, person))

    with Acting() as endpoint:
        induced = f"induced@{endpoint.model('inducer')}"
        own = f"{contexts}:recall"
        run = pf.evaluate(
            "world",
            systems=[listens],
            system_contexts=["none", "profile", "memory", induced, own, "wrong:profile", f"wrong:{own}"],
            limit=3,
            store=tmp_path / "s.db",
            progress=False,
        )
    lines = {
        line.system_context: line.frame for line in run_lines(run._store, run.record).lines if line.asked_for
    }
    assert len(heard) == 3 * len(lines) == 21
    told: dict[str, list[str]] = {}
    for request, text in heard:
        told.setdefault(request, []).append(text)
    for item, person in run.items.select("item", "person").iter_rows():
        request = shipped().requests[item].text
        texts = told[request]
        resident = shipped().residents[person].person
        assert "" in texts
        assert f"Recalled for {person} at {request}: {resident.memories[0].text}" in texts
        wrong = [text for text in texts if text.startswith("Recalled") and f"for {person} " not in text]
        assert len(wrong) == texts.count("Drinks:\n  Likes: tea") == 1
    assert {str(system_context) for system_context in lines} >= {own, f"wrong:{own}", induced}


def test_the_agents_own_model_induces_the_profile_it_is_told(tmp_path: Path) -> None:
    with Acting() as endpoint, Store(tmp_path / "s.db") as store:
        system = endpoint.model("agent-text", ",tools=text")
        done = run(store, configuration_of(system, system_contexts=["induced"], where=["level=easy"]))
        assert done.run.finished is not None
        assert len(only(store, done)) == 2
        openings = [
            body["messages"][0]["content"] for body in endpoint.requests if len(body["messages"]) == 2
        ]
        assert openings
        assert all("Likes: tea" in one for one in openings)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("forgets", "context python:world_contexts:forgets raised KeyError for "),
        ("slow", "context python:world_contexts:slow must return a text, not coroutine"),
        ("nothing", "world_contexts has no 'nothing'"),
        ("__name__", "a context is a function that takes a person, and the item if it wants"),
        ("recall,version=2", "unknown option 'version'"),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine")
def test_a_context_of_ones_own_that_fails_is_named(
    tmp_path: Path, contexts: str, name: str, why: str
) -> None:
    with pytest.raises(UserError, match=why):
        pf.evaluate(
            "world",
            systems=[lambda request, tools: None],
            system_contexts=f"{contexts}:{name}",
            limit=2,
            store=tmp_path / "s.db",
            progress=False,
        )


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"raters": ["rule:length"]}, "--rater means nothing in `run world`"),
        ({"contexts": ["profile"]}, "Say what systems are told with --system-context"),
        ({"systems": ["oracle"], "system_contexts": ["attic"]}, "Unknown context 'attic'"),
        (
            {"data": "tests"},
            "holds no world: give --data a folder with a TOML file for each domain, or a copy of",
        ),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why):
        pf.evaluate("world", store=tmp_path / "s.db", progress=False, **arguments)


def test_episodes_in_a_folder_have_no_world(tmp_path: Path) -> None:
    person = '{"id": "%s", "language": "en", "facets": {"Likes": "tea"}}\n'
    for name, text in {
        "benchmark.toml": 'name = "f"\nversion = "1"\n',
        "people.jsonl": person % "a" + person % "b",
        "products.jsonl": "",
        "items.jsonl": '{"id": "i", "kind": "episode", "person": "a", "prompt": "x", "products": []}\n',
        "gold.jsonl": "",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="items of kind episode need their world"):
        pf.evaluate(tmp_path, store=tmp_path / "s.db", progress=False)
