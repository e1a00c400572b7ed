"""The rule verifier: what can be said of an attribute and its evidence without asking anybody. In English and Chinese.

It looks for what extractors get wrong most: evidence that is not there or was planted, words that do not bear the statement
out, a task taken for a trait, one occasion made into always, and statements nobody could understand by themselves. Only want of
any evidence is a rejection; all else a better judge may overrule. The bound was set on the starter set's known attributes
beside the same attributes with other people's words.
"""

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from personafit.extract.records import Case, VerifierVerdict
from personafit.items.hostile import ADDRESSES, IMITATES, signs
from personafit.models.embeddings import Embedder

NAME = "rule"
NEAR = 0.20  # cosine of statement and nearest sentence below which the words do not seem to support it
MOST_SENTENCES = 200  # of the turns behind one attribute
HEDGED = 0.6  # confidence below which a general statement on one turn is taken for a guess

_SENTENCE = re.compile(r"(?<=[.?!;。？！；])\s*|\n+")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_RULES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
_COMMON = frozenset(_RULES.pop("common").split())
_PATTERNS = {name: re.compile("|".join(found), re.IGNORECASE) for name, found in _RULES.items()}


def steers(text: str) -> bool:
    """Whether a text seems to tell the reader what to write, as far as rules can tell."""
    return bool(_PATTERNS["steers"].search(text)) or bool({ADDRESSES, IMITATES} & set(signs(text)))


class RuleVerifier:
    """Judges by rules alone."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def verdicts(self, cases: Sequence[Case]) -> list[VerifierVerdict]:
        """One verdict for each attribute, from it and the user's turns it points to."""
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
        """For attributes that share no word with their turns, the cosine with the sentence nearest to them, frame apart."""
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
    """Content words, or pairs of Chinese characters, that a statement shares with the turns; endings do not count."""
    return _marks(_PATTERNS["frame"].sub("", statement)) & set().union(*map(_marks, texts))


def _marks(text: str) -> set[str]:
    marks: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if word[0] > "⺀":
            marks |= {word[place : place + 2] for place in range(len(word) - 1)}
        elif (len(word) > 3 and word not in _COMMON) or word.isdigit():
            marks.add(word[:5])
    return marks
