"""Questions there are already, of anybody's: by likeness, or by their very words where the threshold is 1."""

from collections.abc import Sequence

from personafit.factory.kept_texts import BlockDuplicates, NearDuplicates
from personafit.models.embeddings import Embedder


class KnownQuestions:
    """Takes questions in and says of each which earlier one it repeats."""

    def __init__(self, similarity: float, embedder: Embedder) -> None:
        self._likeness = NearDuplicates(similarity, embedder) if similarity < 1 else None
        self._words = BlockDuplicates(similarity) if similarity >= 1 else None

    def add(self, questions: Sequence[tuple[str, str]]) -> list[str | None]:
        """For each (name, text) the name of the one it repeats, or None, and then it is taken in."""
        if self._likeness is not None:
            return self._likeness.add(questions)
        assert self._words is not None
        self._words.offer([("", text) for _, text in questions])
        return [self._words.twin(place, name) for place, (name, _) in enumerate(questions)]
