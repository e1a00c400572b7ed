"""Who the answer is for: the person, what is known of them, and how that is put into words."""

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
