"""A real endpoint that plays users, assistants and judges, by the name of the model that is asked for."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from personafit.benchmarks import RunConfig
from tests.scripted import write_lines
from tests.stub_endpoint import Body, StubEndpoint, completion

Reply = Callable[[Body, int], str | None]
"""From the body and how often the model has spoken before in this dialogue."""


def _aside(body: Body) -> bool:
    return "Reply with one letter" in body["messages"][-1]["content"]


def _user(body: Body, spoken: int) -> str:
    if spoken == 0:
        return "I would like a dinner plan."
    return "Lovely, thank you.\n[SATISFIED]" if spoken > 2 else f"And what else, number {spoken}?\n[CONTINUE]"


def _unmarked(body: Body, spoken: int) -> str:
    return "B" if _aside(body) else f"Well, that is message {spoken}."


def _thinking(body: Body, spoken: int) -> str:
    return f"<thinking>I am at {spoken}.</thinking>\n{_user(body, spoken)}"


def _only_marker(body: Body, spoken: int) -> str:
    return "I would like a dinner plan." if spoken == 0 else "[SATISFIED]"


MODELS: dict[str, Reply] = {
    "user": _user,
    "user-endless": lambda _body, spoken: f"More, please ({spoken}).\n[CONTINUE]",
    "user-gives-up": lambda _body, spoken: "A plan, please." if spoken == 0 else "This is no use.\n[GIVE UP]",
    "user-mute": lambda _body, _spoken: "",
    "user-unmarked": _unmarked,
    "user-undecided": lambda _body, spoken: f"Well, that is message {spoken}.",
    "user-thinking": _thinking,
    "user-marker-only": _only_marker,
    "user-done-at-once": lambda _body, spoken: (
        "A plan, please.\n[SATISFIED]" if spoken == 0 else "Good.\n[SATISFIED]"
    ),
    "user-mentions-marker": lambda _body, spoken: (
        f"Do not say [SATISFIED] yet, {spoken}." if spoken < 2 else "Fine.\n[SATISFIED]"
    ),
    "assistant": lambda body, spoken: f"Here is option {spoken} from {len(body['messages'][0]['content'])}.",
    "assistant-empty": lambda _body, _spoken: "",
    "assistant-huge": lambda _body, _spoken: "word " * 20_000,
    "assistant-tool": lambda _body, _spoken: '{"name": "book_table", "arguments": {"people": 2}}',
    "assistant-marker": lambda _body, _spoken: "[SATISFIED]",
    "assistant-says-marker": lambda _body, spoken: f"Option {spoken}.\n[SATISFIED]",
    "assistant-wakes": lambda body, spoken: (
        "Sorry, here is the plan." if "could not be shown" in body["messages"][-1]["content"] else ""
    ),
    "judge": lambda _body, _spoken: json.dumps({"complete": True, "score": 3, "scores": [3, 3, 3]}),
}


class Talking(StubEndpoint):
    """The endpoint; it answers `patience` requests and lets further ones wait; `broken` models answer with that status,
    the next `stumbles` requests with 503."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.broken: dict[str, int] = {}
        self.patience: int | None = None
        self.stumbles = 0
        self.why = "as told"

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def model(self, name: str, options: str = "") -> str:
        """A spec of one of the models."""
        return f"openai:{name}@{self.url}{options}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        name = body["model"]
        with self._lock:
            self.requests.append(body)
            key = json.dumps([name, body["messages"]])
            self.asked[key] += 1
            broken = 503 if self.stumbles else self.broken.get(name)
            self.stumbles = max(0, self.stumbles - 1)
            held = self.patience is not None and self.answered.total() >= self.patience
            if not held:
                self.answered[key] += 1
        if held:
            await self.closing.wait()
        if broken:
            return web.json_response({"error": {"message": self.why}}, status=broken)
        return web.json_response(self.reply(body))

    def reply(self, body: Body) -> Body:
        """What the model answers."""
        spoken = sum(message["role"] == "assistant" for message in body["messages"])
        return completion(body, MODELS[body["model"]](body, spoken))


def people(count: int = 3) -> list[dict[str, Any]]:
    """People who like different things."""
    dishes = ["soup", "curry", "tacos", "pasta"]
    return [
        {
            "id": f"p{n}",
            "language": "en",
            "facets": {
                "Demographics.Age": 30 + n,
                "Meals.Dish": [dishes[n % 4], f"{dishes[n % 4]} with extra {n}"],
                "Travel.Transport": "train" if n % 2 else "bus",
            },
            "summaries": {
                "Meals": f"Person {n} asked for {dishes[n % 4]}. They cook late. They hate waiting. They eat at home.",
                "Travel": f"Person {n} goes by {'train' if n % 2 else 'bus'}. They book early.",
            },
        }
        for n in range(count)
    ]


def tasks(count: int = 3) -> list[dict[str, Any]]:
    """A single- and a multi-domain task for everyone."""
    common = {"description": "Dinner.", "situation": {"Location": "Home", "Time of Day": "Evening"}}
    rows: list[dict[str, Any]] = []
    for n in range(count):
        one = {
            "id": "SD-Meals-1",
            "domains": ["Meals"],
            "intent": "Plan a dinner.",
            "goal": "A dinner is planned.",
        }
        two = {
            "id": "MD-1",
            "domains": ["Meals", "Travel"],
            "intent": "Dinner and a trip.",
            "goal": "Both are done.",
        }
        rows += [{**task, "person": f"p{n}", "preferences": ["Meals.Dish"], **common} for task in (one, two)]
    return rows


def write_tasks(folder: Path, count: int = 3) -> Path:
    """A folder of people with tasks."""
    folder.mkdir(parents=True, exist_ok=True)
    write_lines(folder / "people.jsonl", people(count))
    write_lines(folder / "tasks.jsonl", tasks(count))
    return folder


def configuration(data: Path, endpoint: Talking, **more: Any) -> RunConfig:
    """A run with all three roles at the endpoint."""
    given: dict[str, Any] = {
        "systems": [endpoint.model("assistant")],
        "user": endpoint.model("user"),
        "raters": [endpoint.model("judge")],
        "system_contexts": ["none"],
    }
    return RunConfig("personalens", data=data, **(given | more))
