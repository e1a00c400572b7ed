"""A small head fitted on people's marks, from embeddings of the attribute and of the two answers.

It looks at how much closer the personalized answer is to the attribute and to the prompt, at the difference of the two answers as seen by
the attribute, at length, and at whether the attribute is named; a ridge regression turns that into a mark.
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from personafit._hashing import content_hash
from personafit.items.preference import HIGHEST, LOWEST
from personafit.items.reading import Unit
from personafit.models.embeddings import Embedder
from personafit.raters.fitted.model import FittedModel, Floats
from personafit.raters.naming import names_attribute

FEATURES = "preference-head-1"
CLOSER_TO_ATTRIBUTE, CLOSER_TO_PROMPT, LONGER, NAMED = range(4)
"""Places of what `pair_features` says in one number each; the change as seen by the attribute follows."""


class PreferenceHead(FittedModel):
    """Weights on standardised features."""

    answers = "preference"
    unit = "pair"
    on_scale = True
    array_names = ("weights", "intercept", "middle", "spread")

    @cached_property
    def fingerprint(self) -> str:
        arrays = [self.arrays[name].tolist() for name in ("intercept", "weights", "middle", "spread")]
        return content_hash([FEATURES, self.numbers["embedder_fingerprint"], *arrays])

    def check(self) -> None:
        if self.numbers["features"] != FEATURES:
            raise ValueError(f"its features are not those of this program, {FEATURES}")

    def unit_scores(self, units: Sequence[Unit]) -> list[float]:
        """The mark that people would give a personalized answer against a generic one, for somebody with an attribute."""
        found: list[float] = self.marks(pair_features(units, self.encoder)).tolist()
        return found

    def marks(self, features: Floats) -> Floats:
        """Marks from 1 to 5, not rounded."""
        weights, intercept, middle, spread = (self.arrays[name] for name in self.array_names)
        marks: Floats = np.clip((features - middle) / spread @ weights + intercept, LOWEST, HIGHEST)
        return marks


def pair_features(pairs: Sequence[Unit], embedder: Embedder) -> Floats:
    """One row per pair and attribute: the first answer of a pair is the personalized one. Each text is embedded once."""
    texts = list(
        dict.fromkeys(text for pair in pairs for text in (pair.prompt, *reversed(pair.answers), pair.text))
    )
    rows = dict(zip(texts, embedder.embed(texts).astype(np.float64), strict=True))
    found = []
    for pair in pairs:
        personal, generic = pair.answers
        asked, known = rows[pair.prompt], rows[pair.text]
        change = rows[personal] - rows[generic]
        longer = math.log(max(1, len(personal)) / max(1, len(generic)))
        named = float(names_attribute(pair.text, pair.prompt, generic, personal))
        found.append(np.concatenate([[known @ change, asked @ change, longer, named], known * change]))
    return np.array(found)
