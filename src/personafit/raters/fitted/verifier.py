"""The fitted verifier: from a conversation and statements about its user to the probability that each is problematic.

Four kinds of signs are weighed: how close the statement is to anything the user said, and how much closer than to what the assistant
said; whose words these are (of the user, or of a colleague they speak of); whether they were denied, asked or past; and what the
statement claims that nobody said. None of them sees the evidence an extractor names, because its claims are what is judged, nor how
long the statement is: that would be a fact about its author. A verifier holds weights of named features and two thresholds, no text
of the training data. `starter` names the one that comes with the package, fitted on the starter set.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from personafit._hashing import content_hash
from personafit.models.embeddings import Embedder, Vectors
from personafit.raters.characters import HAN
from personafit.raters.fitted.model import FittedModel, Floats
from personafit.raters.text import CLAUSE, SENTENCE, content_words, pattern, pieces, places

FRAME = pattern("signs", "frame")

FIRST_PERSON = pattern("signs", "first_person")
OTHERS = pattern("signs", "others")
NEGATION = pattern("signs", "negation")
PAST = pattern("signs", "past")
GENERAL = pattern("signs", "general")
DANGLING = pattern("signs", "dangling")
NUMBER = pattern("signs", "number")
DECLINED = pattern("signs", "declined")
QUESTION = re.compile(r"[?？]")


def said_by_others(before: str) -> int:
    """Who was named last in what comes before a word: 1 somebody else, -1 the speaker, 0 nobody."""
    other = max((match.start() for match in OTHERS.finditer(before)), default=-1)
    own = max((match.start() for match in FIRST_PERSON.finditer(OTHERS.sub(_blank, before))), default=-1)
    return (other > own) - (own > other)


def _blank(match: re.Match[str]) -> str:
    return "_" * len(match.group())


Turn = tuple[str, str]  # role and text; whoever is not the "user" is somebody else

FEATURES = tuple(
    "sentence turn top_three lead_over_assistant assistant words_of_user words_of_assistant_only words_in_one_turn "
    "closer_as_friend closer_as_he closer_as_past others_words own_words others_in_clause denied asked past "
    "assistant_idea_declined number_not_said general_not_said dangling".split()
)
_WORDS_WEIGHT = (
    0.6  # of shared words beside the cosine, where the clause that bears a statement out is looked for
)
_WINDOW = {
    True: 5,
    False: 22,
}  # characters before a word in which a negation counts, in Chinese and elsewhere


@dataclass(frozen=True)
class _Said:
    """A speaker's text, split into sentences and embedded."""

    texts: list[str]
    vectors: Vectors

    def closeness(self, queries: Vectors) -> Floats:
        return np.asarray(self.vectors @ queries.T, dtype=np.float64)


def statement_features(turns: Sequence[Turn], statements: Sequence[str], embedder: Embedder) -> Floats:
    """One row of `FEATURES` for each statement about the user of one conversation."""
    if not statements:
        return np.zeros((0, len(FEATURES)))
    own = [text for role, text in turns if role == "user" and text.strip()]
    others = [text for role, text in turns if role != "user" and text.strip()]
    if not own:
        return np.zeros((len(statements), len(FEATURES)))
    heard = _Heard(turns, own, others, embedder)
    asked = [_as_said(statement) for statement in statements]
    vectors = embedder.embed([text for texts in asked for text in texts])
    queries = vectors.reshape(len(asked), len(asked[0]), -1)
    return np.array([heard.row(*pair) for pair in zip(statements, queries, strict=True)])


def alone_features(statement: str) -> list[float]:
    """What can be known from the statement without the conversation: the control a verifier must beat."""
    chinese = bool(HAN.search(statement))
    counts = [len(pattern.findall(statement)) for pattern in (GENERAL, DANGLING, NEGATION, NUMBER)]
    commas = statement.count(",") + statement.count("，")
    return [float(x) for x in (len(statement) * (3 if chinese else 1), commas, *counts, chinese)]


def _as_said(statement: str) -> list[str]:
    """The statement as the user would say it: of themselves, of a friend, of him, of the past."""
    topic = FRAME.sub("", statement) or statement
    frames = (
        ("我", "朋友", "他", "我以前")
        if HAN.search(statement)
        else ("I ", "My friend ", "He ", "I used to: ")
    )
    return [frame + topic for frame in frames]


class _Heard:
    """One conversation, ready to be compared with statements."""

    def __init__(self, turns: Sequence[Turn], own: list[str], others: list[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._turns = turns
        self._own = self._said(own)
        self._sentences = self._said([part for text in own for part in pieces(text, SENTENCE)])
        self._clauses = self._said([part for text in own for part in pieces(text, CLAUSE)])
        self._others = self._said([part for text in others for part in pieces(text, SENTENCE)])
        self._own_words = frozenset().union(*map(content_words, own))
        self._other_words = frozenset().union(*map(content_words, others))
        self._numbers = {match.group().lower() for text in own for match in NUMBER.finditer(text)}

    def _said(self, texts: list[str]) -> _Said:
        return _Said(texts, self._embedder.embed(texts))

    def row(self, statement: str, queries: Vectors) -> list[float]:
        """The features of one statement, in the order of `FEATURES`; `queries` are the vectors of `_as_said`."""
        topic = FRAME.sub("", statement) or statement
        chinese = bool(HAN.search(statement))
        words = content_words(statement)
        count = max(1, len(words))
        sentences, clauses = self._sentences.closeness(queries), self._clauses.closeness(queries)
        turns = self._own.closeness(queries)[:, 0]
        assistant = self._others.closeness(queries)[:, 0] if self._others.texts else np.zeros(1)
        best = _bearing(self._sentences, sentences[:, 0], words)
        clause = self._clauses.texts[_bearing(self._clauses, clauses[:, 0], words)]
        lead = max(float(sentences[:, 0].max()), float(clauses[:, 0].max())) - float(assistant.max())
        who = _WordsInPlace(words, self._sentences.texts, topic.lower(), chinese)
        numbers = {match.group().lower() for match in NUMBER.finditer(topic)}
        general = GENERAL.search(topic) and not GENERAL.search(self._sentences.texts[best])
        return [
            float(value)
            for value in (
                sentences[:, 0].max(),
                turns.max(),
                np.sort(sentences[:, 0])[-3:].mean(),
                lead,
                assistant.max(),
                len(words & self._own_words) / count,
                len((words & self._other_words) - self._own_words) / count,
                max(len(words & content_words(text)) for text in self._own.texts) / count,
                *(sentences[best, 0] - sentences[best, 1:]),
                who.others,
                who.own,
                said_by_others(clause) > 0,
                who.denied,
                who.asked,
                who.past,
                lead < 0 and self._declined(assistant),
                bool(numbers - self._numbers),
                bool(general),
                len(DANGLING.findall(topic)),
            )
        ]

    def _declined(self, closeness: Floats) -> bool:
        """Whether the user said no right after the sentence of the assistant that is closest to the statement."""
        if not self._others.texts:
            return False
        closest = self._others.texts[int(closeness.argmax())]
        for place, (role, text) in enumerate(self._turns):
            if role != "user" and closest in text:
                after = next((said for who, said in self._turns[place + 1 :] if who == "user"), "")
                return bool(DECLINED.search(after))
        return False


class _WordsInPlace:
    """Of a statement's words where the user says them: the share spoken of others, denied, asked, or past."""

    def __init__(self, words: frozenset[str], sentences: list[str], topic: str, chinese: bool) -> None:
        window = _WINDOW[chinese]
        rows, weights = [], []
        for word in sorted(words):
            at = topic.find(word)
            negated = bool(NEGATION.search(topic[max(0, at - window) : max(0, at)]))
            seen = []
            for sentence in sentences:
                low = sentence.lower()
                for place in places(word, low):
                    speaker = said_by_others(low[:place])
                    denied = bool(NEGATION.search(low[max(0, place - window) : place]))
                    asked, past = bool(QUESTION.search(low)), bool(PAST.search(low))
                    seen.append((speaker > 0, speaker < 0, denied != negated, asked, past))
            if seen:
                rows.append(np.mean(np.array(seen, dtype=np.float64), axis=0))
                weights.append(len(seen) ** -0.5)  # words said all the time tell less
        shares = np.average(rows, axis=0, weights=weights) if rows else np.zeros(5)
        self.others, self.own, self.denied, self.asked, self.past = (float(share) for share in shares)


def _bearing(said: _Said, closeness: Floats, words: frozenset[str]) -> int:
    """Return the index of the text that most likely supports a statement."""
    shared = [len(words & content_words(text)) / max(1, len(words)) for text in said.texts]
    return int(np.argmax(closeness + _WORDS_WEIGHT * np.array(shared)))


MODES = ("over-generalised", "missing-evidence", "task-context", "not-standalone")
DIGITS = 6  # of a probability: the last bits depend on how many texts are embedded at once
_PRINTED = ("personafit.verifier", 1)  # part of the fingerprint, whatever the file's format is

Label = Literal["accepted", "unsure", "rejected"]


@dataclass(frozen=True)
class VerifierWeights:
    """A linear function of scaled features."""

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def of(self, rows: Floats) -> Floats:
        """Its value for each row, which does not depend on the other rows."""
        scaled = (rows - np.array(self.means)) / np.array(self.scales)
        values: Floats = (scaled * np.array(self.weights)).sum(axis=1) + self.bias
        return values


@dataclass(frozen=True)
class Judged:
    """A verifier's answer about one statement: score, label and what is likely wrong."""

    score: float  # probability that people would not simply accept it
    label: Label
    mode: str  # what is likely wrong with it, whatever the label; one of `MODES`


class Verifier(FittedModel):
    """Statements are unsure from `suspect` on and rejected from `reject` on."""

    answers = "attribute"

    @property
    def suspect(self) -> float:
        """The score from which on a statement is unsure."""
        return float(self.numbers["suspect"])

    @property
    def reject(self) -> float:
        """The score from which on a statement is rejected."""
        return float(self.numbers["reject"])

    @cached_property
    def problem(self) -> VerifierWeights:
        """Weights of the classifier of problems."""
        return _weights(self.numbers["problem"])

    @cached_property
    def modes(self) -> dict[str, VerifierWeights]:
        """Weights of the classifiers of each kind of problem."""
        return {mode: _weights(table) for mode, table in self.numbers["modes"].items()}

    def check(self) -> None:
        _ = self.problem, self.modes

    def judge(self, turns: Sequence[Turn], statements: Sequence[str]) -> list[Judged]:
        """Judge statements about the user of one conversation, which must be whole: what the assistant said counts too."""
        return self.judge_rows(statement_features(turns, statements, self.encoder))

    def judge_rows(self, rows: Floats) -> list[Judged]:
        names = list(self.modes)
        likely = np.stack([self.modes[name].of(rows) for name in names]).argmax(axis=0) if len(rows) else []
        return [
            Judged(score, self.label(score), names[int(mode)])
            for score, mode in zip(self.scores(rows), likely, strict=True)
        ]

    def scores(self, rows: Floats) -> list[float]:
        logits = np.clip(self.problem.of(rows), -30, 30)
        return [round(float(1 / (1 + math.exp(-value))), DIGITS) for value in logits]

    def label(self, score: float) -> Label:
        return "rejected" if score >= self.reject else "unsure" if score >= self.suspect else "accepted"

    @cached_property
    def fingerprint(self) -> str:
        return content_hash([*_PRINTED, self.numbers])


def weights_table(weights: VerifierWeights) -> dict[str, Any]:
    """The weights by the names of their features, as files have them."""
    rows = zip(FEATURES, weights.means, weights.scales, weights.weights, strict=True)
    features = {name: {"mean": mean, "scale": scale, "weight": weight} for name, mean, scale, weight in rows}
    return {"bias": weights.bias, "features": features}


def _weights(table: Mapping[str, Any]) -> VerifierWeights:
    features = table["features"]
    if tuple(features) != FEATURES:
        raise ValueError("its features are not those of this program")
    columns = [tuple(float(row[key]) for row in features.values()) for key in ("mean", "scale", "weight")]
    return VerifierWeights(columns[0], columns[1], columns[2], float(table["bias"]))
