"""Fingerprints of our wordings, parsers and rules, by name and version: our own source is never hashed.

Whoever changes what is asked, or how a reply is read, raises the version that stands beside it; `tests/golden/wordings.json` holds
what every version says and reads. Versions that were once known by a hash of their source keep that hash here, so that asks in
stores of that time are still recognised.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash

PINNED: Mapping[tuple[str, str], str] = {
    ("fit", "1"): "16b73f1ebf9c14a5520d438da538a4ac",
    ("fit/off", "1"): "1bc355b479228b10aa705dea16783645",
    ("fit/marks", "1"): "d1830beb59342e5de2692cf00d5a851b",
    ("fit/nonce", "1"): "e3e0c2aa60c3139311a0f4f16f2b0646",
    ("fit/all", "1"): "c668dcd64db80102627adc0df673281d",
    ("likelihood", "1"): "bc56ffef106a0340a5047d4373adde89",
    ("aspects", "1"): "5b0127425ee7e2a98f6010eb69fff9c4",
    ("relevance/pair", "1"): "b3ccf12487405d32b4fd1d42ff55c771",
    ("relevance/graded", "1"): "56f7b8c6e09e8f7a756cbfa635415513",
    ("relevance/list", "1"): "8d26c6e3cedb29ec21aa4f6d03861ec6",
    ("preference", "1"): "345ed94d70c0a094f8d2b6c499bc3aa0",
    ("mention", "1"): "a5b6ad38028c0ac0de3a782019e1a97d",
    ("dialogue/completion", "1"): "8559f5ae0eb1d96ce4c38f207765a39e",
    ("dialogue/personalization", "1"): "51231b4f47ff929a2bba31d9ab28ab2a",
    ("dialogue/naturalness.user", "1"): "d193dbe6888ec8d308e06129f33f883c",
    ("dialogue/naturalness.assistant", "1"): "d4ef5107ca1e4f313c8f9ac2c9e310b1",
    ("dialogue/coherence.user", "1"): "6993cf7b6609c6c4e9e752cec34c1293",
    ("dialogue/coherence.assistant", "1"): "26600d7b67cb060b17333094c1dccf48",
    ("dialogue/personalization.turns", "1"): "d558ba823f467c56fd9d5bc449009008",
    ("profiling", "1"): "d5304b5c633cab0b2b37e82e9906b345",
    ("rule/choice/length", "1"): "8e32621d4c174588",
    ("rule/choice/overlap", "1"): "8e32621d4c174588",
    ("rule/choice/second-person", "1"): "8e32621d4c174588",
    ("rule/choice/markup", "1"): "8e32621d4c174588",
    ("rule/choice/name", "1"): "8e32621d4c174588",
    ("rule/relevance/always-yes", "1"): "7b9d510327f239bb",
    ("rule/relevance/bm25", "1"): "7b9d510327f239bb",
    ("rule/relevance/overlap", "1"): "7b9d510327f239bb",
    ("rule/preference/length", "1"): "fb1963a15a97e68f",
    ("rule/preference/mention", "1"): "fb1963a15a97e68f",
    ("names-attribute", "1"): "529428ed6d42594f",
}
"""Name and version to the fingerprint; a version that is not here gets a hash of name and version."""


def fingerprint_of(name: str, version: str) -> str:
    """The fingerprint of a wording, parser or rule."""
    return PINNED.get((name, version)) or content_hash([name, version])


def own_version(question: Any) -> str:
    """The version that a question's class states itself: an inherited one would be that of other words or another parser."""
    version: str | None = vars(type(question)).get("version")
    if version is None:
        raise UserError(f"{type(question).__name__} asks or reads in a way of its own: give it a `version`.")
    return version


def frozen_text(name: str, version: str) -> str:
    """The source that this version had when source was hashed beside a model's settings; later versions never had any."""
    file = files(__name__) / f"{name}-{version}.txt"
    return file.read_bytes().decode() if file.is_file() else f"{name} {version}"
