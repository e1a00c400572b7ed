"""`fitted:DIR`: a small head fitted on people's marks, from embeddings of the attribute and of the two answers.

It looks at how much closer the personalized answer is to the attribute and to the prompt, at the difference of the two answers as seen by
the attribute, at length, and at whether the attribute is named; a ridge regression turns that into a mark.
"""

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.items.preference import GENERIC, HIGHEST, LOWEST, PERSONAL, PREFERENCE, Compared
from personafit.models import ChatRequest, Spec
from personafit.models.embeddings import Embedder, make_embedder
from personafit.raters.preference.mention import names_attribute
from personafit.raters.rater import Part, Verdict, rater_record

Floats = NDArray[np.float64]

FEATURES = "preference-head-1"
CARD, WEIGHTS = "head.json", "head.npz"
CLOSER_TO_ATTRIBUTE, CLOSER_TO_PROMPT, LONGER, NAMED = range(4)
"""Places of what `pair_features` says in one number each; the change as seen by the attribute follows."""


@dataclass(frozen=True)
class PreferenceHead:
    """Weights on standardised features."""

    weights: Floats
    intercept: float
    middle: Floats
    spread: Floats
    embedder: str
    """Fingerprint of the embedder its features come from."""
    fitted_on: frozenset[str] = frozenset()
    """Hashes of the prompts it was fitted on."""

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that can change a mark."""
        numbers = [part.tolist() for part in (self.weights, self.middle, self.spread)]
        return content_hash([FEATURES, self.embedder, self.intercept, *numbers])

    def marks(self, features: Floats) -> Floats:
        """Marks from 1 to 5, not rounded."""
        raw = (features - self.middle) / self.spread @ self.weights + self.intercept
        return np.clip(raw, LOWEST, HIGHEST)

    def save(self, folder: Path, card: dict[str, Any]) -> None:
        """Write the head and what it is worth."""
        np.savez(
            folder / WEIGHTS,
            weights=self.weights,
            intercept=self.intercept,
            middle=self.middle,
            spread=self.spread,
        )
        body = {
            "features": FEATURES,
            "embedder": self.embedder,
            "fingerprint": self.fingerprint,
            "fitted_on": sorted(self.fitted_on),
            **card,
        }
        (folder / CARD).write_text(json.dumps(body, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> "PreferenceHead":
        """Read a folder that `personafit train preference` wrote."""
        try:
            card = json.loads((folder / CARD).read_text(encoding="utf-8"))
            with np.load(folder / WEIGHTS, allow_pickle=False) as kept:
                head = cls(
                    kept["weights"],
                    float(kept["intercept"]),
                    kept["middle"],
                    kept["spread"],
                    card["embedder"],
                    frozenset(card["fitted_on"]),
                )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(
                f"{folder} holds no fitted head ({CARD} and {WEIGHTS}); `personafit train preference --out {folder}` makes one."
            ) from error
        if card.get("features") != FEATURES or card.get("fingerprint") != head.fingerprint:
            raise UserError(
                f"{folder / CARD} does not belong to its weights or to this version: fit it again."
            )
        return head


def pair_features(pairs: Sequence[Compared], embedder: Embedder) -> Floats:
    """One row per pair and attribute, in the order of the pairs; each text is embedded once."""
    texts = list(
        dict.fromkeys(text for pair in pairs for text in (pair.prompt, *pair.answers, *_attributes(pair)))
    )
    rows = dict(zip(texts, embedder.embed(texts).astype(np.float64), strict=True))
    found = []
    for pair in pairs:
        asked, generic, personal = (rows[text] for text in (pair.prompt, *pair.answers))
        change = personal - generic
        longer = math.log(max(1, len(pair.answers[PERSONAL])) / max(1, len(pair.answers[GENERIC])))
        for attribute in _attributes(pair):
            known = rows[attribute]
            named = float(names_attribute(attribute, pair.prompt, *pair.answers))
            found.append(np.concatenate([[known @ change, asked @ change, longer, named], known * change]))
    return np.array(found)


def _attributes(pair: Compared) -> list[str]:
    return [text for _, text in pair.attributes]


class HeadPreference:
    """The head as a rater; its marks are on the scale already."""

    question = PREFERENCE
    order_matters = False
    max_concurrency = 1
    price: tuple[float, float] | None = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        if not spec.name:
            raise UserError(
                f"{spec.text}: name the folder that `personafit train preference` wrote, as fitted:DIR."
            )
        self._head = PreferenceHead.load(Path(spec.name))
        self._embedder = make_embedder()
        if self._embedder.fingerprint != self._head.embedder:
            raise UserError(
                f"{spec.text} was fitted with another embedder than the one installed: fit it again."
            )
        self.endpoint = spec.text
        self.fitted_on = self._head.fitted_on
        self.record = rater_record(spec.text, "fitted", {"head": self._head.fingerprint})

    async def rate(self, compared: Compared) -> Verdict:
        """One mark per attribute; the label is the nearest whole one."""
        features = await asyncio.to_thread(pair_features, [compared], self._embedder)
        marks = self._head.marks(features)
        parts = [
            Part(target, str(round(mark)), float(mark))
            for (target, _), mark in zip(compared.attributes, marks.tolist(), strict=True)
        ]
        return Verdict(parts=parts, answers_whole=False)

    def request(self, compared: Compared) -> ChatRequest | None:
        """No model is called."""
        return None

    async def close(self) -> None:
        """Nothing to release."""
