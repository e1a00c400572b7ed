"""Odd replies and passing faults, within one process: what they become in the store, and what is tried again."""

import socket
from pathlib import Path
from typing import Any

import pytest

from personafit import Status, Store, UserError
from personafit.benchmarks import RunConfig
from personafit.engine import RetryPolicy, Summary
from personafit.models.chat import THINKING
from personafit.store import run_answers
from tests.faults.world import Answer, answers, asks, carry_out, texts, write_benchmark
from tests.stub_endpoint import LONG_REPLY, ODD_READ, StubEndpoint, sort_of_thought

IMPATIENT = RetryPolicy(attempts=3, first_pause=0.001, seconds=5.0)
ITEMS = 12
ASKS = 2 * ITEMS


class World:
    """A run against one endpoint that can be taken up again."""

    def __init__(self, folder: Path, items: int = ITEMS) -> None:
        self.store = folder / "store.db"
        self._folder = write_benchmark(folder / "village", items)

    def run(self, spec: str, retry: frozenset[Status] = frozenset()) -> Summary:
        config = RunConfig(str(self._folder), raters=[spec], contexts=["profile"], retry=retry)
        return carry_out(self.store, config, IMPATIENT)

    def answers(self) -> list[Answer]:
        return [row for row in answers(self.store) if row[1].startswith("openai:")]

    def column(self, name: str) -> set[Any]:
        """The values of a column of asks, the endpoint's only."""
        with Store(self.store) as store:
            frame = run_answers(store, store.run("last").id)
        return set(frame.filter(frame["tokens_in"] > 0)[name])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("fault", ["overloaded", "overloaded_soon", "error", "cut", "html", "empty"])
def test_a_passing_fault_is_only_a_delay(world: World, endpoint: StubEndpoint, fault: str) -> None:
    endpoint.behave("letters", fault, times=2)
    summary = world.run(endpoint.spec())
    assert summary.failed == 0
    assert len(endpoint.requests) == ASKS + 2
    assert [row[5] for row in world.answers()] == ["ok"] * ASKS


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("overloaded_soon", "overloaded (HTTP 429)"),
        ("wrong_shape", "not a chat completion"),
        ("too_long", "rejected the request (HTTP 400) (maximum context length"),
    ],
)
def test_an_endpoint_that_is_down_ends_its_lane_only(
    world: World, endpoint: StubEndpoint, fault: str, said: str
) -> None:
    endpoint.behave(fault)
    summary = world.run(endpoint.spec())
    lanes = {lane.name: lane for lane in summary.lanes}
    stopped = lanes[endpoint.spec()].stopped
    assert stopped is not None
    assert said in stopped
    assert "asks in a row failed" in stopped
    assert lanes["rule:length"].stopped is None
    assert lanes["rule:length"].finished == ITEMS
    assert world.answers() == [], "a failure is never a score"
    endpoint.behave("letters")
    assert world.run(endpoint.spec()).failed == 0
    assert len(world.answers()) == ASKS


def test_a_wait_of_a_day_is_not_waited_for(world: World, endpoint: StubEndpoint) -> None:
    endpoint.behave("overloaded_day")
    summary = world.run(endpoint.spec())
    assert summary.last_failure is not None
    assert "Daily limit reached" in summary.last_failure
    assert len(endpoint.requests) <= ASKS


def test_nobody_listens(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and never listening: connections are refused
        summary = world.run(f"openai:stub@http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert summary.last_failure is not None
    assert "/v1 cannot be reached (" in summary.last_failure
    assert "ssl" not in summary.last_failure


@pytest.mark.parametrize("parameter", ["logprobs", "max_tokens", "temperature"])
def test_a_rejected_parameter_is_left_out_by_all(
    world: World, endpoint: StubEndpoint, parameter: str
) -> None:
    endpoint.behave(f"no_{parameter}")
    summary = world.run(endpoint.spec())
    assert summary.failed == 0, summary.last_failure
    assert [row[5] for row in world.answers()] == ["ok"] * ASKS
    rejected = [body for body in endpoint.requests if parameter in body]
    assert len(endpoint.requests) == ASKS + len(rejected)
    assert len(rejected) <= 16, "those under way at once when the first one came back"


def test_letters_and_plain_replies_give_the_same_choices(tmp_path: Path, endpoint: StubEndpoint) -> None:
    chosen = {}
    for behaviour in ("letters", "plain", "think", "think_unopened", "reasoning_content"):
        endpoint.behave(behaviour)
        world = World(tmp_path / behaviour)
        assert world.run(endpoint.spec()).failed == 0
        chosen[behaviour] = [(row[0], row[3], row[7]) for row in world.answers()]
        reasoning = {"Let me see."} if behaviour not in ("letters", "plain") else {None}
        assert texts(world.store, "reasoning") == reasoning
    assert len({str(choices) for choices in chosen.values()}) == 1, (
        "the verdict is the prompt's, however it is told"
    )
    assert {row[2] for row in chosen["letters"]} == {"0", "1"}


def test_prose_is_asked_once_more_and_then_left_unparsed(world: World, endpoint: StubEndpoint) -> None:
    endpoint.behave("prose")
    assert world.run(endpoint.spec()).failed == 0
    assert len(endpoint.requests) == 2 * ASKS
    assert {row[5:] for row in world.answers()} == {("unparsed", "unparsed", None, None)}
    world.run(endpoint.spec())
    assert len(endpoint.requests) == 2 * ASKS, "unparsed is final"


def test_retry_asks_again_what_was_unparsed_and_the_later_answer_counts(
    world: World, endpoint: StubEndpoint
) -> None:
    endpoint.behave("prose")
    world.run(endpoint.spec())
    endpoint.behave("letters")
    world.run(endpoint.spec(), retry=frozenset({Status.UNPARSED}))
    assert len(world.answers()) == 2 * ASKS, "the earlier asks are kept"
    assert world.column("status") == {"ok"}
    assert world.column("generation") == {1}
    requests = len(endpoint.requests)
    world.run(endpoint.spec(), retry=frozenset({Status.UNPARSED}))
    assert len(endpoint.requests) == requests, "nothing is unparsed any more"


def test_a_model_that_turns_out_to_reason_loses_no_ask_that_was_under_way(tmp_path: Path) -> None:
    """The server holds its first replies back until 16 asks are under way, and only some replies show that it reasons."""
    items, together = 96, 16
    with StubEndpoint("reasons") as endpoint:
        endpoint.together = together
        world = World(tmp_path, items)
        summary = world.run(endpoint.spec())
        assert summary.failed == 0, summary.last_failure
    assert [row[5:7] for row in world.answers()] == [("ok", "ok")] * 2 * items
    first = endpoint.requests[:together]
    assert {body["max_tokens"] for body in first} == {16}
    assert {sort_of_thought(body) for body in first} == {0, 1, 2, 3}, "replies of every sort"


def test_a_model_that_only_talks_is_given_room_in_vain_but_not_every_time(
    world: World, endpoint: StubEndpoint
) -> None:
    endpoint.behave("long")
    world.run(endpoint.spec(",concurrency=1"))
    assert {row[5] for row in world.answers()} == {"unparsed"}
    assert len(endpoint.requests) == 2 * ASKS + 1
    assert sorted({body["max_tokens"] for body in endpoint.requests}) == [16, 16 + THINKING]


def test_a_missing_key_ends_a_run_before_anything_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        world.run("openai:gpt-4.1-mini")
    assert not world.store.exists() or not asks(world.store, "ok")


@pytest.mark.parametrize("behaviour", ["refusal", "content_filter"])
def test_refusals_are_refusals(world: World, endpoint: StubEndpoint, behaviour: str) -> None:
    endpoint.behave(behaviour)
    assert world.run(endpoint.spec()).failed == 0
    assert {row[5:] for row in world.answers()} == {("refused", "refused", None, None)}
    assert len(endpoint.requests) == ASKS, "a refusal is not argued with"


@pytest.mark.parametrize(
    ("behaviour", "stored"), [("long", LONG_REPLY), ("odd", ODD_READ.replace("\x00", "\ufffd"))]
)
def test_long_and_odd_replies_are_kept_whole(
    world: World, endpoint: StubEndpoint, behaviour: str, stored: str
) -> None:
    endpoint.behave(behaviour)
    assert world.run(endpoint.spec()).failed == 0
    assert {row[5] for row in world.answers()} == {"unparsed"}
    assert texts(world.store, "reply") == {stored}


def test_a_revoked_key_stops_the_lane_and_loses_nothing(world: World, endpoint: StubEndpoint) -> None:
    endpoint.behave("unauthorized", "letters", times=5)
    summary = world.run(endpoint.spec(",concurrency=1"))
    (lane,) = (lane for lane in summary.lanes if lane.stopped)
    assert (lane.finished, lane.failed) == (5, 0)
    assert len(asks(world.store, "ok")) == 5 + 2 * ITEMS
    assert len(endpoint.requests) == 6
