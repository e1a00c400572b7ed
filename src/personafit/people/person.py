"""Records about a person: facets, memories, attributes, conversations and tasks.

A person's id is stable; a changed profile is a new `version` of the same person. Statistics cluster on the id.
"""

import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from personafit._hashing import content_hash

FacetValue = str | int | float | bool | list[str]
"""Type of a facet's value."""


class PersonRecord(BaseModel):
    """Base of all records about people; unknown fields are an error, so that typos in files are caught."""

    model_config = ConfigDict(extra="forbid")


class Memory(PersonRecord):
    """One memory about a person, as an assistant would store it."""

    id: str = Field(description="Unique within the person.")
    text: str = Field(min_length=1, description="What is remembered, in plain words.")
    time: str | None = Field(None, description="When it was said or seen, ISO 8601.")
    source: str | None = Field(None, description="Where it comes from: a conversation id, a note, an import.")


class Attribute(PersonRecord):
    """One statement about a person, such as an extractor finds in a conversation."""

    id: str = Field(description="Unique within the person.")
    text: str = Field(min_length=1, description="The statement itself.")
    evidence: list[str] = Field(
        default_factory=list,
        description="Ids of conversations or memories that support it; 'ID#3' is turn 3 of a conversation, from 0.",
    )


class Turn(PersonRecord):
    """One message of a conversation."""

    role: str = Field(
        pattern="^(user|assistant|system)$", description="Who speaks: user, assistant or system."
    )
    text: str = Field(description="What is said.")


class Conversation(PersonRecord):
    """One past conversation of a person with an assistant."""

    id: str = Field(description="Unique within the benchmark.")
    person: str = Field(description="Id of the person whose conversation it is.")
    turns: list[Turn] = Field(description="The messages in the order they were sent.")
    attributes: list[Attribute] = Field(
        default_factory=list,
        description="What is known to be true of the person from this conversation, where its authors say so.",
    )


class Person(PersonRecord):
    """The person a response is for, with everything known about them."""

    id: str = Field(min_length=1, description="Stable over all versions of the profile.")
    language: str = Field(description="Language the person is written about in, such as 'en' or 'zh'.")
    facets: dict[str, FacetValue] = Field(
        default_factory=dict,
        description="What is known, as path to value: 'Demographics.Age' to 34. The order of the file is kept.",
    )
    memories: list[Memory] = Field(
        default_factory=list, description="What an assistant would have remembered."
    )
    attributes: list[Attribute] = Field(
        default_factory=list, description="Statements extracted about the person."
    )
    summaries: dict[str, str] = Field(
        default_factory=dict, description="Summaries of past interactions, by topic or domain."
    )

    @property
    def version(self) -> str:
        """Hash of the complete record; it changes with the profile."""
        return content_hash(self.model_dump(mode="json"))


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, FacetValue]:
    """Flatten a nested profile into facets, keeping the order: `{"a": {"b": 1}}` becomes `{"a.b": 1}`.

    Lists of plain values become lists of strings; lists of objects are numbered from 1; nulls, NaN and empty strings are dropped.
    """
    facets: dict[str, FacetValue] = {}
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            facets.update(flatten(value, f"{path}."))
        elif isinstance(value, list) and any(isinstance(element, Mapping | list) for element in value):
            facets.update(
                flatten({str(number): element for number, element in enumerate(value, 1)}, f"{path}.")
            )
        elif isinstance(value, list):
            if texts := [str(element) for element in value if not _is_empty(element)]:
                facets[path] = texts
        elif not _is_empty(value):
            facets[path] = value if isinstance(value, str | int | float | bool) else str(value)
    return facets


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))


class Task(PersonRecord):
    """One task that a person brings to an assistant, over one or several domains."""

    id: str = Field(min_length=1, description="Unique for the person, such as 'SD-Books-task-1'.")
    person: str = Field(description="Id of the person who wants it.")
    domains: list[str] = Field(
        min_length=1, description="The domains it touches; several make it multi-domain."
    )
    description: str = Field(description="What the task is about, for readers.")
    intent: str = Field(min_length=1, description="What the person sets out to do, in a sentence.")
    goal: str = Field(min_length=1, description="When it is done; judges of completion read this.")
    preferences: list[str] = Field(
        default_factory=list,
        description="Paths of the person's facets that bear on it, such as 'Books.Preferred Genres'.",
    )
    situation: dict[str, str] = Field(
        default_factory=dict, description="Where and when: location, device, time of day, and the like."
    )

    @property
    def kind(self) -> str:
        """`SD` (single-domain) or `MD` (multi-domain)."""
        return "SD" if len(self.domains) == 1 else "MD"
