"""`fitted:PATH` and `fitted:NAME`: a fitted model as a rater. It sees one pair at a time and nothing else."""

from personafit._hashing import hash_text
from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatRequest, Spec, Unanswerable
from personafit.raters.fitted.file import open_fitted
from personafit.raters.rater import Verdict, rater_record
from personafit.store import TIE


class FittedRater:
    """Prefers the answer that people of the training data would have chosen."""

    endpoint = "fitted"
    max_concurrency = 1
    price = (0.0, 0.0)
    order_matters = False

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        self._model = open_fitted(spec, "choice")
        self.fitted_on = self._model.fitted_on
        self.record = rater_record(spec.text, "fitted", {"model": self._model.fingerprint})

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """The model's margin; a choice among more than two answers is beyond it."""
        if len(shown.texts) != 2:
            raise Unanswerable(f"{self.record.name} compares two answers, not {len(shown.texts)}.")
        margin = self._model.margin(shown.context.facets, shown.item.prompt, *shown.texts)
        label = TIE if margin == 0 else "0" if margin > 0 else "1"
        return Verdict(label=label, value=margin)

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """No model is called."""
        return None

    async def close(self) -> None:
        """Nothing to release."""


def fitted_mark(person: str) -> str:
    """How a person is noted in a model's card: enough to recognise, not to read."""
    return hash_text("fitted", person)[:8]
