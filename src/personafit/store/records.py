"""The shared records: products, items, asks, judgments, raters, and their typed status.

They are the rows of the store and the lines of a benchmark folder. Systems make products; raters judge items
that refer to products; every answer of a rater, human or machine, is a judgment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.people.prompts import PROMPT_SCHEMA, prompt_text

TIE = "tie"
"""The label of a choice between responses that ended in a tie."""
SCORED = frozenset(
    "position products asked answered accuracy debiased counted kept restraint consistent".split()
)
"""Columns of the frames of scores; a slice with such a name has no column of its own."""
UNMADE = "unmade"
"""Slice that names the response of an item that should have been made and was not."""
COPY = "of"
"""Slice that names the original of a person with an altered profile."""

_set = object.__setattr__
_FIELDS: dict[type, set[str]] = {}  # names of all fields by class, shared by records that set all of them


class Status(StrEnum):
    """The status of an ask. A failure never counts as a score and is never dropped silently."""

    OK = "ok"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED = "skipped"


class Record(BaseModel):
    """Base of all records; unknown fields are an error, so that typos in files are caught."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def built(cls, **values: Any) -> Self:
        """Build a record without validation, for speed; `values` must be valid and include every field."""
        record = object.__new__(cls)
        _set(record, "__dict__", values)
        _set(record, "__pydantic_fields_set__", _FIELDS.get(cls) or _FIELDS.setdefault(cls, set(values)))
        _set(record, "__pydantic_extra__", None)
        _set(record, "__pydantic_private__", None)
        return record


class Product(Record):
    """Any text made by a model or a person: a response, a context, a question, a dialogue turn."""

    id: str = Field("", description="Hash of kind, text, maker, what it was given and the sample index.")
    kind: str = Field(description="answer, context, question, turn, attribute or profile.")
    text: str = Field(description="The thing itself.")
    maker: str | None = Field(None, description="Fingerprint or name of who made it; null when unknown.")
    given: str | None = Field(None, description="Id of the context the maker was told, if any.")
    about: str | None = Field(None, description="Id of the person the text is about (contexts).")
    parents: list[str] = Field(
        default_factory=list, description="Ids of the products or asks it was made from."
    )
    status: Status = Field(Status.OK, description="How making it ended.")
    cost: float = Field(0.0, ge=0, description="What it cost in USD.")
    sample: int = Field(0, ge=0, description="Which repetition it is, from 0.")

    def model_post_init(self, _context: Any) -> None:
        """Set the id if the file has none."""
        if not self.id:
            self.id = hash_text(
                self.kind, self.text, self.maker or "", self.given or "", self.about or "", str(self.sample)
            )


class Item(Record):
    """One unit to be judged. Its id is its source key, independent of its content, which `hash` covers."""

    id: str = Field(min_length=1, description="Source key: benchmark, file and line, or task id.")
    kind: str = Field(
        "choice", description="What is asked about it; 'choice' is which answer fits the person."
    )
    person: str = Field(description="Id of the person the answers are for.")
    prompt: str = Field(
        min_length=1,
        description="What the person asked the assistant: a text, or a list of messages with 'role' and 'content' that ends "
        "with the user's.",
        json_schema_extra=PROMPT_SCHEMA,
    )
    products: list[str] = Field(description="Ids of the products judged, in no telling order.")
    group: str = Field(
        "", description="What one page or list call shows together; default person and prompt."
    )
    slices: dict[str, str] = Field(
        default_factory=dict, description="Names to report by, such as half, category, reject, expect."
    )
    hash: str = Field("", description="Content hash of person, prompt and products; made when absent.")

    @field_validator("prompt", mode="before")
    @classmethod
    def _turns(cls, prompt: Any) -> Any:
        """Join the messages of a multi-turn prompt into one text."""
        try:
            return prompt_text(prompt, "messages") if isinstance(prompt, list) else prompt
        except UserError as error:
            raise PydanticCustomError("messages", "{why}", {"why": str(error).rstrip(".")}) from error

    def model_post_init(self, _context: Any) -> None:
        """Set the group and the content hash if the file has none."""
        if not self.group:
            self.group = hash_text(self.person, self.prompt)
        if not self.hash:
            self.hash = content_hash([self.kind, self.person, self.prompt, self.products])


class RaterRecord(Record):
    """A rater, human or machine, with its whole instrument hashed into the fingerprint."""

    fingerprint: str = Field(description="Hash of everything that can change an answer.")
    name: str = Field(description="How reports call it, usually the spec it was made from.")
    kind: str = Field(description="human, llm, reward, fitted, rule, python, replay or gold.")
    settings: dict[str, Any] = Field(default_factory=dict, description="What was hashed, readable.")


class Ask(Record):
    """One request to a model or one submitted page. It yields judgments; parsing it again adds judgments, never asks."""

    id: str = Field(
        description="Unique; final asks of one job and generation share it, so none is stored twice."
    )
    job: str = Field(description="Job key: item, question, rater, context, order and sample.")
    generation: int = Field(
        0, description="0, then one more each time a final status was retried on purpose."
    )
    item: str = Field(description="Id of the item (or group) asked about.")
    question: str = Field(description="Name of the question asked.")
    rater: str = Field(description="Fingerprint of the rater.")
    context: str = Field("none", description="Name of the context the rater was shown.")
    context_id: str | None = Field(None, description="Id of that context as a product.")
    order: str = Field(
        "", description="Order the products were shown in, such as '10'; empty if it cannot matter."
    )
    sample: int = Field(0, description="Which repetition it is, from 0.")
    status: Status = Field(description="How it ended.")
    reply: str | None = Field(None, description="The raw reply.")
    reasoning: str | None = Field(None, description="Reasoning text, apart from the reply.")
    detail: str | None = Field(None, description="Error sentence, or how the reply was obtained.")
    tokens_in: int = Field(0, description="Prompt tokens.")
    tokens_out: int = Field(0, description="Reply tokens, reasoning included.")
    tokens_reasoning: int = Field(0, description="Reasoning tokens among them.")
    cost: float = Field(0.0, description="USD.")
    seconds: float = Field(0.0, description="Wall time of the call.")
    attempts: int = Field(1, description="Calls made, retries and re-asks included.")
    at: float = Field(0.0, description="When it ended, seconds since 1970.")


class Judgment(Record):
    """One rater's answer to one question about one item (and target)."""

    ask: str = Field("", description="Id of the ask it was read from.")
    item: str = Field(description="Id of the item.")
    question: str = Field("fit", description="Name of the question.")
    rater: str = Field(description="Fingerprint of the rater; for gold its name, such as 'published'.")
    target: str = Field("", description="Part of the item that is meant: an attribute, a side, a turn.")
    parse: int = Field(
        0, description="0, then one more for each time the reply was read again; the last counts."
    )
    status: Status = Field(Status.OK, description="Whether there is an answer.")
    label: str | None = Field(
        None, description="The answer as a name; for choices the product's index, or 'tie'."
    )
    value: float | None = Field(
        None, description="The answer as a number; for choices the margin of product 0."
    )
    extra: dict[str, Any] | None = Field(
        None, description="Gold: votes, share, tier. Human: perspective, comment."
    )


@dataclass(slots=True)
class Outcome:
    """The rows that one finished job writes in one transaction."""

    ask: Ask
    judgments: list[Judgment] = field(default_factory=list)
    products: list[Product] = field(default_factory=list)


def item_row(dataset: str, position: int, item: Item) -> dict[str, Any]:
    """Return an item as a row of its data set."""
    return {
        "dataset": dataset,
        "position": position,
        "id": item.id,
        "kind": item.kind,
        "person": item.person,
        "prompt": storable(item.prompt),
        "products": orjson.dumps(item.products).decode(),
        "grp": item.group,
        "slices": orjson.dumps(item.slices).decode(),
        "hash": item.hash,
    }


def ask_row(ask: Ask) -> dict[str, Any]:
    """Return an ask as a row."""
    row = dict(ask.__dict__)
    for name in ("reply", "reasoning", "detail"):
        if row[name]:
            row[name] = storable(row[name])
    return row


def judgment_row(judgment: Judgment) -> dict[str, Any]:
    """Return a judgment as a row."""
    row = dict(judgment.__dict__)
    if row["extra"] is not None:
        row["extra"] = orjson.dumps(row["extra"]).decode()
    return row


def product_row(product: Product) -> dict[str, Any]:
    """Return a product as a row."""
    row = dict(product.__dict__)
    row["parents"] = orjson.dumps(row["parents"]).decode()
    row["text"] = storable(row["text"])
    return row


def storable(text: str) -> str:
    """Replace NUL and lone surrogates, which databases reject, by the replacement character."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def original_of(person: str, slices: Mapping[str, str]) -> str | None:
    """Return the original of an item's person if the item marks them as an altered copy, else None."""
    original = slices.get(COPY)
    return original if original and person.startswith(f"{original}+") else None


def tombstone_of(person: str) -> str:
    """Return the hash that records a forgotten person's id."""
    return hash_text("forgotten", person)
