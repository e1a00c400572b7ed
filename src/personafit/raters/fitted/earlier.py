"""The file formats before version 2, of which each kind of model had its own: read, never written.

Their numbers are those of version 2 under other headings, and their fingerprints stay what they were, so that stored
judgments are still recognised.
"""

from collections.abc import Mapping
from typing import Any

from personafit._hashing import hash_text

EARLIER_FILES: dict[str, str] = {
    "choice": "model.json",
    "relevance": "matcher.json",
    "preference": "head.json",
    "attribute": "verifier.json",
}
"""What a folder held, by what it answers; arrays were beside it under the same name, as they are now."""
_FORMATS = {
    "personafit.pairwise": "choice",
    "personafit.matcher": "relevance",
    "personafit.verifier": "attribute",
}
_VERSION = 1
_HEADINGS = ("format", "version", "fingerprint", "fitted_on", "card")
_HEAD = ("features", "embedder", "fingerprint", "fitted_on")


def as_version_2(document: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    """A document of an earlier format as one of version 2; a ValueError where it is of none."""
    form = document.get("format")
    if form is None and str(document.get("features")).startswith("preference-head"):
        return _head_of(document)
    if not isinstance(form, str) or form not in _FORMATS:
        raise ValueError('it lacks "format": "personafit-fitted"')
    if document.get("version") != _VERSION:
        raise ValueError(
            f"it has version {document.get('version')!r} of {form}; this program reads version {_VERSION}"
        )
    card = dict(document.get("card", {}))
    found = {
        "answers": _FORMATS[form],
        "model": {key: value for key, value in document.items() if key not in _HEADINGS},
        "card": card,
    }
    if form == "personafit.pairwise":
        # It was known by its bytes, and kept its people in the card.
        return found | {"fitted_on": card.pop("fitted_on", []), "fingerprint": hash_text(content)}
    return found | {"fitted_on": document.get("fitted_on", []), "fingerprint": document["fingerprint"]}


def _head_of(document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "answers": "preference",
        "fingerprint": document["fingerprint"],
        "fitted_on": document["fitted_on"],
        "card": {key: value for key, value in document.items() if key not in _HEAD},
        "model": {"features": document["features"], "embedder_fingerprint": document["embedder"]},
    }
