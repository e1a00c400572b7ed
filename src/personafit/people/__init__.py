"""Who the answer is for: the person, what is known of them, and how that is put into words."""

from personafit.people.person import Attribute, Conversation, FacetValue, Memory, Person, Turn, flatten
from personafit.people.render import RENDERING, facet_values, render_facets, render_person, select_facets
from personafit.people.task import Task

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
    "render_facets",
    "render_person",
    "select_facets",
]
