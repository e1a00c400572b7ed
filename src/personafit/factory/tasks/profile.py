"""A person as drawn: who they are, which domains they care about, and what they prefer there, in the ontology's words."""

from pydantic import BaseModel, ConfigDict, Field

from personafit.factory.tasks.ontology import Ontology
from personafit.people import FacetValue, Person

MASK = "Interests.Domains"


class Profile(BaseModel):
    """One drawn person; values are the ontology's English ones whatever the person's language."""

    model_config = ConfigDict(extra="forbid")

    id: str
    language: str
    facets: dict[str, FacetValue]
    """Demographics, and whatever else was known before preferences were drawn."""
    tags: list[str]
    """What follows from the demographics, such as minor, working, parent."""
    interests: dict[str, bool]
    """The mask: every domain, and whether the person cares about it."""
    preferences: dict[str, list[str]]
    """Facet path to values, in the domains they care about."""
    reasons: dict[str, str] = Field(default_factory=dict)
    """Why a model changed a preference, by path."""

    @property
    def domains(self) -> list[str]:
        """The domains they care about."""
        return [domain for domain, cares in self.interests.items() if cares]

    def of(self, domain: str) -> dict[str, list[str]]:
        """Their preferences in a domain, by attribute."""
        start = f"{domain}."
        return {path[len(start) :]: v for path, v in self.preferences.items() if path.startswith(start)}

    def preference_facets(self, ontology: Ontology, domain: str | None = None) -> dict[str, FacetValue]:
        """Preferences as facets in the person's language: a list where several are allowed, else a text."""
        facets: dict[str, FacetValue] = {}
        for path, values in self.preferences.items():
            if domain is not None and not path.startswith(f"{domain}."):
                continue
            attribute = ontology.attribute(path)
            said = [attribute.said(value, self.language) for value in values]
            facets[path] = said if attribute.take == "several" else said[0]
        return facets

    def person(self, ontology: Ontology, summaries: dict[str, str]) -> Person:
        """The person as a benchmark has them."""
        cares = [ontology.domains[name].zh if self.language == "zh" else name for name in self.domains]
        facets: dict[str, FacetValue] = {**self.facets, MASK: cares, **self.preference_facets(ontology)}
        return Person(id=self.id, language=self.language, facets=facets, summaries=summaries)
