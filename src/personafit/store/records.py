"""The records everything exchanges: products, items, asks, judgments, raters, and their typed status.

These are the rows of the store and the lines of a benchmark folder. Systems make products; raters judge items
that refer to products; every answer ever given, by person or machine, is a judgment.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.people.prompts import PROMPT_SCHEMA, prompt_text

TIE = "tie"
"""The label of a choice that was no choice."""
UNMADE = "unmade"
"""The slice that says which answer of an item was to be made and was not."""
COPY = "of"
"""The slice that says of whom an item's person is a copy."""

_set = object.__setattr__
_FIELDS: dict[type, set[str]] = {}  # of each class: records that have all fields share it


class Status(StrEnum):
    """How an ask ended. A failure is never a score and is never dropped silently."""

    OK = "ok"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED = "skipped"


class Record(BaseModel):
    """Base of all records: unknown fields are an error, so that typos in files are found."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def built(cls, **values: Any) -> Self:
        """A record of values that are known to be right, all fields given: made by the thousand, unchecked and fast."""
        record = object.__new__(cls)
        _set(record, "__dict__", values)
        _set(record, "__pydantic_fields_set__", _FIELDS.get(cls) or _FIELDS.setdefault(cls, set(values)))
        _set(record, "__pydantic_extra__", None)
        _set(record, "__pydantic_private__", None)
        return record


class Product(Record):
    """Anything a model or a person made: an answer, a context, a question, a dialogue turn."""

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
        """Give the product its id where the file has none."""
        if not self.id:
            self.id = hash_text(
                self.kind, self.text, self.maker or "", self.given or "", self.about or "", str(self.sample)
            )


class Item(Record):
    """One thing to be judged. Its id is its source key, never its content; the content hash sits beside it."""

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
        """Messages of several turns as one text."""
        try:
            return prompt_text(prompt, "messages") if isinstance(prompt, list) else prompt
        except UserError as error:
            raise PydanticCustomError("messages", "{why}", {"why": str(error).rstrip(".")}) from error

    def model_post_init(self, _context: Any) -> None:
        """Fill in the group and the content hash where the file has none."""
        if not self.group:
            self.group = hash_text(self.person, self.prompt)
        if not self.hash:
            self.hash = content_hash([self.kind, self.person, self.prompt, self.products])


class RaterRecord(Record):
    """Who answers, with the whole instrument hashed into the fingerprint."""

    fingerprint: str = Field(description="Hash of everything that can change an answer.")
    name: str = Field(description="How reports call it, usually the spec it was made from.")
    kind: str = Field(description="human, llm, reward, fitted, rule, python, replay or gold.")
    settings: dict[str, Any] = Field(default_factory=dict, description="What was hashed, readable.")


class Ask(Record):
    """One model call or one submitted page. It yields judgments; parsing again adds judgments, never asks."""

    id: str = Field(
        description="Unique; final asks of one job and generation share it, so none is stored twice."
    )
    job: str = Field(description="Job key: item, question, rater, view, order and sample.")
    generation: int = Field(
        0, description="0, then one more each time a final status was retried on purpose."
    )
    item: str = Field(description="Id of the item (or group) asked about.")
    question: str = Field(description="Name of the question asked.")
    rater: str = Field(description="Fingerprint of the rater.")
    view: str = Field("none", description="Name of the context the rater was shown.")
    context: str | None = Field(None, description="Id of that context as a product.")
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


class Outcome(Record):
    """What one finished job writes, in one transaction."""

    ask: Ask
    judgments: list[Judgment] = Field(default_factory=list)
    products: list[Product] = Field(default_factory=list)


def item_row(dataset: str, position: int, item: Item) -> dict[str, Any]:
    """An item as a row of its data set."""
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
    """An ask as a row."""
    row = dict(ask.__dict__)
    for name in ("reply", "reasoning", "detail"):
        if row[name]:
            row[name] = storable(row[name])
    return row


def judgment_row(judgment: Judgment) -> dict[str, Any]:
    """A judgment as a row."""
    row = dict(judgment.__dict__)
    if row["extra"] is not None:
        row["extra"] = orjson.dumps(row["extra"]).decode()
    return row


def product_row(product: Product) -> dict[str, Any]:
    """A product as a row."""
    row = dict(product.__dict__)
    row["parents"] = orjson.dumps(row["parents"]).decode()
    row["text"] = storable(row["text"])
    return row


def storable(text: str) -> str:
    """The text without what no database takes: NUL and lone surrogates become the replacement character."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def original_of(person: str, slices: Mapping[str, str]) -> str | None:
    """Whose altered profile the person of an item is, where a benchmark says that it is one; None otherwise."""
    original = slices.get(COPY)
    return original if original and person.startswith(f"{original}+") else None


def tombstone_of(person: str) -> str:
    """Return the hash under which a forgotten person's id is remembered."""
    return hash_text("forgotten", person)
