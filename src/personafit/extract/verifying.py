"""Verification of attributes against the user's turns, by rule, by prompted model or by trained classifier, and refinement of the
flagged ones.

A verifier without model calls implements `verdicts`; a model is asked by keyed jobs. If verdicts differ, the most
trusted verifier that answered decides: the classifier before the model, the model before the rule; but a rejection by the rule, for
lack of any evidence, is final.

A flagged attribute is rewritten so that the evidence supports it, or dropped. A rewritten one is checked by the rule
again. If the rewriting model cannot be asked or read, the attribute is undecided: a failure neither keeps a flagged attribute in a
profile nor counts as dropping it. Only the verdicts that flag an attribute stay in memory.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from personafit.extract.asking import (
    FITTED,
    RULE,
    VERSION,
    Session,
    StageAnswer,
    StageAsks,
    StagePrompt,
    StageQuestion,
    nonce,
    read_json,
    tagged,
    wording,
)
from personafit.extract.corpus import ConversationCorpus
from personafit.extract.extracting import LONGEST_STATEMENT
from personafit.extract.records import (
    LABELS,
    MODES,
    By,
    Case,
    ExtractedAttribute,
    StagedConversation,
    VerifierVerdict,
)
from personafit.items.hostile import ADDRESSES, IMITATES, signs
from personafit.models import Model, make_model
from personafit.models.embeddings import Embedder
from personafit.people.redaction import redacted
from personafit.store import Status
from personafit.store.records import storable

NAME = "rule"
NEAR = 0.20  # cosine of statement and nearest sentence below which the words do not seem to support it
MOST_SENTENCES = 200  # sentences compared per attribute
HEDGED = 0.6  # confidence below which a statement with one turn of evidence counts as a guess

_SENTENCE = re.compile(r"(?<=[.?!;。？！；])\s*|\n+")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_RULES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
_COMMON = frozenset(_RULES.pop("common").split())
_PATTERNS = {name: re.compile("|".join(found), re.IGNORECASE) for name, found in _RULES.items()}


def steers(text: str) -> bool:
    """Return whether a text seems to instruct the reader, as far as rules can tell."""
    return bool(_PATTERNS["steers"].search(text)) or bool({ADDRESSES, IMITATES} & set(signs(text)))


class RuleVerifier:
    """Judges attributes by rules alone."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def verdicts(self, cases: Sequence[Case]) -> list[VerifierVerdict]:
        """Return one verdict for each attribute, from its text and the user turns of its evidence."""
        support = self._support([case for case in cases if case[1] and not overlap(case[0].text, case[1])])
        return [self._verdict(case, support.get(case[0].id, 1.0)) for case in cases]

    def _verdict(self, case: Case, support: float) -> VerifierVerdict:
        (row, texts), found = case, _PATTERNS
        label, mode, reason = "unsure", "missing-evidence", None
        if not texts:
            label, reason = "rejected", "None of the turns it points to is the user's."
        elif any(steers(text) for text in texts):
            label, reason = "rejected", "A turn it rests on tells the reader what to write about the user."
        elif not found["subject"].search(row.text) or found["dangling"].search(row.text):
            mode = "not-standalone"
            reason = "It does not say who or what it is about without the conversation."
        elif all(found["request"].search(one) and not found["first_person"].search(one) for one in texts):
            mode, reason = "task-context", "The turns are requests that say nothing of the user."
        elif support < NEAR:
            reason = "The turns have hardly anything in common with it."
        else:
            general = found["general"].search(row.text) and not any(map(found["often"].search, texts))
            if len(texts) == 1 and (general or row.confidence < HEDGED):
                why = "says so generally" if general else "is a guess by the extractor's own confidence"
                mode, reason = "over-generalised", f"One turn is all there is, and it {why}."
            else:
                label, mode = "accepted", "none"
        said = {"attribute": row.id, "label": label, "mode": mode, "reason": reason}
        return VerifierVerdict.model_validate({**said, "by": "rule", "verifier": NAME})

    def _support(self, doubtful: Sequence[Case]) -> dict[str, float]:
        """Return, for attributes that share no word with their turns, the cosine with the nearest sentence, without the frame."""
        compared = {
            row.id: (_PATTERNS["frame"].sub("", row.text), [*_sentences(texts)[:MOST_SENTENCES], *texts])
            for row, texts in doubtful
        }
        wanted = sorted({text for statement, said in compared.values() for text in (statement, *said)})
        vectors = dict(zip(wanted, self._embedder.embed(wanted), strict=True))
        return {
            name: max(float(vectors[text] @ vectors[statement]) for text in said)
            for name, (statement, said) in compared.items()
        }


def _sentences(texts: Sequence[str]) -> list[str]:
    return [part for text in texts for part in _SENTENCE.split(text) if part.strip()]


def overlap(statement: str, texts: Sequence[str]) -> set[str]:
    """Return the content words, or pairs of Chinese characters, that a statement shares with the turns; word endings are ignored."""
    return _marks(_PATTERNS["frame"].sub("", statement)) & set().union(*map(_marks, texts))


def _marks(text: str) -> set[str]:
    marks: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word[0] > "⺀":
            marks |= {word[place : place + 2] for place in range(len(word) - 1)}
        elif (len(word) > 3 and word not in _COMMON) or word.isdigit():
            marks.add(word[:5])
    return marks


REPLY_TOKENS = 160
LONGEST_TURN = 2_000  # characters of a turn shown to a verifier
TRUST: dict[By, int] = {"human": 3, "classifier": 2, "llm": 1, "rule": 0}


Askers = Sequence[tuple[str, StageAsks[dict[str, Any]]]]


class AttributeVerifier(Protocol):
    """A verifier that judges many attributes in one call."""

    def verdicts(self, cases: Sequence[Case]) -> list[VerifierVerdict]:
        """Return one verdict for each attribute, or for those it knows."""


def read_verdict(reply: str) -> dict[str, Any] | None:
    """Return the verdict of a reply; None if it is not the requested JSON."""
    value = read_json(reply)
    if not isinstance(value, dict) or value.get("label") not in LABELS:
        return None
    problem = value.get("problem", "none")
    if problem not in MODES:
        return None
    return {"label": value["label"], "mode": problem, "reason": value.get("reason")}


VERIFICATION = StageQuestion("verify", VERSION, read_verdict)


def verify_prompt(row: ExtractedAttribute, texts: Sequence[str], language: str) -> StagePrompt:
    """Return the ask to verify one attribute."""
    words = wording(language)
    material = shown(row.text, texts)
    parts = (words.verify, material, words.verify_close)
    return StagePrompt(row.id, row.person, material, parts, REPLY_TOKENS, words.again)


def shown(statement: str, texts: Sequence[str]) -> str:
    """Return a statement and its evidence turns, as shown to models."""
    short = [text if len(text) <= LONGEST_TURN else f"{text[:LONGEST_TURN]} […]" for text in texts]
    mark = nonce([statement, *short])
    said = "\n".join(tagged("said", mark, text) for text in short)
    return f"{said}\n\n{tagged('statement', mark, statement)}"


def model_verdict(attribute: str, answer: StageAnswer[dict[str, Any]], verifier: str) -> VerifierVerdict:
    """Return a model's answer as a verdict; without an answer the label is unsure."""
    said: dict[str, Any] = {"label": "unsure", "status": answer.status, "reason": answer.reason}
    if answer.value is not None:
        said, reason = dict(answer.value), answer.value["reason"]
        said["mode"] = "none" if said["label"] == "accepted" else said["mode"]
        said["reason"] = " ".join(reason.split())[:300] if isinstance(reason, str) else None
    return VerifierVerdict(attribute=attribute, by="llm", verifier=verifier, **said)


def decide(verdicts: Sequence[VerifierVerdict]) -> VerifierVerdict | None:
    """Return the decisive verdict on one attribute; None if no verifier answered."""
    answered = [verdict for verdict in verdicts if verdict.status == Status.OK]
    for verdict in answered:
        if verdict.by == "rule" and verdict.label == "rejected":
            return verdict
    return max(answered, key=lambda verdict: TRUST[verdict.by], default=None)


def read_refinement(reply: str) -> dict[str, Any] | None:
    """Return the action of a reply; None if it is not the requested JSON."""
    value = read_json(reply)
    if not isinstance(value, dict) or value.get("action") not in ("rewrite", "drop"):
        return None
    statement = value.get("statement", "")
    if value["action"] == "rewrite" and not (isinstance(statement, str) and statement.strip()):
        return None
    return {"action": value["action"], "statement": statement}


REFINEMENT = StageQuestion("refine", VERSION, read_refinement)


def refine_prompt(
    row: ExtractedAttribute, texts: Sequence[str], verdict: VerifierVerdict, language: str
) -> StagePrompt:
    """Return the ask to refine one attribute."""
    words = wording(language)
    material = shown(row.text, texts)
    # A verifier's reason may repeat the user's words, so only the failure mode is given outside the tags.
    fault = verdict.mode if verdict.mode != "none" else verdict.label
    found = words.problem.format(problem=fault, reason="").strip()
    parts = (words.refine, material, found, words.refine_close)
    return StagePrompt(row.id, row.person, material, parts, REPLY_TOKENS, words.again)


def refined(
    case: Case,
    verdict: VerifierVerdict,
    answer: StageAnswer[dict[str, Any]],
    rule: AttributeVerifier,
    redacting: bool,
) -> ExtractedAttribute:
    """Return a flagged attribute after refinement: rewritten, dropped or undecided."""
    row, texts = case
    fault = f"{verdict.label} by {verdict.verifier or verdict.by} ({verdict.mode})"
    if answer.value is None:
        why = f"{fault}; rewriting it came to nothing: {answer.reason}"
        return row.model_copy(update={"status": "undecided", "reason": why})
    text = " ".join(answer.value["statement"].split())
    text = storable(redacted(text) if redacting else text)
    rewritten = row.model_copy(
        update={"status": "rewritten", "text": text, "original": row.text, "reason": f"{fault}."}
    )
    if answer.value["action"] == "drop":
        why = "nothing of it could be kept."
    elif len(text) > LONGEST_STATEMENT:
        why = "what it was rewritten to is too long."
    elif text == row.text:
        why = "it was rewritten to the same."
    elif (again := rule.verdicts([(rewritten, texts)])[0]).label != "accepted":
        why = f"what it was rewritten to is no better: {again.mode}."
    else:
        return rewritten
    return row.model_copy(update={"status": "dropped", "reason": f"{fault}; {why}"})


class ClassifierVerifier:
    """Judges each attribute by the whole conversation it was found in, as the classifier was trained to."""

    def __init__(self, spec: str, conversation: Callable[[str], StagedConversation]) -> None:
        from personafit.raters.fitted import open_fitted

        self.name = spec
        self._fitted = open_fitted(spec, "attribute")
        self._conversation = conversation

    def verdicts(self, cases: Sequence[Case]) -> list[VerifierVerdict]:
        found: dict[str, VerifierVerdict] = {}
        together: dict[str, list[ExtractedAttribute]] = {}
        for row, _ in cases:
            together.setdefault(row.conversation, []).append(row)
        for name, rows in together.items():
            turns = [
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
        return [found[row.id] for row, _ in cases]


Found = dict[str, list[ExtractedAttribute]]
"""Attributes by person."""


class Checking:
    """All verifiers of a run, and the verdicts that flag an attribute."""

    def __init__(
        self, specs: Sequence[str], models: dict[str, Model], embedder: Embedder, corpus: ConversationCorpus
    ) -> None:
        """`models` are open models by spec; others are made here, and all are closed in the end."""
        self._corpus = corpus
        self._rule = RuleVerifier(embedder)
        self._at_once: list[AttributeVerifier] = []
        self.models: list[tuple[str, Model]] = []
        self._flagged: dict[str, VerifierVerdict] = {}
        for one in dict.fromkeys(specs):
            if one == RULE:
                self._at_once.append(self._rule)
            elif one.startswith(FITTED):
                self._at_once.append(ClassifierVerifier(one, corpus.named))
            else:
                self.models.append((one, models.get(one) or make_model(one)))

    async def close(self) -> None:
        for _, model in self.models:
            await model.close()

    async def check(self, session: Session, found: Found) -> Iterator[VerifierVerdict]:
        """Return the verdicts of every verifier on every kept attribute: representatives and unmerged ones."""
        askers = [(name, StageAsks(session.store, model, VERIFICATION)) for name, model in self.models]

        def prompts() -> Iterator[StagePrompt]:
            for rows in found.values():
                yield from self._prompts(self._with_evidence(rows))

        total = sum(row.status == "kept" for rows in found.values() for row in rows)
        if askers and total:
            await session.carry([asker.lane(prompts, total) for _, asker in askers])
        return (one for rows in found.values() for one in self._verdicts(rows, askers))

    def _verdicts(self, rows: Sequence[ExtractedAttribute], askers: Askers) -> Iterator[VerifierVerdict]:
        """Yield the verdicts on one person's attributes; those that flag an attribute are kept for refinement."""
        cases = self._with_evidence(rows)
        said: dict[str, list[VerifierVerdict]] = {row.id: [] for row, _ in cases}
        for verifier in self._at_once:
            for verdict in verifier.verdicts(cases):
                said[verdict.attribute].append(verdict)
        for name, asker in askers:
            for prompt, answer in asker.answers(self._prompts(cases)):
                said[prompt.name].append(model_verdict(prompt.name, answer, name))
        for attribute, verdicts in said.items():
            decided = decide(verdicts)
            if decided is not None and decided.label != "accepted":
                self._flagged[attribute] = decided
            yield from verdicts

    async def refine(self, session: Session, model: Model, found: Found, redacting: bool) -> Found:
        """Return all attributes after the model refined the flagged ones."""
        asker = StageAsks(session.store, model, REFINEMENT)
        mended: dict[str, ExtractedAttribute] = {}
        faulty = {
            person: flagged
            for person, rows in found.items()
            if (flagged := [row for row in rows if row.id in self._flagged])
        }

        def prompts(rows: Sequence[ExtractedAttribute]) -> Iterator[StagePrompt]:
            for case in self._with_evidence(rows):
                yield refine_prompt(*case, self._flagged[case[0].id], self._language(case[0]))

        if total := sum(map(len, faulty.values())):
            asks = (prompt for rows in faulty.values() for prompt in prompts(rows))
            await session.carry([asker.lane(lambda: asks, total)])
        for rows in faulty.values():
            for case, (_, answer) in zip(
                self._with_evidence(rows), asker.answers(prompts(rows)), strict=True
            ):
                fault = self._flagged[case[0].id]
                mended[case[0].id] = refined(case, fault, answer, self._rule, redacting)
        return {person: [mended.get(row.id, row) for row in rows] for person, rows in found.items()}

    def _prompts(self, cases: Sequence[Case]) -> Iterator[StagePrompt]:
        return (verify_prompt(*case, self._language(case[0])) for case in cases)

    def _language(self, row: ExtractedAttribute) -> str:
        return self._corpus.language(row.person)

    def _with_evidence(self, rows: Sequence[ExtractedAttribute]) -> list[Case]:
        """Return the kept attributes, with the user turns of their evidence."""
        judged = [row for row in rows if row.status == "kept"]
        places = {place: place.rpartition("#") for row in judged for place in row.evidence}
        turns = {name: self._corpus.named(name).turns for name in {name for name, _, _ in places.values()}}
        texts = {place: turns[name][int(number)].text for place, (name, _, number) in places.items()}
        return [(row, [texts[place] for place in row.evidence]) for row in judged]
