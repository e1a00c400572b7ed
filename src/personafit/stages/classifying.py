"""The trained classifier behind the verifiers' protocol: it lives among the raters, which know nothing of stages."""

from collections.abc import Callable, Sequence

from personafit.raters.fitted.file import open_fitted
from personafit.raters.fitted.verifier_features import Turn
from personafit.stages.records import MODES, ExtractedAttribute, StagedConversation, VerifierVerdict


class ClassifierVerifier:
    """Judges each attribute by the whole conversation it was found in, as the classifier was fitted to."""

    def __init__(self, name: str, conversation: Callable[[str], StagedConversation]) -> None:
        self.name = f"fitted:{name}"
        self._fitted = open_fitted(self.name, "attribute")
        self._conversation = conversation

    def verdicts(
        self, attributes: Sequence[tuple[ExtractedAttribute, Sequence[str]]]
    ) -> list[VerifierVerdict]:
        """One verdict for each attribute."""
        found: dict[str, VerifierVerdict] = {}
        together: dict[str, list[ExtractedAttribute]] = {}
        for row, _ in attributes:
            together.setdefault(row.conversation, []).append(row)
        for name, rows in together.items():
            turns: list[Turn] = [
                ("user" if turn.role == "user" else "other", turn.text)
                for turn in self._conversation(name).turns
            ]
            for row, judged in zip(rows, self._fitted.judge(turns, [row.text for row in rows]), strict=True):
                mode = judged.mode if judged.label != "accepted" else "none"
                found[row.id] = VerifierVerdict(
                    attribute=row.id,
                    label=judged.label,
                    mode=next(one for one in MODES if one == mode),
                    by="classifier",
                    verifier=self.name,
                    score=judged.score,
                )
        return [found[row.id] for row, _ in attributes]
