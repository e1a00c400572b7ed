"""`fitted:DIR`: a head fitted on people's marks, as a rater of preferences."""

import asyncio

from personafit.items.preference import PREFERENCE, Compared
from personafit.models import ChatRequest, Spec
from personafit.models.embeddings import make_embedder
from personafit.raters.fitted.file import open_fitted
from personafit.raters.fitted.head import pair_features
from personafit.raters.rater import Part, Verdict, rater_record


class HeadPreference:
    """The head as a rater; its marks are on the scale already."""

    question = PREFERENCE
    order_matters = False
    max_concurrency = 1
    price: tuple[float, float] | None = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        self._head = open_fitted(spec, "preference")
        self._embedder = make_embedder()
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
