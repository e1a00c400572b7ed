"""The result: a person for each user, made of what is left of their attributes, usable wherever people are."""

from collections import Counter
from collections.abc import Sequence

from personafit.people import Attribute, FacetValue, Person
from personafit.stages.corpus import ConversationEntry
from personafit.stages.language import UNKNOWN
from personafit.stages.records import KINDS, ExtractedAttribute, after_refinement
from personafit.stages.wording import wording


def language_of(entries: Sequence[ConversationEntry]) -> str:
    """The language most of a person's messages are in."""
    counts: Counter[str] = Counter()
    for entry in entries:
        if entry.language != UNKNOWN:
            counts[entry.language] += entry.messages
    return min(counts, key=lambda name: (-counts[name], name), default="en")


def person_of(person: str, language: str, rows: Sequence[ExtractedAttribute]) -> Person:
    """The person as induced: attributes with their evidence, and the same as facets, grouped by what they are about."""
    kept = after_refinement(rows)
    names = wording(language).kinds
    facets: dict[str, FacetValue] = {}
    for kind in KINDS:
        if texts := [row.text for row in kept if row.kind == kind]:
            facets[names[kind]] = texts
    attributes = [Attribute(id=row.id, text=row.text, evidence=row.evidence) for row in kept]
    return Person(id=person, language=language, facets=facets, attributes=attributes)
