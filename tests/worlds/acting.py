"""A real endpoint that plays agents with tools, and users, by the name of the model that is asked for."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from personafit.benchmarks import RunConfig
from personafit.worlds import Request, shipped
from tests.simulate.talking import Talking
from tests.stub_endpoint import Body, completion

Step = str | list[tuple[str, Any]]
"""What an agent does in one reply: words, or calls with their arguments, as an object or as text."""


def request_of(body: Body) -> Request:
    """The request that a conversation is about; of the two people who make it, the one that the agent was told of."""
    asked, told = body["messages"][1]["content"], body["messages"][0]["content"]
    both = [one for one in shipped().requests.values() if one.text == asked]
    names = [str(next(iter(one.resident.about.values()))) for one in both]
    return next((one for one, name in zip(both, names, strict=True) if name in told), both[0])


def best_of(request: Request) -> list[str]:
    """The offers that suit the person best."""
    places = np.argwhere(request.own.best)[0]
    return [offers[place].id for offers, place in zip(request.by_goal, places, strict=True)]


def _good(request: Request, spoken: int) -> Step:
    """Looks, commits what suits best, tells who has to be told, and says so."""
    if spoken == 0:
        return [("search", {"domain": goal.domain}) for goal in request.goals]
    if spoken == 1:
        goals = zip(request.goals, best_of(request), strict=True)
        calls: list[tuple[str, Any]] = [
            ("commit", {"id": one, "slots": dict(goal.slots)}) for goal, one in goals
        ]
        return [*calls, *([("send", {"contact": request.tell, "text": "All set."})] if request.tell else [])]
    return "Done." if request.language == "en" else "好了。"


BROKEN: list[Step] = [
    [("search", '{"domain": ')],
    [("__class__", {}), ("commit", {"id": 3}), ("get", {"id": "nothing"}), ("send", '["x"]')],
    "",
    "Sorry.",
]
AGENTS: dict[str, Callable[[Request, int], Step]] = {
    "agent": _good,
    "agent-asks": lambda request, spoken: (
        [("ask_user", {"text": "What would you like?"})] if spoken == 0 else _good(request, spoken - 1)
    ),
    "agent-broken": lambda _request, spoken: BROKEN[min(spoken, 3)],
    "agent-endless": lambda request, _spoken: [("search", {"domain": request.goals[0].domain})],
    "agent-talks": lambda _request, _spoken: "All booked, as you like it!",
}
USERS = {"user": "No preference.", "user-ends": "I have no time for this. [END]", "user-mute": ""}

INDUCED = json.dumps(
    {"edits": [{"do": "add", "field": "Drinks.Likes", "value": "tea", "evidence": [1]}]}
)  # what any model replies that is to infer a profile


class Acting(Talking):
    """The endpoint."""

    def reply(self, body: Body) -> Body:
        """What the model does."""
        name, messages = body["model"], body["messages"]
        if name in USERS:
            return completion(body, USERS[name])
        if len(messages) == 1:
            return completion(body, INDUCED)
        if name == "agent-refuses":
            return completion(body, None, refusal="I cannot help with that.")
        spoken = sum(message["role"] == "assistant" for message in messages)
        step = AGENTS[name.removesuffix("-text")](request_of(body), spoken)
        if name.endswith("-text"):
            return completion(body, _as_text(step))
        if isinstance(step, str):
            return completion(body, step)
        calls = [
            {
                "id": f"c{spoken}-{number}",
                "type": "function",
                "function": {
                    "name": tool,
                    "arguments": given if isinstance(given, str) else json.dumps(given),
                },
            }
            for number, (tool, given) in enumerate(step)
        ]
        return completion(body, None, "tool_calls", tool_calls=calls)


def _as_text(step: Step) -> str:
    if isinstance(step, str):
        return json.dumps({"say": step})
    tool, given = step[0]
    return json.dumps({"tool": tool, "arguments": given})


def configuration(endpoint: Acting, system: str = "agent", options: str = "", **more: Any) -> RunConfig:
    """A small run of the shipped world."""
    return RunConfig("world", systems=[endpoint.model(system, options)], **{"limit": 6, **more})
