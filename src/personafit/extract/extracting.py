"""Extraction of attributes from conversations: one ask per conversation, or per part of a long one.

The user's turns are evidence, the assistant's are shown truncated as context. Evidence named by the extractor must
exist, be shown in the same ask, and be the user's: an attribute with other evidence is kept as invalid and not used.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from personafit._hashing import hash_text
from personafit.extract.asking import (
    VERSION,
    StageAnswer,
    StagePrompt,
    StageQuestion,
    nonce,
    read_json,
    tagged,
    wording,
)
from personafit.extract.records import KINDS, ExtractedAttribute, StagedConversation
from personafit.models.purse import count_tokens
from personafit.people.redaction import redacted
from personafit.store import Status
from personafit.store.records import storable

EXTRACT = "extract"
PART_TOKENS = 4_000  # tokens of a conversation in one ask
OVERLAP_TURNS = 2  # turns repeated from the previous part, so that content across the cut is seen whole
CONTEXT_LETTERS = 300  # characters shown of an assistant turn
REPLY_TOKENS = 4_096
LONGEST_STATEMENT = 400  # characters, of the reason too

# Small models copy the example of the prompt, which states nothing about the user.
_FRAME = re.compile(r"^\s*(?:the|this) user\b|^\s*(?:该|这位|此)?用户", re.IGNORECASE)
_SAYS = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class TurnPiece:
    """A turn of a conversation, or a piece of a very long turn, as shown in one ask."""

    number: int
    role: str
    text: str
    piece: str = ""


@dataclass(frozen=True)
class ConversationPart:
    """The part of a conversation that one ask shows."""

    turns: tuple[TurnPiece, ...]
    number: int = 1
    count: int = 1

    @property
    def evidence(self) -> list[int]:
        return sorted({one.number for one in self.turns if one.role == "user"})


def read_extraction(reply: str) -> list[dict[str, Any]] | None:
    """Return the entries of a reply; None if it is not the requested JSON."""
    value = read_json(reply)
    entries = value.get("attributes") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    return entries


EXTRACTION = StageQuestion(EXTRACT, VERSION, read_extraction)


def parts_of(conversation: StagedConversation, budget: int = PART_TOKENS) -> list[ConversationPart]:
    """Split a conversation into parts of at most `budget` tokens, with overlap, leaving out parts without user turns."""
    turns = list(_shown(conversation, budget))
    parts: list[list[TurnPiece]] = []
    current: list[TurnPiece] = []
    size = 0
    for turn in turns:
        tokens = count_tokens(turn.text)
        if current and size + tokens > budget:
            parts.append(current)
            current = _overlap(current, budget - tokens)
            size = sum(count_tokens(one.text) for one in current)
        current = [*current, turn]
        size += tokens
    parts.append(current)
    kept = [tuple(part) for part in parts if any(one.role == "user" for one in part)]
    return [ConversationPart(part, number, len(kept)) for number, part in enumerate(kept, 1)]


def _overlap(turns: list[TurnPiece], room: int) -> list[TurnPiece]:
    """Return the last turns before a cut, up to the overlap and the remaining tokens."""
    kept: list[TurnPiece] = []
    for turn in reversed(turns[-OVERLAP_TURNS:]):
        room -= count_tokens(turn.text)
        if room < 0:
            break
        kept.insert(0, turn)
    return kept


def _shown(conversation: StagedConversation, budget: int) -> Iterator[TurnPiece]:
    for number, turn in enumerate(conversation.turns):
        text = turn.text.strip()
        if turn.role == "user" and text:
            pieces = list(_pieces(text, budget))
            for place, piece in enumerate(pieces, 1):
                yield TurnPiece(number, "user", piece, f"{place}/{len(pieces)}" if len(pieces) > 1 else "")
        elif turn.role == "assistant" and text:
            short = text if len(text) <= CONTEXT_LETTERS else f"{text[:CONTEXT_LETTERS]} […]"
            yield TurnPiece(number, "assistant", short)


def _pieces(text: str, budget: int) -> Iterator[str]:
    """Yield overlapping pieces of a turn that is longer than a part."""
    if count_tokens(text) <= budget:
        yield text
        return
    length = max(1, len(text) * budget // count_tokens(text) - 1)
    step = max(1, length * 9 // 10)
    for start in range(0, len(text), step):
        yield text[start : start + length]
        if start + length >= len(text):
            return


def prompts_of(conversation: StagedConversation) -> list[tuple[ConversationPart, StagePrompt]]:
    """Return every ask about a conversation, with its part."""
    words = wording(conversation.language)
    found = []
    for part in parts_of(conversation):
        mark = nonce([turn.text for turn in part.turns])
        material = "\n".join(
            tagged(one.role, mark, one.text, turn=one.number, **({"piece": one.piece} if one.piece else {}))
            for one in part.turns
        )
        numbers = ", ".join(map(str, part.evidence))
        opening = [words.extract, material]
        if part.count > 1:
            opening.insert(1, f"({words.part.format(number=part.number, count=part.count)})")
        closing = words.extract_close.format(example=part.evidence[0], turns=numbers)
        name = f"{conversation.id}|{part.number}"
        texts = (*opening, closing)
        prompt = StagePrompt(name, conversation.person, material, texts, REPLY_TOKENS, words.again)
        found.append((part, prompt))
    return found


def extracted_from(
    conversation: StagedConversation,
    answers: Iterable[tuple[ConversationPart, StageAnswer[list[dict[str, Any]]]]],
    redacting: bool,
    least_confidence: float = 0.0,
) -> tuple[list[ExtractedAttribute], Status, str | None]:
    """Return the attributes found in all parts of a conversation, and the status of the first part without an answer, else ok."""
    parts = list(answers)
    rows = [
        _row(conversation, part, place, entry, redacting, least_confidence)
        for part, answer in parts
        for place, entry in enumerate(answer.value or ())
    ]
    bad = [answer for _, answer in parts if answer.value is None]
    if not bad:
        return rows, Status.OK, None
    reason = bad[0].reason or ""
    return rows, bad[0].status, f"{len(bad)} of {len(parts)} parts: {reason}" if len(parts) > 1 else reason


def _row(
    conversation: StagedConversation,
    part: ConversationPart,
    place: int,
    entry: dict[str, Any],
    redacting: bool,
    least_confidence: float,
) -> ExtractedAttribute:
    """Return an entry as an attribute; any fault makes it invalid and is recorded."""
    said = entry.get("statement", entry.get("attribute"))
    text = " ".join(said.split()) if isinstance(said, str) else ""
    problems = [] if _SAYS.search(_FRAME.sub("", text)) else ["It says nothing."]
    if len(text) > LONGEST_STATEMENT:
        problems.append(f"It is longer than {LONGEST_STATEMENT} characters.")
    turns, fault = _pointed(entry.get("turns", entry.get("evidence")), part, conversation)
    problems += [fault] if fault else []
    confidence = entry.get("confidence")
    if not isinstance(confidence, int | float) or isinstance(confidence, bool) or not 0 <= confidence <= 1:
        confidence = 0.0
        problems.append("Its confidence is no number from 0 to 1.")
    elif confidence < least_confidence:
        problems.append(f"Its confidence is {confidence:g}, below the {least_confidence:g} asked for.")
    kind, why = entry.get("kind"), entry.get("why")
    text, reason = (
        storable(redacted(one) if redacting else one)
        for one in (text, " ".join(why.split()) if isinstance(why, str) else "")
    )
    return ExtractedAttribute(
        id=hash_text(conversation.person, conversation.id, str(part.number), str(place), text)[:16],
        person=conversation.person,
        text=text[:LONGEST_STATEMENT] or "(nothing)",
        evidence=[f"{conversation.id}#{turn}" for turn in turns],
        why=reason[:LONGEST_STATEMENT] or None,
        confidence=float(confidence),
        conversation=conversation.id,
        kind=kind if kind in KINDS else "other",
        status="invalid" if problems else "kept",
        reason=" ".join(problems) or None,
    )


def _pointed(
    value: Any, part: ConversationPart, conversation: StagedConversation
) -> tuple[list[int], str | None]:
    """Return the user turns an entry names as evidence, and the fault if there are none."""
    numbers = value if isinstance(value, list) else [value]
    named = sorted(
        {int(one) for one in numbers if type(one) is int or (isinstance(one, str) and one.isdecimal())}
    )
    there = [one for one in named if one in part.evidence]
    if there:
        return there, None
    if not named:
        return [], "It points to no turn."
    if any(one < len(conversation.turns) and conversation.turns[one].role == "assistant" for one in named):
        return [], "It points to turns that are not the user's."
    return [], "It points to turns that were not shown."
