"""The seven tools of a world, and the service that answers calls to them.

A call is a name and JSON text, as a model writes them. Whatever is wrong with it, the reply is an error as a real service would send:
`malformed` if the call could not be read, `impossible` if what it asks for cannot be done.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import printable
from personafit.models import Tool
from personafit.worlds.catalogue import Offer
from personafit.worlds.ontology import NEEDS, WorldDomain
from personafit.worlds.requests import Request, entry_of
from personafit.worlds.state import TABLES, Entry, WorldState

PAGE = 10  # offers of one page
MOST_ARGUMENTS = 20_000  # characters of one call
MOST_TEXT = 4_000  # characters of a message, a note or a question
MOST_PEOPLE = 20
NOTE = "note"

Fault = Literal["malformed", "impossible"]


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """A service's reply (JSON text), the state after it, and whether the call was at fault."""

    reply: str
    state: WorldState
    fault: Fault | None = None


class _Refused(Exception):
    """What a service says when something cannot be done."""


# -- the tools ---------------------------------------------------------------------------------------------------------


class WorldTool(BaseModel):
    """A tool: the docstring and the fields are what models are told of it, and an instance is one call."""

    model_config = ConfigDict(extra="forbid")

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        """Return the reply and the state after it; raise `_Refused` where it cannot be done."""
        raise NotImplementedError


class SearchTool(WorldTool):
    """List offers of a domain, ten to a page, or the person's own calendar, bookings, orders, playlists or contacts."""

    domain: str = Field(description="A domain of offers, or one of the person's own tables.")
    filters: dict[str, str | int | list[str]] = Field(
        {},
        description="Attribute to value, or to a list of values of which any will do; 'needs'; 'max_price'.",
    )
    page: int = Field(1, ge=1, le=1000, description="Page of the list, from 1.")

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        if self.domain in TABLES:
            return {self.domain: [entry.shown() for entry in state.tables[self.domain].values()]}, state
        domain = request.domains.get(self.domain)
        if domain is None:
            there = ", ".join((*request.domains, *TABLES))
            raise _Refused(f"There is no domain '{_quoted(self.domain)}'; there are {there}.")
        found = request.listed.get(domain.id, ())
        for name, value in self.filters.items():
            passes = _filter(domain, name, value)
            found = [offer for offer in found if passes(offer)]
        first = (self.page - 1) * PAGE
        reply: dict[str, Any] = {
            "total": len(found),
            "page": self.page,
            "pages": -(-len(found) // PAGE),
            "offers": [offer.shown(domain, request.language) for offer in found[first : first + PAGE]],
        }
        if self.page == 1 and not self.filters:
            reply["filters"] = {
                name: topic.values[request.language] for name, topic in domain.choices.items()
            }
        return reply, state


class GetTool(WorldTool):
    """Show one offer, with the slots that committing to it needs, or one entry of the person's own tables."""

    id: str = Field(description="Id of the offer or entry.")

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        if offer := request.offers.get(self.id):
            domain = request.domains[offer.domain]
            return {**offer.shown(domain, request.language), "slots": domain.slots}, state
        if found := state.find(self.id):
            return found[1].shown(), state
        raise _Refused(f"There is nothing with the id '{_quoted(self.id)}'.")


class CommitTool(WorldTool):
    """Book, order or save an offer. This is final: there is no need to confirm."""

    id: str = Field(description="Id of the offer.")
    slots: dict[str, str | int] = Field(
        {}, description="What the offer needs, such as date (YYYY-MM-DD) or people; and, if wanted, a note."
    )

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        offer = request.offers.get(self.id)
        if offer is None:
            raise _Refused(f"There is no offer with the id '{_quoted(self.id)}'.")
        domain = request.domains[offer.domain]
        slots = _slots(domain, self.slots)
        if missing := [name for name in domain.slots if name not in slots]:
            needs = ", ".join(domain.slots)
            raise _Refused(f"The slot '{missing[0]}' is missing; {domain.id} needs {needs}.")
        entry = entry_of(offer, domain, slots, f"{domain.table}-{state.written + 101}")
        return {"done": entry.shown()}, state.put(domain.table, entry)


class ChangeTool(WorldTool):
    """Change slots of a booking, order or playlist."""

    id: str = Field(description="Id of the entry in the person's own tables.")
    slots: dict[str, str | int] = Field(min_length=1, description="Slots with their new values.")

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        table, entry = _own(state, self.id)
        if entry.domain is None:
            raise _Refused(f"'{entry.title}' cannot be changed here.")
        slots = {**entry.slots, **_slots(request.domains[entry.domain], self.slots)}
        entry = replace(entry, slots=slots, date=slots.get("date"))
        return {"done": entry.shown()}, state.put(table, entry)


class CancelTool(WorldTool):
    """Cancel a booking or an order, or delete a playlist or an appointment."""

    id: str = Field(description="Id of the entry in the person's own tables.")

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        table, entry = _own(state, self.id)
        return {"cancelled": entry.shown()}, state.drop(table, entry.id)


class SendTool(WorldTool):
    """Send a message to one of the person's contacts."""

    contact: str = Field(description="Name of the contact.")
    text: str = Field(min_length=1, description="The message.")

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        contacts = state.tables["contacts"]
        if self.contact not in contacts:
            raise _Refused(f"There is no contact '{_quoted(self.contact)}'; there are {', '.join(contacts)}.")
        id = f"messages-{state.written + 101}"
        message = Entry(id, self.contact, slots={"text": _short(self.text)})
        return {"sent": {"to": self.contact}}, state.put("messages", message)


class AskUserTool(WorldTool):
    """Ask the person something. They answer what is asked and nothing else."""

    text: str = Field(min_length=1, description="The question.")

    def carry_out(self, request: Request, state: WorldState) -> tuple[object, WorldState]:
        return _short(self.text), state  # the question itself: the user answers, not the service


TOOLS: Mapping[str, type[WorldTool]] = {
    "search": SearchTool,
    "get": GetTool,
    "commit": CommitTool,
    "change": ChangeTool,
    "cancel": CancelTool,
    "send": SendTool,
    "ask_user": AskUserTool,
}


# -- the service -------------------------------------------------------------------------------------------------------


def functions(request: Request) -> tuple[Tool, ...]:
    """The tools as functions that a model may call; `search` lists the domains of the world."""
    return _functions((*request.domains, *TABLES))


@cache
def _functions(domains: tuple[str, ...]) -> tuple[Tool, ...]:
    made: list[Tool] = []
    for name, tool in TOOLS.items():
        schema = tool.model_json_schema()
        for each in schema["properties"].values():
            del each["title"]
        if tool is SearchTool:
            schema["properties"]["domain"]["enum"] = list(domains)
        kept = ("type", "properties", "additionalProperties", "required")
        parameters = {key: schema[key] for key in kept if key in schema}
        made.append({"name": name, "description": tool.__doc__, "parameters": parameters})
    return tuple(made)


def call(request: Request, state: WorldState, name: str, arguments: str) -> CallOutcome:
    """Carry out one call; whatever is wrong with it is an error reply, never an exception."""
    tool = TOOLS.get(name)
    if tool is None:
        there = f"There is no tool '{_quoted(name)}'; there are {', '.join(TOOLS)}."
        return _fault(state, "malformed", there if name else "The reply could not be read as a call.")
    if len(arguments) > MOST_ARGUMENTS:
        return _fault(state, "malformed", f"The call is longer than {MOST_ARGUMENTS:,} characters.")
    try:
        read = tool.model_validate_json(arguments or "{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        where = f"Argument {_quoted(place)}: " if place else ""
        return _fault(state, "malformed", f"{where}{first['msg']}.")
    except ValueError:
        return _fault(state, "malformed", "The arguments are not JSON.")
    try:
        reply, after = read.carry_out(request, state)
    except _Refused as error:
        return _fault(state, "impossible", str(error))
    return CallOutcome(orjson.dumps(reply).decode(), after)


def _filter(domain: WorldDomain, name: str, value: str | int | list[str]) -> Callable[[Offer], bool]:
    """Return whether an offer passes, as a function of it."""
    if name == "max_price":
        try:
            most = int(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise _Refused("The filter max_price takes a whole number.") from None
        return lambda offer: offer.price <= most
    topic = domain.choices.get(name)
    if topic is None:
        there = ", ".join((*domain.choices, *(["max_price"] if domain.prices else [])))
        raise _Refused(f"{domain.id} has no filter '{_quoted(name)}'; there are {there}.")
    wanted = set()
    for one in value if isinstance(value, list) else [value]:
        id = topic.parse(str(one))
        if id is None:
            raise _Refused(f"The filter {name} has no value '{_quoted(str(one))}'.")
        wanted.add(id)
    return lambda offer: wanted <= offer.suits if name == NEEDS else offer.values[name] in wanted


def _own(state: WorldState, id: str) -> tuple[str, Entry]:
    found = state.find(id)
    if found is None or found[0] in ("contacts", "messages"):
        raise _Refused(f"There is no booking, order, playlist or appointment with the id '{_quoted(id)}'.")
    return found


def _slots(domain: WorldDomain, given: Mapping[str, str | int]) -> dict[str, str]:
    slots = {}
    for name, value in given.items():
        text = str(value).strip()
        if name == NOTE:
            _short(text)
        elif name not in domain.slots:
            takes = ", ".join((*domain.slots, NOTE))
            raise _Refused(f"{domain.id} has no slot '{_quoted(name)}'; it takes {takes}.")
        elif name == "date":
            try:
                text = date.fromisoformat(text).isoformat()
            except ValueError:
                raise _Refused(f"The date '{_quoted(text)}' is not of the form YYYY-MM-DD.") from None
        elif not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= MOST_PEOPLE):
            raise _Refused(f"The slot people takes a number from 1 to {MOST_PEOPLE}.")
        else:
            text = str(int(text))
        slots[name] = text
    return slots


def _short(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise _Refused(f"The text is longer than {MOST_TEXT:,} characters.")
    return text


def _quoted(text: str) -> str:
    """What a call said, as an error may repeat it."""
    return printable(text[:80].encode("utf-8", "replace").decode())


def _fault(state: WorldState, fault: Fault, message: str) -> CallOutcome:
    reply = {"error": {"code": fault, "message": message}}
    return CallOutcome(orjson.dumps(reply).decode(), state, fault)
