"""The checking of everyone's attributes: all verifiers' verdicts, which one counts, and the mending of what was found fault with.

Verdicts are kept in a file beside the merged attributes, person by person; in memory stay only those that find fault.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from personafit.engine import check_budget
from personafit.models import Model, make_model
from personafit.models.embeddings import Embedder
from personafit.stages.asking import StageAsks, StagePrompt
from personafit.stages.corpus import ConversationCorpus
from personafit.stages.records import ExtractedAttribute, VerifierVerdict, line_of, read_lines
from personafit.stages.rules import RuleVerifier
from personafit.stages.session import FITTED, PEOPLE, RULE, Session, Tally
from personafit.stages.verifying import (
    NOT_TRUE,
    REFINEMENT,
    VERIFICATION,
    AttributeVerifier,
    ClassifierVerifier,
    Marks,
    decide,
    model_verdict,
    refine_prompt,
    refined,
    verify_prompt,
)

Merged = Callable[[], Iterator[tuple[str, str, list[ExtractedAttribute]]]]
"""Everyone's attributes: the person, their language, the rows."""


class Checking:
    """All verifiers of a run, and what they said."""

    def __init__(
        self,
        specs: Sequence[str],
        spec: str,
        model: Model,
        embedder: Embedder,
        corpus: ConversationCorpus,
        budget: float | None,
        path: Path,
    ) -> None:
        self._corpus = corpus
        self._path = path
        self._rule = RuleVerifier(embedder)
        self._at_once: list[AttributeVerifier] = []
        self._models: list[tuple[str, Model]] = []
        self._flagged: dict[str, VerifierVerdict] = {}
        self._refined: dict[str, ExtractedAttribute] = {}
        self._marks: list[Marks] = []
        for one in dict.fromkeys(specs):
            if one == RULE:
                self._at_once.append(self._rule)
            elif one.startswith(FITTED):
                self._at_once.append(ClassifierVerifier(one.removeprefix(FITTED), corpus.named))
            elif one.startswith(PEOPLE):
                self._marks.append(Marks(one.removeprefix(PEOPLE)))
                self._at_once.append(self._marks[-1])
            else:
                self._models.append((one, model if one == spec else make_model(one)))
        check_budget(budget, self._models)

    async def close(self) -> None:
        """Close the models that only verify."""
        for _, model in self._models:
            await model.close()

    async def check(self, session: Session, merged: Merged) -> None:
        """Have every verifier judge every attribute that stands for others or for itself."""
        total = sum(row.status == "kept" for _, _, rows in merged() for row in rows)
        askers = [(name, StageAsks(session.store, model, VERIFICATION)) for name, model in self._models]

        def prompts() -> Iterator[StagePrompt]:
            for _, language, rows in merged():
                for row, texts in self._with_evidence(rows):
                    yield verify_prompt(row, texts, language)

        if askers and total:
            await session.carry([asker.lane(prompts, total) for _, asker in askers])
        with self._path.open("wb") as file:
            for _, language, rows in merged():
                for verdict in self._verdicts(self._with_evidence(rows), language, askers):
                    file.write(line_of(verdict))

    def _verdicts(
        self,
        cases: list[tuple[ExtractedAttribute, list[str]]],
        language: str,
        askers: Sequence[tuple[str, StageAsks[dict[str, object]]]],
    ) -> Iterator[VerifierVerdict]:
        """All verdicts on one person's attributes, by attribute; those that find fault are remembered."""
        said: dict[str, list[VerifierVerdict]] = {row.id: [] for row, _ in cases}
        for verifier in self._at_once:
            for verdict in verifier.verdicts(cases):
                said[verdict.attribute].append(verdict)
        for name, asker in askers:
            asks = [verify_prompt(row, texts, language) for row, texts in cases]
            for (row, _), (_, answer) in zip(cases, asker.answers(asks), strict=True):
                said[row.id].append(model_verdict(row, answer, name))
        for attribute, verdicts in said.items():
            decided = decide(verdicts)
            if decided is not None and decided.label != "accepted":
                self._flagged[attribute] = decided
            yield from verdicts

    async def refine(self, session: Session, model: Model, merged: Merged, redacting: bool) -> None:
        """Have the model mend what was found fault with."""
        asker = StageAsks(session.store, model, REFINEMENT)

        def cases() -> Iterator[tuple[ExtractedAttribute, list[str], str]]:
            for _, language, rows in merged():
                flagged = [row for row in rows if row.id in self._flagged and not self._denied(row)]
                for row, texts in self._with_evidence(flagged):
                    yield row, texts, language

        def prompts() -> Iterator[StagePrompt]:
            for row, texts, language in cases():
                yield refine_prompt(row, texts, self._flagged[row.id], language)

        denied = [row for _, _, rows in merged() for row in rows if self._denied(row)]
        for row in denied:
            self._refined[row.id] = row.model_copy(update={"status": "dropped", "reason": NOT_TRUE})
        if total := len(self._flagged) - len(denied):
            await session.carry([asker.lane(prompts, total)])
        for (row, texts, _), (_, answer) in zip(cases(), asker.answers(prompts()), strict=True):
            done = refined(row, texts, self._flagged[row.id], answer, self._rule, redacting)
            if any(
                said is not None and said.label != "accepted"
                for said in (one.of(done) for one in self._marks)
            ):
                done = row.model_copy(update={"status": "dropped", "reason": NOT_TRUE})
            self._refined[row.id] = done

    def _denied(self, row: ExtractedAttribute) -> bool:
        """Whether the person it is about says it is not true: nothing is to be mended then."""
        verdict = self._flagged.get(row.id)
        return verdict is not None and verdict.by == "human" and verdict.label == "rejected"

    def final(self, merged: Merged) -> Iterator[tuple[str, str, list[ExtractedAttribute]]]:
        """Everyone's attributes with what became of each."""
        for person, language, rows in merged():
            yield person, language, [self._refined.get(row.id, row) for row in rows]

    def verdicts(self, tally: Tally) -> Iterator[VerifierVerdict]:
        """Everything that was said, counted on the way."""
        for _, group in groupby(read_lines(self._path, VerifierVerdict), lambda verdict: verdict.attribute):
            verdicts = list(group)
            tally.verdicts(verdicts, decide(verdicts))
            yield from verdicts

    def _with_evidence(
        self, rows: Sequence[ExtractedAttribute]
    ) -> list[tuple[ExtractedAttribute, list[str]]]:
        """Attributes that are judged, with the user's turns they point to."""
        judged = [row for row in rows if row.status == "kept"]
        wanted: dict[str, set[int]] = {}
        for row in judged:
            for place in row.evidence:
                name, _, number = place.rpartition("#")
                wanted.setdefault(name, set()).add(int(number))
        texts: dict[str, str] = {}
        for name, numbers in wanted.items():
            turns = self._corpus.named(name).turns
            texts |= {f"{name}#{number}": turns[number].text for number in numbers}
        return [(row, [texts[place] for place in row.evidence]) for row in judged]
