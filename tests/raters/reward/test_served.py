"""`reward:NAME@URL` against a real local server."""

import asyncio
import json
from dataclasses import replace

import pytest
from aiohttp import web

from personafit import Shown, Status, UserError
from personafit.contexts import Context
from personafit.models import Transient, Unanswerable, Unusable
from personafit.models.purse import OverBudget, Purse, paying_from
from personafit.raters import Rater, Verdict, make_rater
from tests.raters.reward.scoring_server import ScoringServer
from tests.scripted import shown

TEA = replace(shown(), context=Context("profile", "Likes: tea", ("tea",), "ann", {"Likes": "tea"}))


def rate(rater: Rater, *asked: Shown) -> list[Verdict]:
    async def all_at_once() -> list[Verdict]:
        try:
            return list(await asyncio.gather(*(rater.rate(one) for one in asked)))
        finally:
            await rater.close()

    return asyncio.run(all_at_once())


@pytest.mark.parametrize("api", ["classify", "pooling"])
def test_scores_conversations(api: str) -> None:
    with ScoringServer(api) as server:
        (verdict,) = rate(make_rater(server.spec()), TEA)
    assert json.loads(verdict.reply or "") == [1003.0, 6.0]
    assert (verdict.answers[0].label, verdict.answers[0].value, verdict.tokens_in, verdict.calls) == (
        "0",
        997.0,
        24,
        2,
    )
    bodies = [body for name, body in server.requests if name == api]
    assert sorted(body["messages"][-1]["content"] for body in bodies) == ["coffee", "tea"]
    body = bodies[0]
    assert [turn["role"] for turn in body["messages"]] == ["system", "user", "assistant"]
    assert "Likes: tea" in body["messages"][0]["content"]
    assert (body["model"], body["add_generation_prompt"], body["use_activation"]) == ("scorer", False, False)


def test_the_form_is_found_once() -> None:
    with ScoringServer("pooling") as server:
        verdicts = rate(make_rater(server.spec()), *[TEA] * 10)
    assert {verdict.answers[0].label for verdict in verdicts} == {"0"}
    assert len(server.requests) == 20


def test_no_person_no_system_turn() -> None:
    with ScoringServer("classify") as server:
        (verdict,) = rate(make_rater(server.spec()), shown(person=""))
    assert json.loads(verdict.reply or "") == [3.0, 6.0]
    assert {len(body["messages"]) for _, body in server.requests} == {2}


@pytest.mark.parametrize("options", ["", ",system=no"])
def test_a_template_without_system_turn(options: str) -> None:
    with ScoringServer("classify") as server:
        server.system = False
        first, second = rate(make_rater(server.spec(options)), TEA, TEA)
    assert json.loads(first.reply or "") == json.loads(second.reply or "") == [1003.0, 6.0]
    told = server.requests[-1][1]["messages"]
    assert [turn["role"] for turn in told] == ["user", "assistant"]
    assert "Likes: tea" in told[0]["content"]
    assert told[0]["content"].endswith("What shall I drink?")


def test_errors_are_typed() -> None:
    with ScoringServer("classify") as server:
        server.says = lambda: web.json_response({"message": "busy"}, status=429, headers={"Retry-After": "3"})
        with pytest.raises(Transient) as busy:
            rate(make_rater(server.spec()), TEA)
        assert (busy.value.overloaded, busy.value.retry_after) == (True, 3.0)
        server.says = lambda: web.json_response(
            {"error": {"message": "maximum context length is 64"}}, status=400
        )
        with pytest.raises(Unanswerable, match="maximum context length"):
            rate(make_rater(server.spec()), TEA)
        server.says = lambda: web.json_response({}, status=401)
        with pytest.raises(Unusable, match="wants a key"):
            rate(make_rater(server.spec()), TEA)
        server.says = lambda: web.json_response({"data": []})
        with pytest.raises(Transient, match="not a score"):
            rate(make_rater(server.spec()), TEA)
        server.says, server.numbers = None, 2
        with pytest.raises(Unusable, match="2 numbers per text"):
            rate(make_rater(server.spec()), TEA)
    with ScoringServer("elsewhere") as server, pytest.raises(Unusable, match="in no known way"):
        rate(make_rater(server.spec()), TEA)


def test_a_model_that_is_not_there_is_told_apart_from_a_form_that_is_not() -> None:
    with ScoringServer("classify", "pooling") as server:
        missing = {"error": {"message": "The model `scorer` does not exist."}}
        server.says = lambda: web.json_response(missing, status=404)
        with pytest.raises(Unusable, match="`scorer` does not exist") as raised:
            rate(make_rater(server.spec()), TEA)
    assert "in no form" not in str(raised.value)


def test_no_number_is_no_score() -> None:
    with ScoringServer("classify") as server:
        nothing = {"data": [{"probs": [None]}]}
        server.says = lambda: web.json_response(nothing)
        (verdict,) = rate(make_rater(server.spec(",api=classify")), TEA)
    assert verdict.status == Status.UNPARSED
    assert verdict.answers[0].label is None


def test_price_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORER_KEY", "not-a-real-one")
    with ScoringServer("classify") as server:
        rater = make_rater(server.spec(",price=1,key_env=SCORER_KEY"))
        (verdict,) = rate(rater, TEA)
    assert verdict.cost == pytest.approx(24 / 1e6)
    assert set(server.keys) == {"Bearer not-a-real-one"}
    request = rater.request(TEA)
    assert request is not None
    assert len(request.messages) == 6


def test_a_budget_holds_for_scores_too() -> None:
    with ScoringServer("classify") as server, paying_from(Purse(1e-6)):
        with pytest.raises(OverBudget):
            rate(make_rater(server.spec(",price=1")), TEA)
        assert server.keys == []
        purse = Purse(1.0)
        with paying_from(purse):
            (verdict,) = rate(make_rater(server.spec(",price=1")), TEA)
    assert purse.spent == pytest.approx(verdict.cost)


def test_bad_specs() -> None:
    with pytest.raises(UserError, match="api is one of classify, pooling,"):
        make_rater("reward:x@http://localhost:1,api=chat")
    with pytest.raises(UserError, match="system is yes or no"):
        make_rater("reward:x@http://localhost:1,system=maybe")
    with pytest.raises(UserError, match="must start with http"):
        make_rater("reward:x@localhost")
    with pytest.raises(UserError, match="unknown option 'effort'"):
        make_rater("reward:x@http://localhost:1,effort=low")
