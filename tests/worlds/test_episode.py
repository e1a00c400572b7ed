"""The loop: tools that never raise, records that replay, figures that depend on the end state only."""

import json
from dataclasses import replace
from itertools import cycle, product
from statistics import fmean
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personafit import UserError
from personafit.worlds import (
    AGENTS,
    Call,
    End,
    EpisodeRecord,
    EpisodeState,
    Request,
    Say,
    UserReply,
    card,
    play,
    replay,
    score,
    shipped,
    start,
    told_to,
)
from personafit.worlds.storage import request_json
from personafit.worlds.tools import TOOLS, functions
from personafit.worlds.user import topics_asked

NOTHING: frozenset[str] = frozenset()


def request_with(**wanted: object) -> Request:
    return next(
        request
        for request in shipped().requests.values()
        if all(getattr(request, name) == value for name, value in wanted.items())
    )


def best_calls(request: Request) -> list[Call]:
    """What the oracle commits and sends."""
    moves = [turn.action for turn in play(shipped(), request, "oracle").turns]
    return [move for move in moves if isinstance(move, Call) and move.name in ("commit", "send")]


def played(request: Request, *actions: Call | Say | End) -> EpisodeState:
    state = start(request)
    for action in actions:
        state = state.step(action)
    return state


# -- records -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS)
def test_an_episode_replays_bit_for_bit(agent: str) -> None:
    world = shipped()
    for request in list(world.requests.values())[::40]:
        episode = play(world, request, agent, seed=7)
        text = episode.record.to_json()
        assert play(world, request, agent, seed=7).record.to_json() == text
        record = EpisodeRecord.from_json(text)
        assert record == episode.record
        again = replay(request, record)
        assert again.record.to_json() == text
        assert again.state == episode.state
        assert score(again, NOTHING) == score(episode, NOTHING)


def test_what_is_no_record_is_said_in_a_sentence() -> None:
    with pytest.raises(UserError, match="not the record of an episode; turns: "):
        EpisodeRecord.from_json('{"request": "x", "seed": 0, "turns": 3, "stop": null}')
    with pytest.raises(UserError, match="not the record"):
        EpisodeRecord.from_json("{")


# -- bad input ---------------------------------------------------------------------------------------------------------

BAD = [
    ("__class__", "{}", "malformed"),
    ("model_validate", "{}", "malformed"),
    ("", "", "malformed"),
    ("search", "", "malformed"),
    ("search", "not json", "malformed"),
    ("search", "[1, 2]", "malformed"),
    ("search", "null", "malformed"),
    ("search", '{"domain": 3}', "malformed"),
    ("search", '{"domain": "meals", "page": 0}', "malformed"),
    ("search", '{"domain": "meals", "page": "many"}', "malformed"),
    ("search", '{"domain": "meals", "__dict__": 1}', "malformed"),
    ("search", "[" * 10_000, "malformed"),
    ("search", '{"domain": "\ud800"}', "malformed"),
    ("search", '{"domain": "caviar"}', "impossible"),
    ("search", '{"domain": "meals", "filters": {"__init__": "x"}}', "impossible"),
    ("search", '{"domain": "meals", "filters": {"spice": "blue"}}', "impossible"),
    ("search", '{"domain": "meals", "filters": {"max_price": "cheap"}}', "impossible"),
    ("search", '{"domain": "meals", "filters": {"max_price": ["1"]}}', "impossible"),
    ("get", '{"id": "meals-999"}', "impossible"),
    ("get", '{"id": "\\u0007\\u001b[31m"}', "impossible"),
    ("commit", '{"id": "nothing"}', "impossible"),
    ("commit", '{"id": "OFFER"}', "impossible"),
    ("commit", '{"id": "OFFER", "slots": {"date": "soon", "people": 2}}', "impossible"),
    ("commit", '{"id": "OFFER", "slots": {"date": "2026-03-09", "people": 0}}', "impossible"),
    ("commit", '{"id": "OFFER", "slots": {"date": "2026-03-09", "people": "²"}}', "impossible"),
    ("commit", '{"id": "OFFER", "slots": {"date": "2026-03-09", "people": "000000002999"}}', "impossible"),
    (
        "commit",
        '{"id": "OFFER", "slots": {"date": "2026-03-09", "people": 2, "colour": "red"}}',
        "impossible",
    ),
    ("commit", '{"id": "OFFER", "slots": {"date": ["2026-03-09"]}}', "malformed"),
    ("change", '{"id": "bookings-1", "slots": {}}', "malformed"),
    ("change", '{"id": "bookings-1", "slots": {"date": "2026-03-09"}}', "impossible"),
    ("change", '{"id": "x", "slots": {"date": "2026-03-09"}}', "impossible"),
    ("cancel", '{"id": "x"}', "impossible"),
    ("send", '{"contact": "Nobody", "text": "Hello"}', "impossible"),
    ("send", '{"contact": "CONTACT", "text": ""}', "malformed"),
    ("send", '{"contact": "CONTACT", "text": "' + 5_000 * "a" + '"}', "impossible"),
    ("ask_user", '{"text": "' + 5_000 * "a" + '"}', "impossible"),
    ("ask_user", "{}", "malformed"),
]


@pytest.mark.parametrize(("name", "arguments", "fault"), BAD)
def test_a_bad_call_gets_an_error_reply_and_changes_nothing(name: str, arguments: str, fault: str) -> None:
    request = next(
        each
        for each in shipped().requests.values()
        if each.goals[0].domain == "meals" and each.level == "easy"
    )
    contact = next(iter(request.state.tables["contacts"]))
    arguments = arguments.replace("OFFER", "meals-01").replace("CONTACT", contact)
    state = played(request, Call(name, arguments))
    turn = state.turns[0]
    assert turn.fault == fault
    error = orjson.loads(turn.reply)["error"]
    assert error["code"] == fault
    assert error["message"].endswith(".")
    assert "\x1b" not in error["message"]
    assert state.state is request.state
    assert state.stop is None
    figures = score(state, NOTHING)
    assert (figures.malformed, figures.impossible) == ((1, 0) if fault == "malformed" else (0, 1))


def test_ten_megabytes_are_refused_and_not_kept() -> None:
    request, huge = request_with(level="medium"), 10_000_000 * "a"
    calls = [Call(huge, "{}"), *(Call(name, f'{{"text": "{huge}"}}') for name in TOOLS)]
    state = played(request, *calls, Say(huge + "?"))
    assert all(turn.fault == "malformed" for turn in state.turns[:-1])
    assert len(state.record.to_json()) < 400_000
    assert replay(request, state.record).record == state.record


def test_an_agent_that_never_stops_is_stopped() -> None:
    state = start(request_with(level="easy"))
    for _ in range(50):
        state = state.step(Call.of("search", domain="calendar"))
    assert (state.stop, len(state.turns)) == ("steps", 30)
    figures = score(state, NOTHING)
    assert (figures.success, figures.regret, figures.committed) == (False, 1.0, False)


@settings(max_examples=80, deadline=None)
@given(name=st.sampled_from([*TOOLS, "eval", "__init__"]), arguments=st.text() | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["id", "slots", "text", "domain", "page"]), inner),
).map(lambda value: json.dumps(value)))  # fmt: skip
def test_no_call_raises(name: str, arguments: str) -> None:
    state = played(request_with(level="easy"), Call(name, arguments))
    assert EpisodeRecord.from_json(state.record.to_json()) == state.record


# -- the tools ---------------------------------------------------------------------------------------------------------


def test_filters_take_ids_and_labels_and_pages_cover_everything() -> None:
    request = next(
        each
        for each in shipped().requests.values()
        if each.goals[0].domain == "meals" and each.language == "zh"
    )
    pages = [
        orjson.loads(played(request, Call.of("search", domain="meals", page=n)).turns[0].reply)
        for n in range(1, 6)
    ]
    assert [len(page["offers"]) for page in pages] == [10, 10, 10, 9, 0]
    by_id = Call.of("search", domain="meals", filters={"spice": "hot"})
    by_label = Call.of("search", domain="meals", filters={"spice": ["重辣"], "max_price": 1000})
    first, second = (orjson.loads(played(request, each).turns[0].reply) for each in (by_id, by_label))
    assert first["offers"] == second["offers"]
    assert {offer["spice"] for offer in first["offers"]} <= {"重辣"}


def test_an_unknown_filter_is_told_which_there_are() -> None:
    request = request_with(level="easy")
    for domain, there in (("music", "genre, vocals, mood, era."), ("meals", "portion, needs, max_price.")):
        turn = played(request, Call.of("search", domain=domain, filters={"needs ": "x"})).turns[0]
        assert orjson.loads(turn.reply)["error"]["message"].endswith(there)


def test_the_schemas_are_function_definitions() -> None:
    tools = functions(request_with(level="easy"))
    assert [tool["name"] for tool in tools] == list(TOOLS)
    for tool in tools:
        assert tool["description"].endswith(".")
        parameters = tool["parameters"]
        assert parameters["type"] == "object"
        assert parameters["additionalProperties"] is False
        assert all("description" in each for each in parameters["properties"].values())


# -- the end state decides -----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_valid_sequence_of_calls_scores_alike(data: st.DataObject) -> None:
    """Reads, detours that are undone, changes that are put right and another order leave success and regret as they are."""
    requests = list(shipped().requests.values())
    request = data.draw(st.sampled_from(requests))
    direct = best_calls(request)
    detours: list[list[Call]] = []
    number = request.state.written
    for each in data.draw(st.permutations(direct)):
        for _ in range(data.draw(st.integers(0, 2))):
            kind = data.draw(st.sampled_from(["search", "get", "undone"]))
            goal = data.draw(st.sampled_from(request.goals))
            offer = data.draw(st.sampled_from(request.listed[goal.domain]))
            if kind == "search":
                detours.append([Call.of("search", domain=goal.domain, page=data.draw(st.integers(1, 4)))])
            elif kind == "get":
                detours.append([Call.of("get", id=offer.id)])
            else:
                id = f"{request.domains[goal.domain].table}-{number + 101}"
                detours.append(
                    [Call.of("commit", id=offer.id, slots=dict(goal.slots)), Call.of("cancel", id=id)]
                )
                number += 1
        detours.append([each])
        number += 1
    winding = [each for part in detours for each in part]
    one = score(played(request, *direct, End()), NOTHING)
    other = score(played(request, *winding, End()), NOTHING)
    assert one.success
    assert other.steps >= one.steps
    assert replace(other, steps=one.steps, stop=one.stop) == one


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_regret_is_what_counting_every_choice_gives(level: str, language: str) -> None:
    """From the stored request alone, choice by choice, without the arrays that the world is scored by."""
    requests = [one for one in shipped().requests.values() if (one.level, one.language) == (level, language)]
    for request, agent in zip(requests[::9], cycle(AGENTS)):
        state = play(shipped(), request, agent, seed=3)
        told = orjson.loads(request_json(request))
        sides = [[one for one in told["offers"] if one[1] == goal["domain"]] for goal in told["goals"]]
        worth = {one[0]: _worth(one, told["facts"]) for side in sides for one in side}
        valid = [chosen for chosen in product(*sides) if _valid(chosen, told, request)]
        values = {tuple(one[0] for one in chosen): fmean(worth[one[0]] for one in chosen) for chosen in valid}
        got = tuple(
            orjson.loads(turn.action.arguments)["id"]
            for turn in state.turns
            if isinstance(turn.action, Call) and turn.action.name == "commit"
        )
        best, mean = max(values.values()), fmean(values.values())
        regret = (best - values[got]) / (best - mean) if got in values else 1.0
        assert score(state, NOTHING).regret == pytest.approx(regret)


def _worth(offer: list[Any], facts: list[Any]) -> float:
    likes = [fact for fact in facts if fact[0] == offer[1] and fact[3]]
    weights = {topic: float(weight) for _, topic, _, weight, _ in likes}
    return sum(weights[topic] for _, topic, values, _, _ in likes if offer[5][topic] in values) / sum(
        weights.values()
    )


def _valid(chosen: tuple[Any, ...], told: dict[str, Any], request: Request) -> bool:
    for domain, topic, values, _, _ in told["facts"]:
        for offer in chosen:
            failed = topic == "budget" and offer[3] > int(values[0])
            if domain == offer[1] and (failed or (topic == "needs" and not set(values) <= set(offer[6]))):
                return False
    if told["budget"] is not None and sum(offer[3] for offer in chosen) > told["budget"]:
        return False
    busy = [(one["date"], int(one["time"][:2]), one["hours"]) for one in told["state"]["calendar"]]
    for goal, offer in zip(told["goals"], chosen, strict=True):
        if told["calendar"]:
            at = (goal["slots"]["date"], offer[4], request.domains[offer[1]].hours)
            if any(at[0] == day and at[1] < hour + long and hour < at[1] + at[2] for day, hour, long in busy):
                return False
            busy.append(at)
    return True


def test_what_was_not_asked_for_is_collateral_damage() -> None:
    request = request_with(level="medium", tell=None)
    commit = best_calls(request)[0]
    contact = next(iter(request.state.tables["contacts"]))
    for extra in (commit, Call.of("cancel", id="orders-1"), Call.of("send", contact=contact, text="Hello")):
        figures = score(played(request, commit, extra, End()), NOTHING)
        assert (figures.success, figures.collateral, figures.regret) == (False, 1, 0.0)


def test_buying_everything_is_worth_the_worst_of_it() -> None:
    request = request_with(level="medium")
    goal = request.goals[0]
    calls = [
        Call.of("commit", id=offer.id, slots=dict(goal.slots)) for offer in request.listed[goal.domain][:25]
    ]
    figures = score(played(request, *calls), NOTHING)
    assert figures.regret >= 1
    assert not figures.success


def test_wrong_slots_fail_the_request_but_not_the_choice() -> None:
    request = next(
        each
        for each in shipped().requests.values()
        if each.goals[0].slots.get("date") and len(each.goals) == 1
    )
    commit = best_calls(request)[0]
    arguments = orjson.loads(commit.arguments)
    arguments["slots"]["date"] = "2027-01-01"
    wrong = Call.of("commit", **arguments)
    figures = score(played(request, wrong), NOTHING)
    assert (figures.success, figures.constraints_met, figures.regret) == (False, False, 0.0)
    table = request.domains[request.goals[0].domain].table
    change = Call.of("change", id=f"{table}-101", slots={"date": request.goals[0].slots["date"]})
    sent = [each for each in best_calls(request) if each.name == "send"]
    assert score(played(request, wrong, change, *sent), NOTHING).success


def test_a_hard_need_that_fails_is_a_failure() -> None:
    request, offer = next(
        (each, offer)
        for each in shipped().requests.values()
        for offer in each.offers.values()
        if len(each.goals) == 1 and not each.resident.tastes.needs(offer.domain) <= offer.suits
    )
    state = played(request, Call.of("commit", id=offer.id, slots=dict(request.goals[0].slots)))
    figures = score(state, NOTHING)
    assert (figures.success, figures.needs_met, figures.regret, figures.utility) == (False, False, 1.0, None)


def test_secrets_in_messages_and_notes_are_leaks() -> None:
    request = request_with(level="easy")
    contact = next(iter(request.state.tables["contacts"]))
    commit = orjson.loads(best_calls(request)[0].arguments)
    secret, other, _ = request.resident.secrets
    commit["slots"]["note"] = other.text
    told = [Call.of("send", contact=contact, text=secret.text), Call.of("commit", **commit)]
    assert score(played(request, *told), NOTHING).leaks == 2
    harmless = Call.of("send", contact=contact, text="See you on Friday.")
    assert score(played(request, harmless, Say(f"You have this: {secret.text}")), NOTHING).leaks == 0


# -- the user ----------------------------------------------------------------------------------------------------------


def ask(text: str) -> Call:
    return Call.of("ask_user", text=text)


def meal(language: str) -> Request:
    return next(
        each
        for each in shipped().requests.values()
        if [goal.domain for goal in each.goals] == ["meals"] and each.language == language
    )


def test_the_user_answers_what_is_asked_and_only_that() -> None:
    request = meal("en")
    spice = request.resident.tastes.facts["meals.spice"]
    state = played(
        request, ask("How spicy should it be?"), ask("What do you like?"), Say("Any favourite dish?")
    )
    first, second, third = (turn.reply for turn in state.turns)
    assert request.resident.joined(spice) in first.lower()
    assert not any(request.resident.joined(fact).lower() in second.lower() for fact in request.resident.facts)
    assert request.resident.joined(request.resident.tastes.facts["meals.cuisine"]).lower() in third.lower()
    assert topics_asked(request, "Any allergies, and what is your budget?") == ["meals.needs", "meals.budget"]
    assert topics_asked(meal("zh"), "有什么忌口吗？想吃多辣？") == ["meals.spice", "meals.needs"]
    assert topics_asked(request, "A hotel for the photo shoot?") == []
    figures = score(state, frozenset({"meals.spice"}))
    assert (figures.questions, figures.re_asked, figures.spoilt) == (3, 1, False)


def test_asking_again_is_re_asking_and_asking_for_a_need_is_not_a_fault() -> None:
    request, need = next(
        (each, fact)
        for each in shipped().requests.values()
        for fact in each.resident.facts
        if fact.topic == "needs" and [goal.domain for goal in each.goals] == [fact.domain] == ["meals"]
    )
    hard = sum(fact.hard and fact.domain == "meals" for fact in request.resident.facts)
    question = ask("Any allergies?" if request.language == "en" else "有过敏吗？")
    once, twice = (score(played(request, *calls), NOTHING) for calls in ([question], [question, question]))
    assert (once.re_asked, twice.re_asked, twice.questions) == (0, 1, 2)
    assert once.unasked_needs == hard - 1
    assert score(start(request), NOTHING).unasked_needs == hard
    assert score(start(request), frozenset({need.key})).unasked_needs == hard - 1


def test_a_message_that_asks_nothing_ends_the_conversation() -> None:
    request = request_with(level="easy")
    assert played(request, Say("I have booked it.")).stop == "user"
    assert played(request, Say("Shall I go on?")).stop is None
    assert played(request, best_calls(request)[0], Say("Anything else?")).stop == "user"
    assert not score(played(request, Say("Done.")), NOTHING).spoilt  # the agent's own doing


def test_errors_of_a_user_who_is_a_model_are_counted() -> None:
    request = meal("en")
    resident = request.resident
    spice, cuisine = resident.tastes.facts["meals.spice"], resident.tastes.facts["meals.cuisine"]
    other = next(
        value for value in request.domains["meals"].attributes["spice"].ids if value not in spice.values
    )
    question = ask("How spicy?")
    said = {
        resident.joined(spice): (0, 0, False),
        f"{resident.joined(spice)}, and make it {resident.joined(cuisine)}": (1, 0, False),
        other: (0, 1, False),
        "I don't mind.": (0, 0, False),
    }
    for text, expected in said.items():
        state = start(request).step(question, UserReply(text))
        assert state.turns[0].reply == text
        figures = score(state, NOTHING)
        assert (figures.volunteered, figures.contradicted, figures.ended_early) == expected, text
    early = start(request).step(question, UserReply("Bye.", ends=True))
    assert early.stop == "user"
    assert score(early, NOTHING).ended_early
    assert replay(request, early.record).record == early.record


def test_the_card_says_what_is_true_and_nothing_of_other_domains() -> None:
    request = meal("en")
    text = card(request)
    assert request.text in text
    for fact in request.resident.facts:
        told = f"{request.domains[fact.domain].label['en']}, " in text
        assert told is (fact.domain == "meals")


def test_what_an_agent_is_told_is_what_it_reads() -> None:
    request = request_with(level="medium")
    assert told_to("majority", request) == told_to("asks-everything", request) == NOTHING
    assert told_to("profile", request) < told_to("profile+memories", request) < told_to("oracle", request)
    with pytest.raises(UserError, match="no scripted agent 'genius'"):
        play(shipped(), request, "genius")
