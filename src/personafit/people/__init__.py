"""The person a response is for: their record, and how it is rendered as text."""

from personafit.people.person import Attribute, Conversation, FacetValue, Memory, Person, Task, Turn, flatten
from personafit.people.render import (
    RENDERING,
    facet_values,
    names_of,
    render_facets,
    render_person,
    select_facets,
)

__all__ = [
    "RENDERING",
    "Attribute",
    "Conversation",
    "FacetValue",
    "Memory",
    "Person",
    "Task",
    "Turn",
    "facet_values",
    "flatten",
    "names_of",
    "render_facets",
    "render_person",
    "select_facets",
]
