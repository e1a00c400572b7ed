"""`fitted:PATH` and `fitted:NAME`: a fitted model as a rater. It sees one pair at a time and nothing else."""

from pathlib import Path

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatRequest, Spec, Unanswerable
from personafit.raters.fitted.model import PairwiseModel
from personafit.raters.rater import Verdict, rater_record
from personafit.store import TIE

SHIPPED = Path(__file__).parent / "shipped"


class FittedRater:
    """Prefers the answer that people of the training data would have chosen."""

    endpoint = "fitted"
    max_concurrency = 1
    price = (0.0, 0.0)
    order_matters = False

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        path = find_model(spec)
        try:
            self._model = PairwiseModel.load(path)
        except (ValueError, OSError) as error:
            raise UserError(f"{spec.text}: {error}") from error
        self.fitted_on = frozenset(self._model.card.get("fitted_on", ()))
        self.record = rater_record(spec.text, "fitted", {"model": hash_text(path.read_bytes())})

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


def find_model(spec: Spec) -> Path:
    """The file of a shipped model's name, of a path, or of a folder that `train` made."""
    shipped = SHIPPED / f"{spec.name}.json"
    if shipped.is_file():
        return shipped
    path = Path(spec.name).expanduser()
    path = path / "model.json" if path.is_dir() else path
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.json")))
        raise UserError(f"{spec.text}: there is neither such a file nor such a model; shipped are {names}.")
    return path
