"""A pair as a line of the file that TRL's trainers read: prompt, chosen and rejected as messages, the rest beside it."""

from collections.abc import Mapping
from typing import Any

from personafit.models.reward.rendering import KNOWN
from personafit.people import FacetValue, render_facets

NOT_PERSONAL = "not personal"


def trl_row(
    person: str, facets: Mapping[str, FacetValue], question: str, chosen: str, rejected: str, tier: str
) -> dict[str, Any]:
    """One pair; without facets it is nobody's. The person stands in the system turn, in the words our models read."""
    known = [{"role": "system", "content": KNOWN.format(person=render_facets(facets))}] if facets else []
    return {
        "prompt": [*known, {"role": "user", "content": question}],
        "chosen": [{"role": "assistant", "content": chosen}],
        "rejected": [{"role": "assistant", "content": rejected}],
        "person": dict(facets),
        "person_id": person,
        "tier": tier,
    }
