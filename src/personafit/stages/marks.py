"""What people say of the statements about themselves: the marks made on their pages, given back as a file.

A mark holds for the words it was made on. Where a statement has been rewritten since, it says nothing of the new words.
"""

from collections.abc import Sequence
from pathlib import Path

from personafit._errors import UserError, located
from personafit.stages.reading.rows import read_rows
from personafit.stages.records import LABELS, ExtractedAttribute, Label, VerifierVerdict

NOT_TRUE = "The person says that it is not true."


class Marks:
    """A file of marks as a verifier: `attribute`, `text` and `label` on each line."""

    def __init__(self, path: str) -> None:
        self._name = f"people:{path}"
        self._marks: dict[tuple[str, str], Label] = {}
        for number, row in enumerate(read_rows(Path(path)), 1):
            if row.value is None:
                raise UserError(row.problem or "")
            attribute, text, said = (row.value.get(field) for field in ("attribute", "text", "label"))
            label = next((one for one in LABELS if one == said), None)
            if not isinstance(attribute, str) or not isinstance(text, str) or label is None:
                raise UserError(
                    f"{located(path, number)} is no mark: it needs attribute, text and label, which is one of {', '.join(LABELS)}."
                )
            self._marks[attribute, " ".join(text.split())] = label

    def verdicts(
        self, attributes: Sequence[tuple[ExtractedAttribute, Sequence[str]]]
    ) -> list[VerifierVerdict]:
        """Verdicts on those attributes that were marked."""
        return [verdict for row, _ in attributes if (verdict := self.of(row)) is not None]

    def of(self, row: ExtractedAttribute) -> VerifierVerdict | None:
        """What was said of an attribute in these words, if anything."""
        label = self._marks.get((row.id, row.text))
        if label is None:
            return None
        reason = NOT_TRUE if label == "rejected" else None
        return VerifierVerdict(attribute=row.id, label=label, by="human", verifier=self._name, reason=reason)
