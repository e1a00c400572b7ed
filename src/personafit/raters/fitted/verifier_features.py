"""What can be measured of a statement beside the conversation it is said to come from.

Four kinds of signs: how close the statement is to anything the user said, and how much closer than to what the assistant
said; whose words these are (of the user, or of a colleague they speak of); whether they were denied, asked or past; and what
the statement claims that nobody said. None of them sees the evidence an extractor names, because its claims are what is
judged, nor how long the statement is: that would be a fact about its author.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from personafit.models.embeddings import Embedder, Vectors
from personafit.raters.fitted import verifier_patterns as p

Floats = NDArray[np.float64]
Turn = tuple[str, str]  # role and text; whoever is not the "user" is somebody else

FEATURES = (
    "sentence",
    "turn",
    "top_three",
    "lead_over_assistant",
    "assistant",
    "words_of_user",
    "words_of_assistant_only",
    "words_in_one_turn",
    "closer_as_friend",
    "closer_as_he",
    "closer_as_past",
    "others_words",
    "own_words",
    "others_in_clause",
    "denied",
    "asked",
    "past",
    "assistant_idea_declined",
    "number_not_said",
    "general_not_said",
    "dangling",
)
# What can be known from the statement without the conversation.
STATEMENT_ALONE = ("length", "commas", "general", "dangling", "negations", "numbers", "chinese")
_WORDS_WEIGHT = (
    0.6  # of shared words beside the cosine, where the clause that bears a statement out is looked for
)
_WINDOW = {
    True: 5,
    False: 22,
}  # characters before a word in which a negation counts, in Chinese and elsewhere


@dataclass(frozen=True)
class _Said:
    """A text of one speaker, cut up and embedded."""

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
    """One row of `STATEMENT_ALONE`: the control a verifier must beat."""
    chinese = bool(p.CHINESE.search(statement))
    counts = [len(pattern.findall(statement)) for pattern in (p.GENERAL, p.DANGLING, p.NEGATION, p.NUMBER)]
    commas = statement.count(",") + statement.count("，")
    return [float(x) for x in (len(statement) * (3 if chinese else 1), commas, *counts, chinese)]


def _as_said(statement: str) -> list[str]:
    """The statement as the user would say it: of themselves, of a friend, of him, of the past."""
    topic = p.FRAME.sub("", statement) or statement
    frames = (
        ("我", "朋友", "他", "我以前")
        if p.CHINESE.search(statement)
        else ("I ", "My friend ", "He ", "I used to: ")
    )
    return [frame + topic for frame in frames]


class _Heard:
    """One conversation, ready to be compared with statements."""

    def __init__(self, turns: Sequence[Turn], own: list[str], others: list[str], embedder: Embedder) -> None:
        self._embedder = embedder
        self._turns = turns
        self._own = self._said(own)
        self._sentences = self._said([part for text in own for part in p.pieces(text, p.SENTENCE)])
        self._clauses = self._said([part for text in own for part in p.pieces(text, p.CLAUSE)])
        self._others = self._said([part for text in others for part in p.pieces(text, p.SENTENCE)])
        self._own_words = frozenset().union(*map(p.content_words, own))
        self._other_words = frozenset().union(*map(p.content_words, others))
        self._numbers = {match.group().lower() for text in own for match in p.NUMBER.finditer(text)}

    def _said(self, texts: list[str]) -> _Said:
        return _Said(texts, self._embedder.embed(texts))

    def row(self, statement: str, queries: Vectors) -> list[float]:
        """The features of one statement, in the order of `FEATURES`; `queries` are the vectors of `_as_said`."""
        topic = p.FRAME.sub("", statement) or statement
        chinese = bool(p.CHINESE.search(statement))
        words = p.content_words(statement)
        count = max(1, len(words))
        sentences, clauses = self._sentences.closeness(queries), self._clauses.closeness(queries)
        turns = self._own.closeness(queries)[:, 0]
        assistant = self._others.closeness(queries)[:, 0] if self._others.texts else np.zeros(1)
        best = _bearing(self._sentences, sentences[:, 0], words)
        clause = self._clauses.texts[_bearing(self._clauses, clauses[:, 0], words)]
        lead = max(float(sentences[:, 0].max()), float(clauses[:, 0].max())) - float(assistant.max())
        who = _WordsInPlace(words, self._sentences.texts, topic.lower(), chinese)
        numbers = {match.group().lower() for match in p.NUMBER.finditer(topic)}
        general = p.GENERAL.search(topic) and not p.GENERAL.search(self._sentences.texts[best])
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
                max(len(words & p.content_words(text)) for text in self._own.texts) / count,
                *(sentences[best, 0] - sentences[best, 1:]),
                who.others,
                who.own,
                p.said_by_others(clause) > 0,
                who.denied,
                who.asked,
                who.past,
                lead < 0 and self._declined(assistant),
                bool(numbers - self._numbers),
                bool(general),
                len(p.DANGLING.findall(topic)),
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
                return bool(p.DECLINED.search(after))
        return False


class _WordsInPlace:
    """Of a statement's words where the user says them: the share spoken of others, denied, asked, or past."""

    def __init__(self, words: frozenset[str], sentences: list[str], topic: str, chinese: bool) -> None:
        window = _WINDOW[chinese]
        rows, weights = [], []
        for word in sorted(words):
            at = topic.find(word)
            negated = bool(p.NEGATION.search(topic[max(0, at - window) : max(0, at)]))
            seen = []
            for sentence in sentences:
                low = sentence.lower()
                for place in p.places(word, low):
                    speaker = p.said_by_others(low[:place])
                    denied = bool(p.NEGATION.search(low[max(0, place - window) : place]))
                    asked, past = bool(p.QUESTION.search(low)), bool(p.PAST.search(low))
                    seen.append((speaker > 0, speaker < 0, denied != negated, asked, past))
            if seen:
                rows.append(np.mean(np.array(seen, dtype=np.float64), axis=0))
                weights.append(len(seen) ** -0.5)  # words said all the time tell less
        shares = np.average(rows, axis=0, weights=weights) if rows else np.zeros(5)
        self.others, self.own, self.denied, self.asked, self.past = (float(share) for share in shares)


def _bearing(said: _Said, closeness: Floats, words: frozenset[str]) -> int:
    """The place of the text that most likely bears a statement out."""
    shared = [len(words & p.content_words(text)) / max(1, len(words)) for text in said.texts]
    return int(np.argmax(closeness + _WORDS_WEIGHT * np.array(shared)))
