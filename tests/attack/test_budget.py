"""A budget holds, whatever is asked in whatever order, however servers bill, and whatever breaks on the way."""

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

from personafit import Store
from personafit.engine import Lane, RetryPolicy, Runner, Silence
from personafit.models import Transient
from personafit.models.purse import Payment
from tests.conftest import Command
from tests.engine.test_runner import job
from tests.faults.world import write_benchmark, write_lines
from tests.stub_endpoint import BEHAVIOURS, Body, StubEndpoint, completion, verdict

PRICE = (1.0, 4.0)  # USD per million tokens in and out
CHARACTERS = 3.5  # to a token: fewer than is estimated, so every prompt costs more than was held for it
LONG = 5_000_000


class Billing:
    """A server that keeps its own bill; what it says of usage is what it charges."""

    def __init__(self, reply: str | None = None, cut: float = 0.0) -> None:
        self.bill = 0.0
        self.dearest = 0.0
        self._reply, self._cut, self._random = reply, cut, random.Random(7)

    async def __call__(self, stub: StubEndpoint, request: web.Request, body: Body) -> web.StreamResponse:
        text = verdict(body) if self._reply is None else self._reply
        prompt = round(sum(len(message["content"]) for message in body["messages"]) / CHARACTERS)
        out = max(1, round(len(text) / CHARACTERS))
        cost = (prompt * PRICE[0] + out * PRICE[1]) / 1e6
        self.bill += cost
        self.dearest = max(self.dearest, cost)
        if self._random.random() < self._cut:
            return await BEHAVIOURS["cut"](stub, request, body)
        reply = completion(body, text) | {"usage": {"prompt_tokens": prompt, "completion_tokens": out}}
        return web.json_response(reply)


@pytest.fixture
def billing(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Billing:
    server = Billing(**request.param)
    monkeypatch.setitem(BEHAVIOURS, "billing", server)
    return server


def run_within(budget: float, folder: Path, personafit: Command, concurrency: int = 16) -> dict[str, Any]:
    """`personafit run` on a folder under a budget; what it printed as JSON."""
    with StubEndpoint("billing") as endpoint:
        rater = endpoint.spec(f",price={PRICE[0]}/{PRICE[1]},concurrency={concurrency}")
        said = personafit("run", str(folder), "--rater", rater, "--budget", str(budget), "--json", code=1)
    assert "is too small for another ask" in said.err
    body: dict[str, Any] = json.loads(said.out)
    return body


def grow(folder: Path, people: set[str]) -> None:
    """Give these people a profile of 200 kB."""
    rows = [json.loads(line) for line in (folder / "people.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["id"] in people:
            row["facets"]["Diary"] = "word " * 40_000
    write_lines(folder / "people.jsonl", rows)


@pytest.mark.parametrize("billing", [{}], indirect=True)
@pytest.mark.parametrize("dear", ["p3", "p0"], ids=["dear asks last", "a dear ask first"])
def test_each_ask_is_held_at_its_own_cost(
    billing: Billing, dear: str, tmp_path: Path, personafit: Command
) -> None:
    folder = write_benchmark(tmp_path / "world", 60, 4)
    grow(folder, {dear})
    budget = 0.3  # a dear ask costs about 0.06
    run_within(budget, folder, personafit)
    assert budget / 2 < billing.bill <= budget + billing.dearest


@pytest.mark.parametrize("billing", [{"reply": "Both! " * (LONG // 6)}], indirect=True)
def test_replies_without_end_are_paid_for_once(billing: Billing, tmp_path: Path, personafit: Command) -> None:
    run_within(0.05, write_benchmark(tmp_path / "world", 12), personafit)
    assert billing.bill <= 0.05 + billing.dearest


@pytest.mark.parametrize("billing", [{"cut": 0.6}], indirect=True)
def test_replies_that_are_lost_on_their_way_are_booked(
    billing: Billing, tmp_path: Path, personafit: Command
) -> None:
    budget = 0.012
    run_within(budget, write_benchmark(tmp_path / "world", 100), personafit)
    assert budget / 2 < billing.bill <= 1.2 * budget + billing.dearest, "only estimates of what is lost"


@given(
    costs=st.lists(st.tuples(st.floats(0.001, 1.0), st.floats(0.0, 1.0), st.integers(0, 2)), max_size=40),
    budget=st.floats(0.0, 5.0),
    concurrency=st.integers(1, 16),
)
@settings(max_examples=40, deadline=None)
def test_never_more_than_the_budget(
    tmp_path_factory: pytest.TempPathFactory,
    costs: list[tuple[float, float, int]],
    budget: float,
    concurrency: int,
) -> None:
    """Calls that cost up to what was expected of them, and break off now and then, whatever their order and number."""
    billed = 0.0

    def asked(number: int, expected: float, part: float, faults: int) -> Any:
        left = iter(range(faults))

        async def work(_generation: int) -> None:
            nonlocal billed
            async with Payment(expected) as payment:
                await asyncio.sleep(0)
                billed += expected * part
                if next(left, None) is not None:
                    raise Transient("it broke off", sent=True)
                payment.pay(expected * part)

        return job(f"j{number}", work)

    with Store(tmp_path_factory.mktemp("purse") / "store.db") as store:
        run = store.begin_run("run", "data", {}, len(costs))
        runner = Runner(store, run.id, Silence(), budget=budget, policy=RetryPolicy(first_pause=0.001))
        jobs = [asked(number, *one) for number, one in enumerate(costs)]
        asyncio.run(runner.run([Lane("lane", "endpoint", jobs, len(jobs), concurrency)]))
    assert billed <= budget + 1e-9
