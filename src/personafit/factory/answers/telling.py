"""What an answer model is told of a person: what bears on the question, or what a draw left unmasked; never the name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from personafit._hashing import draw, hash_text
from personafit.factory.answers.config import AnswersSection
from personafit.models.embeddings import Embedder, Vectors
from personafit.people import FacetValue, Person, render_facets
from personafit.raters.dialogues.counting.words import stems
from personafit.store import Product

NAME = "Name"
CORE = ("Demographics", "Personality")
BEARING, MASKED = "rule:bearing-1", "rule:masked-1"


@dataclass(frozen=True)
class AnswerContext:
    """What the answering model is told about the person, and what was left out."""

    product: Product
    masked: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """In words."""
        return self.product.text


def candidates(person: Person) -> list[tuple[str, str]]:
    """What may bear on a question besides the core, as (id or path, text): inferred features, then preferences."""
    inferred = [(one.id, one.text) for one in person.attributes]
    preferred = [
        (path, "; ".join(value) if isinstance(value, list) else str(value))
        for path, value in person.facets.items()
        if path != NAME and path.partition(".")[0] not in CORE
    ]
    return inferred + preferred


class Bearing:
    """Says what of a person bears on a question; remembers the vectors of a few people."""

    def __init__(self, section: AnswersSection, embedder: Embedder | None) -> None:
        self._features = section.features
        self._embedder = embedder
        self._vectors: dict[str, Vectors] = {}

    def forget(self) -> None:
        """Make room for other people."""
        self._vectors = {}

    def told(self, question: str, made_from: Sequence[str], person: Person, *key: str | int) -> AnswerContext:
        """The core fields, and the features nearest to the question; those it was made from come first."""
        known = candidates(person)
        likeness = self._likeness(question, person.id, [text for _, text in known])
        order = sorted(
            range(len(known)), key=lambda place: (known[place][0] not in made_from, -likeness[place], place)
        )
        chosen = [known[place] for place in order[: self._features]]
        core = {path: value for path, value in person.facets.items() if path.partition(".")[0] in CORE}
        lines = [render_facets(core), *(f"- {text}" for _, text in chosen)]
        parents = [person.id, *(name for name, _ in chosen)]
        return AnswerContext(_context("\n".join(filter(None, lines)), BEARING, person.id, parents, *key))

    def _likeness(self, question: str, person: str, texts: Sequence[str]) -> list[float]:
        if self._embedder is None:
            asked = set(stems(question))
            words = [set(stems(text)) for text in texts]
            return [len(asked & own) / max(1, len(own)) for own in words]
        for name, said in ((person, texts), (f"? {question}", [question])):
            if name not in self._vectors:
                self._vectors[name] = self._embedder.embed(said)
        return [float(one) for one in self._vectors[person] @ self._vectors[f"? {question}"][0]]


def mostly_masked(person: Person, share: float, *key: str | int) -> AnswerContext:
    """What a draw leaves of the profile when so much of it is masked; at least one leaf stays."""
    paths = [path for path in person.facets if path != NAME]
    count = min(round(share * len(paths)), max(0, len(paths) - 1))
    drawn = sorted(paths, key=lambda path: draw("mask", *key, person.id, path, among=2**63))
    hidden = set(drawn[:count])
    left: Mapping[str, FacetValue] = {
        path: value for path, value in person.facets.items() if path not in hidden and path != NAME
    }
    masked = tuple(path for path in paths if path in hidden)
    return AnswerContext(_context(render_facets(left), MASKED, person.id, [person.id], *key), masked)


def _context(text: str, maker: str, person: str, parents: list[str], *key: str | int) -> Product:
    """A product of this question's own, though another question may have left the same words."""
    own = hash_text("told", maker, person, *map(str, key), text)
    return Product(id=own, kind="context", text=text, maker=maker, about=person, parents=parents)
