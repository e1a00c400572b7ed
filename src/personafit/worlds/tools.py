"""The seven tools of a world: their arguments, their schemas for models, and the service that answers calls.

A call is a name and JSON text, as a model writes them. Whatever is wrong with it, the reply is an error as a real service would send:
`malformed` if the call could not be read, `impossible` if what it asks for cannot be done.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from personafit._errors import printable
from personafit.worlds.catalogue import Offer
from personafit.worlds.ontology import BUDGET, WorldDomain
from personafit.worlds.requests import Goal, Request, entry_of
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
    asks: str | None = None
    """The question, where the call was `ask_user`: the user's answer is the reply."""


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchArguments(_Arguments):
    """List offers of a domain, ten to a page, or the person's own calendar, bookings, orders, playlists or contacts."""

    domain: str = Field(description="A domain of offers, or one of the person's own tables.")
    filters: dict[str, str | int | list[str]] = Field(
        {},
        description="Attribute to value, or to a list of values of which any will do; 'needs'; 'max_price'.",
    )
    page: int = Field(1, ge=1, le=1000, description="Page of the list, from 1.")


class GetArguments(_Arguments):
    """Show one offer, with the slots that committing to it needs, or one entry of the person's own tables."""

    id: str = Field(description="Id of the offer or entry.")


class CommitArguments(_Arguments):
    """Book, order or save an offer. This is final: there is no need to confirm."""

    id: str = Field(description="Id of the offer.")
    slots: dict[str, str | int] = Field(
        {}, description="What the offer needs, such as date (YYYY-MM-DD) or people; and, if wanted, a note."
    )


class ChangeArguments(_Arguments):
    """Change slots of a booking, order or playlist."""

    id: str = Field(description="Id of the entry in the person's own tables.")
    slots: dict[str, str | int] = Field(min_length=1, description="Slots with their new values.")


class CancelArguments(_Arguments):
    """Cancel a booking or an order, or delete a playlist or an appointment."""

    id: str = Field(description="Id of the entry in the person's own tables.")


class SendArguments(_Arguments):
    """Send a message to one of the person's contacts."""

    contact: str = Field(description="Name of the contact.")
    text: str = Field(min_length=1, description="The message.")


class AskArguments(_Arguments):
    """Ask the person something. They answer what is asked and nothing else."""

    text: str = Field(min_length=1, description="The question.")


TOOLS: Mapping[str, type[_Arguments]] = {
    "search": SearchArguments,
    "get": GetArguments,
    "commit": CommitArguments,
    "change": ChangeArguments,
    "cancel": CancelArguments,
    "send": SendArguments,
    "ask_user": AskArguments,
}


def schemas(request: Request) -> list[dict[str, Any]]:
    """The tools as OpenAI's function definitions; the search names the domains of the world."""
    made = []
    for name, model in TOOLS.items():
        parameters = {key: value for key, value in model.model_json_schema().items() if key in _SCHEMA}
        properties = {
            field: {key: value for key, value in each.items() if key != "title"}
            for field, each in parameters["properties"].items()
        }
        if model is SearchArguments:
            properties["domain"]["enum"] = [*request.domains, *TABLES]
        described = {"name": name, "description": " ".join((model.__doc__ or "").split())}
        made.append(
            {
                "type": "function",
                "function": {**described, "parameters": {**parameters, "properties": properties}},
            }
        )
    return made


_SCHEMA = ("type", "properties", "required", "additionalProperties")


class _Refused(Exception):
    """What a service says when something cannot be done."""


def call(request: Request, state: WorldState, name: str, arguments: str) -> CallOutcome:
    """Carry out one call; whatever is wrong with it is an error reply, never an exception."""
    model = TOOLS.get(name)
    if model is None:
        return _fault(
            state, "malformed", f"There is no tool '{_quoted(name)}'; there are {', '.join(TOOLS)}."
        )
    if len(arguments) > MOST_ARGUMENTS:
        return _fault(state, "malformed", f"The call is longer than {MOST_ARGUMENTS:,} characters.")
    try:
        read = model.model_validate_json(arguments or "{}")
    except ValidationError as error:
        return _fault(state, "malformed", _why(error))
    except ValueError:
        return _fault(state, "malformed", "The arguments are not JSON.")
    try:
        return _carry_out(request, state, read)
    except _Refused as error:
        return _fault(state, "impossible", str(error))


def _carry_out(request: Request, state: WorldState, read: _Arguments) -> CallOutcome:
    match read:
        case SearchArguments():
            return CallOutcome(_search(request, state, read), state)
        case GetArguments():
            return CallOutcome(_get(request, state, read.id), state)
        case CommitArguments():
            return _commit(request, state, read)
        case ChangeArguments() | CancelArguments():
            return _amend(request, state, read)
        case SendArguments():
            return _send(state, read)
        case AskArguments():
            return CallOutcome("", state, asks=_short(read.text))
    raise AssertionError(read)


def _search(request: Request, state: WorldState, read: SearchArguments) -> str:
    if read.domain in TABLES:
        return _json({read.domain: [entry.shown() for entry in state.tables[read.domain].values()]})
    domain = request.domains.get(read.domain)
    if domain is None:
        raise _Refused(
            f"There is no domain '{_quoted(read.domain)}'; there are {', '.join((*request.domains, *TABLES))}."
        )
    wanted = {name: _wanted(domain, name, value) for name, value in read.filters.items()}
    found = request.listed.get(domain.id, ())
    if wanted:
        found = [one for one in found if all(_passes(one, name, value) for name, value in wanted.items())]
    first = (read.page - 1) * PAGE
    reply: dict[str, Any] = {"total": len(found), "page": read.page, "pages": -(-len(found) // PAGE)}
    reply["offers"] = [offer.shown(domain, request.language) for offer in found[first : first + PAGE]]
    if read.page == 1 and not read.filters:
        reply["filters"] = {
            name: topic.values[request.language] for name, topic in domain.topics.items() if name != BUDGET
        }
    return _json(reply)


def _wanted(domain: WorldDomain, name: str, value: str | int | list[str]) -> frozenset[str] | int:
    """The value ids that a filter lets pass, or the highest price."""
    if name == "max_price":
        try:
            return int(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise _Refused("The filter max_price takes a whole number.") from None
    topic = None if name == BUDGET else domain.topics.get(name)
    if topic is None:
        raise _Refused(
            f"{domain.id} has no filter '{_quoted(name)}'; there are {', '.join((*domain.attributes, 'needs', 'max_price'))}."
        )
    wanted = set()
    for one in value if isinstance(value, list) else [value]:
        id = topic.parse(str(one))
        if id is None:
            raise _Refused(f"The filter {name} has no value '{_quoted(str(one))}'.")
        wanted.add(id)
    return frozenset(wanted)


def _passes(offer: Offer, name: str, wanted: frozenset[str] | int) -> bool:
    if isinstance(wanted, int):
        return offer.price <= wanted
    return wanted <= offer.suits if name == "needs" else offer.values[name] in wanted


def _get(request: Request, state: WorldState, id: str) -> str:
    if offer := request.offers.get(id):
        domain = request.domains[offer.domain]
        return _json({**offer.shown(domain, request.language), "slots": list(domain.slots)})
    if found := state.find(id):
        return _json(found[1].shown())
    raise _Refused(f"There is nothing with the id '{_quoted(id)}'.")


def _commit(request: Request, state: WorldState, read: CommitArguments) -> CallOutcome:
    offer = request.offers.get(read.id)
    if offer is None:
        raise _Refused(f"There is no offer with the id '{_quoted(read.id)}'.")
    domain = request.domains[offer.domain]
    slots = _slots(domain, read.slots)
    if missing := [name for name in domain.slots if name not in slots]:
        raise _Refused(f"The slot '{missing[0]}' is missing; {domain.id} needs {', '.join(domain.slots)}.")
    id = f"{domain.table}-{state.written + 101}"
    return _written(state, domain.table, entry_of(Goal(domain.id, slots), offer, domain, id))


def _amend(request: Request, state: WorldState, read: ChangeArguments | CancelArguments) -> CallOutcome:
    found = state.find(read.id)
    if found is None or found[0] in ("contacts", "messages"):
        raise _Refused(
            f"There is no booking, order, playlist or appointment with the id '{_quoted(read.id)}'."
        )
    table, entry = found
    if isinstance(read, CancelArguments):
        return CallOutcome(_json({"cancelled": entry.shown()}), state.drop(table, entry.id))
    if entry.domain is None:
        raise _Refused(f"'{entry.title}' cannot be changed here.")
    slots = {**entry.slots, **_slots(request.domains[entry.domain], read.slots)}
    return _written(state, table, replace(entry, slots=slots, date=slots.get("date")))


def _written(state: WorldState, table: str, entry: Entry) -> CallOutcome:
    return CallOutcome(_json({"done": entry.shown()}), state.put(table, entry))


def _send(state: WorldState, read: SendArguments) -> CallOutcome:
    if read.contact not in state.tables["contacts"]:
        raise _Refused(
            f"There is no contact '{_quoted(read.contact)}'; there are {', '.join(state.tables['contacts'])}."
        )
    message = Entry(f"messages-{state.written + 101}", read.contact, slots={"text": _short(read.text)})
    return CallOutcome(_json({"sent": {"to": read.contact}}), state.put("messages", message))


def _slots(domain: WorldDomain, given: Mapping[str, str | int]) -> dict[str, str]:
    """The slots as texts, checked."""
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
        elif not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= MOST_PEOPLE:
            raise _Refused(f"The slot people takes a number from 1 to {MOST_PEOPLE}.")
        else:
            text = str(int(text))
        slots[name] = text
    return slots


def _short(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise _Refused(f"The text is longer than {MOST_TEXT:,} characters.")
    return text


def _why(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{f'Argument {_quoted(place)}: ' if place else ''}{first['msg']}."


def _quoted(text: str) -> str:
    """What a call said, as an error may repeat it."""
    return printable(text[:80].encode("utf-8", "replace").decode())


def _fault(state: WorldState, fault: Fault, message: str) -> CallOutcome:
    return CallOutcome(_json({"error": {"code": fault, "message": message}}), state, fault)


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
