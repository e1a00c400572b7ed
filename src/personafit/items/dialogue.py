"""Dialogues between a simulated user and an assistant, and the questions about them: rubrics, prompt and parser.

Six questions are about the dialogue as a whole, a seventh about each of the assistant's turns. A reply has to be one JSON object, bare or
in one code fence, with whole numbers inside the scale; any other reply counts as unparsed. Everything said in a dialogue is material: it
stands between tags that nothing in it can close. How dialogues are stored is documented in `simulate.records`; raters and reports get them
whole.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Literal

import orjson

from personafit._hashing import content_hash
from personafit._versions import fingerprint_of
from personafit.items.reading import (
    Part,
    PartAnswer,
    Question,
    QuestionSet,
    Reading,
    Shown,
    Tags,
    Unit,
    answered,
    by_part,
    marks,
    numbers_for,
    replay_key,
    words_of,
)
from personafit.models import ChatReply
from personafit.people import Task
from personafit.store import Item

Role = Literal["user", "assistant"]
"""The speaker of a turn."""


class StopReason(StrEnum):
    """Why a dialogue ended."""

    SATISFIED = "satisfied"  # the user has reached the goal
    CAP = "cap"  # the limit on exchanges was reached before the user ended the dialogue
    GAVE_UP = "gave-up"  # the user gave up
    EMPTY = "empty"
    """A turn was unusable, and again after a retry: no words, far too many, or a bare tool call."""
    REFUSED = "refused"  # a model refused its turn
    FAILED = "failed"  # a call failed for good; the same command retries that turn

    @property
    def whole(self) -> bool:
        """Whether the dialogue reached an end of its own and can be judged."""
        return self in (StopReason.SATISFIED, StopReason.CAP, StopReason.GAVE_UP)


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """One turn of a dialogue."""

    role: Role
    text: str
    index: int  # position in the dialogue, from 0; even positions are the user's
    ask: str  # id of the ask it came from
    product: str  # id of the turn as a product
    thought: str | None = None  # reasoning of a chain-of-thought user before the turn


@dataclass(frozen=True)
class Dialogue:
    """A dialogue from the user's request to its end. A whole one ends with an assistant's turn."""

    id: str
    slot: str
    dataset: str
    person: str
    task: Task
    system: str  # fingerprint of the assistant: its model, prompt and settings
    system_name: str
    user: str  # fingerprint of the user agent
    user_name: str
    system_context: str  # its name, such as `D+I+S` or `wrong:I`
    system_context_id: str  # its id as a product
    brief: str  # id of the user agent's brief as a product
    seed: int
    sample: int
    turns: tuple[DialogueTurn, ...]
    stop: StopReason
    closing: str = ""  # the user's last message, which needs no reply
    detail: str | None = None  # what went wrong, if anything

    @property
    def exchanges(self) -> int:
        return sum(turn.role == "assistant" for turn in self.turns)

    @property
    def item(self) -> Item:
        """The dialogue as an item; dialogues about one task of one person share a group."""
        return Item(
            id=self.id,
            kind="dialogue",
            person=self.person,
            prompt=self.task.intent,
            products=[turn.product for turn in self.turns],
            group=f"{self.person}/{self.task.id}",
            slices={"tasks": self.task.kind, "domain": " + ".join(self.task.domains)},
        )

    @cached_property
    def content(self) -> str:
        """Hash of the messages, for job keys of judgments."""
        return content_hash([[turn.role, turn.text] for turn in self.turns] + [["closing", self.closing]])


REPLY_TOKENS = 300
_WORDS = words_of("dialogue")

TAGS = Tags("turn", "dialogue", "closing", "goal", "known", "preferences")
_FENCE = re.compile(r"```(?:json)?[^\S\n]*\n(.*)```", re.DOTALL | re.IGNORECASE)

_PERSONALIZATION = _WORDS["personalization"]
_TURNS = _PERSONALIZATION.replace("Give one mark:", _WORDS["each_turn"]) + _WORDS["turns"]
SPEAKERS = {"user": "person who wants something from an assistant", "assistant": "capable human assistant"}


@dataclass(frozen=True)
class DialogueMaterial:
    """The part of a dialogue that judges are shown, shared by all questions. The person is described by the context."""

    dialogue: Dialogue
    preferences: str = ""
    """The person's preferences that bear on the task, shown to judges of completion."""

    @cached_property
    def transcript(self) -> str:
        """The dialogue as judges read it."""
        turns = [
            f'<turn number="{turn.index + 1}" by="{turn.role}">\n{TAGS.inert(turn.text)}\n</turn>'
            for turn in self.dialogue.turns
        ]
        if self.dialogue.closing:
            turns.append(f'<closing by="user">\n{TAGS.inert(self.dialogue.closing)}\n</closing>')
        return "\n".join(["<dialogue>", *turns, "</dialogue>"])


@dataclass(frozen=True)
class DialogueQuestion(Question):
    """One question about a dialogue: wording, scale and parser."""

    reading: ClassVar[str] = "dialogue-1"
    sought: ClassVar[str] = "how good a dialogue is"

    name: str
    rubric: str
    low: int
    high: int
    needs: frozenset[str] = frozenset()  # what the judge sees besides the dialogue: goal, known
    by_turn: bool = False
    version: str = "1"  # version of rubric, layout and parser together

    @property
    def truth(self) -> bool:
        """Whether the answer is yes or no."""
        return (self.low, self.high) == (0, 1)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of(f"dialogue/{self.name}", self.version)

    def _prompt(self, shown: Shown) -> list[str]:
        material: DialogueMaterial = shown.material
        parts = [_WORDS["introduction"], material.transcript]
        if "goal" in self.needs:
            parts.append(TAGS.tagged("goal", material.dialogue.task.goal))
            if material.preferences:
                parts.append(TAGS.tagged("preferences", material.preferences))
        if "known" in self.needs:
            whose = "the assistant could know" if shown.context.name == "given" else "there is to know"
            parts.append(f"What {whose} about the person before the dialogue began:")
            parts.append(TAGS.tagged("known", shown.context.text) if shown.context.text else "Nothing.")
        return [*parts, self.rubric, self.closing(material.dialogue)]

    def closing(self, dialogue: Dialogue) -> str:
        """Return the end of the prompt, which describes the format of the reply."""
        reason = '"reason" (one sentence) and '
        if self.truth:
            return f'Reply with one JSON object and nothing else: {reason}"complete" (true or false).'
        scale = f"a whole number from {self.low} to {self.high}"
        if self.by_turn:
            return (
                f'Reply with one JSON object and nothing else: {reason}"scores", a list of {dialogue.exchanges} marks, one for each turn '
                f"of the assistant in order, each {scale}."
            )
        return f'Reply with one JSON object and nothing else: {reason}"score", {scale}.'

    def again(self, shown: Shown) -> str:
        return f"That could not be read. {self.closing(shown.material.dialogue)}"

    def read(self, reply: ChatReply, shown: Shown) -> Reading | None:
        """Return the rating, or one for each turn of the assistant."""
        found = self.parse(reply.text, shown.material.dialogue)
        return None if found is None else Reading(tuple(answered(shown, marks(found))))

    def choices(self, shown: Shown) -> tuple[str, ...]:
        return tuple(str(mark) for mark in range(self.low, self.high + 1))

    def said(self, shown: Shown, answer: str) -> PartAnswer | None:
        return answered(shown, marks([int(answer)]))[0] if answer in self.choices(shown) else None

    def parts(self, dialogue: Dialogue) -> tuple[Part, ...]:
        """Return the parts that are rated: the dialogue, or each turn of the assistant."""
        if not self.by_turn:
            return (Part(dialogue.id),)
        turns = [turn for turn in dialogue.turns if turn.role == "assistant"]
        return tuple(Part(dialogue.id, f"turn {turn.index + 1}", turn.text) for turn in turns)

    def reply_tokens(self, shown: Shown) -> int:
        return REPLY_TOKENS

    def recorded_as(self, shown: Shown) -> str:
        return judge_key(shown.material.dialogue, shown.context.name, self.name, shown.sample)

    def accept(self, shown: Shown, returned: Any, threshold: float | None = None) -> list[PartAnswer] | None:
        """Return the answers from a rating inside the scale, a bool for a yes-or-no question, or a list with one for each turn."""
        given = numbers_for(shown.parts, by_part(shown, returned) if self.by_turn else [returned])
        if given is None or any(mark not in range(self.low, self.high + 1) for mark in given):
            return None
        return answered(shown, marks(int(mark) for mark in given))

    def expected(self, shown: Shown) -> str:
        scale = f"from {self.low} to {self.high}"
        turns = f" for each of the assistant's {len(shown.parts)} turns" if len(shown.parts) > 1 else ""
        return f"a whole number {scale}{turns}"

    def parse(self, reply: str, dialogue: Dialogue) -> list[int] | None:
        """Return the ratings, one or one per turn, or None."""
        body = read_object(reply)
        if body is None:
            return None
        if self.truth:
            complete = body.get("complete")
            return [int(complete)] if isinstance(complete, bool) else None
        if not self.by_turn:
            return [body["score"]] if self._in_scale(body.get("score")) else None
        scores = body.get("scores")
        if not isinstance(scores, list) or len(scores) != dialogue.exchanges:
            return None
        return scores if all(self._in_scale(score) for score in scores) else None

    def _in_scale(self, score: Any) -> bool:
        # A bool passes isinstance(score, int) but is not a rating.
        return type(score) is int and self.low <= score <= self.high


class DialogueScore(Question):
    """A score of the assistant's turns, for raters that score answers: rules and reward models.

    Scores share no scale with ratings: they are compared by rank, and between systems on one task.
    """

    version: ClassVar[str] = "1"
    scored_by: ClassVar[tuple[str, ...]] = ("answer",)
    sought: ClassVar[str] = "how good a dialogue is"

    name = "score"

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint_of("dialogue/score", self.version)

    def units(self, shown: Shown, unit: str) -> list[Unit]:
        """Return all of the assistant's turns as one answer to the user's intent."""
        dialogue: Dialogue = shown.material.dialogue
        said = "\n\n".join(turn.text for turn in dialogue.turns if turn.role == "assistant")
        return [Unit(said, shown.prompt, shown.context)]


def judge_key(dialogue: Dialogue, context: str, question: str, sample: int) -> str:
    """Return a request's key in recordings, which depends on the messages but not on who wrote them."""
    item = (
        f"{dialogue.person}/{dialogue.task.id}|{dialogue.system_context}|{dialogue.sample}|{dialogue.content}"
    )
    return replay_key(item, context, question, sample)


def read_object(reply: str) -> dict[str, Any] | None:
    """Return the JSON object that a reply consists of, bare or in a code fence; None if it is anything else."""
    text = reply.strip()
    if match := _FENCE.fullmatch(text):
        text = match[1].strip()
    if not text.startswith("{"):
        return None
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return body if isinstance(body, dict) else None


def _sided(name: str) -> list[DialogueQuestion]:
    rubrics = {side: _WORDS[name].format(side=side, person=person) for side, person in SPEAKERS.items()}
    return [DialogueQuestion(f"{name}.{side}", rubric, 1, 5) for side, rubric in rubrics.items()]


DIALOGUE_QUESTIONS: tuple[DialogueQuestion, ...] = (
    DialogueQuestion("completion", _WORDS["completion"], 0, 1, frozenset({"goal"})),
    DialogueQuestion("personalization", _PERSONALIZATION, 1, 4, frozenset({"known"})),
    *_sided("naturalness"),
    *_sided("coherence"),
    DialogueQuestion("personalization.turns", _TURNS, 1, 4, frozenset({"known"}), by_turn=True),
)
GOAL_ALONE = DialogueQuestion(
    "completion", _WORDS["completion_by_goal"], 0, 1, frozenset({"goal"}), version="goal alone 1"
)
"""Completion as judged in PersonaLens: the judge sees the goal but no preferences."""
QUESTIONS_BY_NAME = {question.name: question for question in DIALOGUE_QUESTIONS}
INSTRUMENT = content_hash([question.fingerprint for question in DIALOGUE_QUESTIONS])
SCORE = DialogueScore()
DIALOGUES = QuestionSet("dialogue", DIALOGUE_QUESTIONS, scored=SCORE)
