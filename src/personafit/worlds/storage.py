"""Storage of requests and episodes: each is a product whose text is JSON.

A request's product holds all that the report needs to name the best choice. An episode's holds the agent, the record and the
scores; its id is `episode-` and the id of the ask that ended it, whether or not it succeeded.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import orjson

from personafit.store import Item, Product, Store, ended_products
from personafit.worlds.requests import Request
from personafit.worlds.scoring import EpisodeScore

INSTRUMENT = "episode-5"
"""Version of tools, template user, scripts and scores: raise it with any change of them. Requests and offers are hashed with the items."""
EPISODE = "episode-"
AGENT_STEP, USER_STEP, WHOLE = "agent step", "user step", "episode"
"""Questions of asks: one step of an agent model, one reply of a user model, a whole episode of any other agent."""
FIGURES = tuple(EpisodeScore.__dataclass_fields__)


def request_item(request: Request) -> tuple[Item, Product]:
    """Return a request as an item, with the product that holds its details."""
    product = Product(kind="request", text=request_json(request), maker=INSTRUMENT, about=request.resident.id)
    item = Item(
        id=request.id,
        kind="request",
        person=request.resident.id,
        prompt=request.text,
        products=[product.id],
        group=request.id,
        slices={
            "level": request.level,
            "domain": " + ".join(dict.fromkeys(goal.domain for goal in request.goals)),
            "pair": request.pair,
        },
    )
    return item, product


def request_json(request: Request) -> str:
    """Return a request as JSON: what was asked, the offers, and the facts about the person."""
    domains = {goal.domain for goal in request.goals}
    best = np.argwhere(request.own.best)[0]
    body = {
        "text": request.text,
        "today": request.today,
        "goals": [asdict(goal) for goal in request.goals],
        "tell": request.tell,
        "budget": request.budget,
        "calendar": request.calendar,
        "offers": [
            [one.id, one.domain, one.name, one.price, one.hour, dict(one.values), sorted(one.suits)]
            for one in request.offers.values()
        ],
        "best": [offers[place].id for offers, place in zip(request.by_goal, best, strict=True)],
        "facts": [
            [fact.domain, fact.topic, fact.values, fact.weight, fact.place]
            for fact in request.resident.facts
            if fact.domain in domains
        ],
        "state": {
            name: [entry.shown() for entry in rows.values()] for name, rows in request.state.tables.items()
        },
    }
    return orjson.dumps(body).decode()


def episode_rows(store: Store, run: int) -> Iterator[dict[str, Any]]:
    """Yield every episode of a run that has ended: stored id, status, slot, agent and scores; failed tries included."""
    for row in ended_products(store, run, EPISODE, (AGENT_STEP, USER_STEP, WHOLE)):
        body = orjson.loads(row.text)
        kept = {name: body[name] for name in ("slot", "item", "agent", "sample")}
        kept["system_context"] = body["given"]
        yield {"episode": row.id, "status": row.status, "at": row.at, **kept, **body["score"]}
