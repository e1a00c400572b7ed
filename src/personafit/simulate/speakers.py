"""The participants of a dialogue: simulated user and assistant, each a model with a prompt and one retry per turn.

Both get real chat roles; for the user agent they are reversed. The assistant's prompt is the same for every
model and every context: only the system context differs. A changed wording in `wordings.toml` changes the fingerprints; a change to
how prompts are built must raise the speaker's version, and one to how replies are parsed that of the signal.

A user agent signals that it continues, is satisfied or gives up with one marker at the very end of its reply. A marker anywhere else is
just text, and nothing the assistant says can end a dialogue. A stored reply is parsed the same whenever it is read.
"""

import re
import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from personafit._hashing import content_hash
from personafit._versions import frozen_text
from personafit.contexts import Context
from personafit.engine.ask import Asker, Exchange, follow_up
from personafit.items import inert
from personafit.items.dialogue import DialogueTurn
from personafit.models import ChatReply, ChatRequest, Message, Model
from personafit.people import RENDERING, Person, Task, render_person, select_facets
from personafit.store import Status

SIGNAL_VERSION = "1"  # version of the reply parser; a change raises it
LONGEST = 20_000  # characters in a turn; longer ones are rejected


class Signal(StrEnum):
    """How the user agent continues the dialogue."""

    CONTINUE = "[CONTINUE]"
    SATISFIED = "[SATISFIED]"
    GIVE_UP = "[GIVE UP]"


_MARKERS = "|".join(re.escape(signal) for signal in Signal)
_BEFORE = "*_`\"'"  # marks of emphasis and quotation that may surround the marker
_LAST = re.compile(rf"({_MARKERS})[*_`\"'.]*\Z")
_ANY = re.compile(_MARKERS)
_FENCE = re.compile(r"\A```(?:json)?\s*|(?<!\s)\s*```\Z")
_THOUGHT = re.compile(r"\A\s*<thinking>(.*?)</thinking>", re.DOTALL)
_TOOL_KEYS = {"tool_calls", "tool_call", "function_call", "function", "tool", "arguments", "parameters"}
_TOOL_TAG = re.compile(r"\A<(tool_call|function_call|\|python_tag\|)>?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A parsed reply of the user agent."""

    text: str
    signal: Signal | None = None
    thought: str | None = None


def read_user(reply: str) -> UserMessage:
    """Parse thought, text and signal from a user agent's reply."""
    thought = None
    if match := _THOUGHT.match(reply):
        thought, reply = match[1].strip(), reply[match.end() :]
    text, signal = reply.strip(), None
    if match := _LAST.match(text, max(0, text.rfind("["))):
        before = text[: match.start()].rstrip(_BEFORE)
        if not before or before[-1].isspace():
            signal, text = Signal(match[1]), before.rstrip()
    return UserMessage(text, signal, thought)


def fault_of_user(said: UserMessage, opening: bool) -> str | None:
    """Return why the user's text is unusable, as a clause; None if it is usable. Only a continuing user must say something."""
    if not said.text and (opening or said.signal in (None, Signal.CONTINUE)):
        return "the user agent said nothing"
    if said.text.startswith("<thinking>"):
        return "the user agent did not come to the end of its thoughts"
    return _too_long(said.text, "the user agent")


def fault_of_assistant(text: str) -> str | None:
    """Return why the assistant's text is unusable, as a clause; None if it is usable."""
    if not text:
        return "the assistant said nothing"
    if "[" in text and not _ANY.sub("", text).strip():
        return "the assistant said nothing but the user's end signal"
    if _is_tool_call(text):
        return "the assistant sent a tool call instead of words, and there are no tools here"
    return _too_long(text, "the assistant")


def harmless(text: str) -> str:
    """Return an assistant's text for the user agent, with markers defused."""
    if "[" not in text:
        return text
    return _ANY.sub(lambda match: match[0].replace("[", "(").replace("]", ")"), text)


def _too_long(text: str, who: str) -> str | None:
    return f"{who} said {len(text):,} characters, more than {LONGEST:,}" if len(text) > LONGEST else None


def _is_tool_call(text: str) -> bool:
    if text[0] not in "<`{[":
        return False
    if _TOOL_TAG.match(text):
        return True
    bare = _FENCE.sub("", text)
    if bare[:1] not in "{[" or len(bare) > LONGEST:
        return False
    try:
        value = orjson.loads(bare)
    except orjson.JSONDecodeError:
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and bool(_TOOL_KEYS & first.keys())


# -- speakers -----------------------------------------------------------------------------------------------------------

TURN_TOKENS = 800
THOUGHT_TOKENS = 400
REASONED_TOKENS = 4096
SMALL_TOKENS = 120  # for the embedded model: twenty exchanges must fit into its context
USER_TEMPERATURE = 0.5
LANGUAGES = {"en": "English", "zh": "Chinese"}

WORDINGS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8")
)
"""The prompts of systems and simulated users."""
ASSISTANT, TOLD, UNTOLD, AGAIN = (WORDINGS["assistant"][part] for part in ("task", "told", "untold", "again"))
USER, THINKING, OPEN, USER_AGAIN, ASIDE = (
    WORDINGS["user"][part] for part in ("task", "thinking", "open", "again", "aside")
)
LETTERS = {"A": Signal.CONTINUE, "B": Signal.SATISFIED, "C": Signal.GIVE_UP}


@dataclass(slots=True)
class Spoken(Exchange):
    """A turn as generated: the reply to store, its status and cost."""

    said: UserMessage | None = None  # the parsed reply of a user agent


class Speaker:
    """A model with a role in dialogues."""

    role: str
    version = "1"  # of prompt building and reply parsing
    temperature = 0.0
    room = 0  # tokens beyond those of a usual turn

    def __init__(self, model: Model) -> None:
        self.model = model
        self.asker = Asker(model)

    @cached_property
    def tokens(self) -> int:
        """Token limit of a turn, without room for a model's own reasoning."""
        usual = SMALL_TOKENS if self.model.settings.get("kind") == "embedded" else TURN_TOKENS
        return usual + self.room

    @property
    def limit(self) -> int:
        """The token limit in fingerprints."""
        return REASONED_TOKENS if self.model.settings.get("effort") else self.tokens

    @property
    def layout(self) -> str:
        """The version text in fingerprints."""
        return frozen_text(self.role, self.version) + frozen_text("signal", SIGNAL_VERSION)

    def request(
        self, messages: tuple[Message, ...], key: str, seed: int | None, about: dict[str, str]
    ) -> ChatRequest:
        return ChatRequest(messages, self.tokens, self.temperature, seed=seed, key=key, context=about)


class Assistant(Speaker):
    """The system under test."""

    role = "assistant"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that can change its replies."""
        return content_hash([self.model.settings, ASSISTANT, TOLD, UNTOLD, AGAIN, self.limit, self.layout])

    def opening(self, told: Context) -> tuple[Message, ...]:
        person = TOLD.format(person=inert(told.text)) if told.text else UNTOLD
        return ({"role": "system", "content": f"{ASSISTANT}\n\n{person}"},)

    def hears(self, turn: DialogueTurn) -> Message:
        return {"role": turn.role, "content": turn.text}

    async def speak(self, request: ChatRequest) -> Spoken:
        """Ask the model for a turn, once more if the first is unusable."""

        def read(reply: ChatReply, _: str | None) -> str | None:
            text = reply.text.strip()
            return text if fault_of_assistant(text) is None else None

        spoken = Spoken()
        await self.asker.ask(request, spoken, read, lambda reply, _: _again(request, reply, AGAIN))
        spoken.reply = (spoken.reply or "").strip()
        if spoken.status == Status.REFUSED:
            spoken.detail = "The assistant refused to answer."
        elif fault := fault_of_assistant(spoken.reply):
            spoken.detail = _sentence(fault, spoken)
        return spoken


class UserAgent(Speaker):
    """The simulated user."""

    role = "user"
    temperature = USER_TEMPERATURE

    def __init__(self, model: Model, style: str = "vanilla") -> None:
        super().__init__(model)
        self.style = style
        self.room = THOUGHT_TOKENS if style == "cot" else 0

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that can change its replies."""
        words = [USER, THINKING, OPEN, USER_AGAIN, ASIDE, RENDERING]
        return content_hash(
            [self.model.settings, self.style, USER_TEMPERATURE, words, self.limit, self.layout]
        )

    def opening(self, brief: Context, language: str) -> tuple[Message, ...]:
        """Return the messages before the first turn: its role and brief."""
        system = USER.format(
            person=inert(brief.text),
            language=LANGUAGES.get(language, f"words of the language '{language}'"),
            thinking=THINKING if self.style == "cot" else "",
        )
        return ({"role": "system", "content": system}, {"role": "user", "content": OPEN})

    def hears(self, turn: DialogueTurn) -> Message:
        if turn.role == "user":
            return {"role": "assistant", "content": f"{turn.text}\n{Signal.CONTINUE}"}
        return {"role": "user", "content": harmless(turn.text)}

    async def speak(self, request: ChatRequest, opening: bool) -> Spoken:
        """Ask for a turn with a signal; an unusable turn is asked for once more, and a missing signal separately."""
        unsignalled: list[str] = []

        def complete(said: UserMessage) -> bool:
            return opening or said.signal is not None

        def read(reply: ChatReply, earlier: UserMessage | None) -> UserMessage | None:
            if earlier is not None:  # only the signal is missing
                letter = _letter(reply)
                return replace(earlier, signal=LETTERS[letter]) if letter is not None else earlier
            said = read_user(reply.text)
            return said if fault_of_user(said, opening) is None else None

        def again(reply: ChatReply, earlier: UserMessage | None) -> ChatRequest:
            if earlier is None:
                return _again(request, reply, USER_AGAIN)
            unsignalled.append(reply.text)
            return replace(_again(request, reply, ASIDE), letters=tuple(LETTERS), temperature=0.0)

        spoken = Spoken()
        said = await self.asker.ask(request, spoken, read, again, complete)
        if unsignalled:
            self._put_signal(spoken, unsignalled[0], said)
        elif spoken.status == Status.REFUSED:
            spoken.detail = "The user agent refused to play its part."
        elif said is None or not complete(said):
            fault = (
                fault_of_user(read_user(spoken.reply or ""), opening) or "the user agent gave no end signal"
            )
            spoken.status, spoken.detail = Status.UNPARSED, _sentence(fault, spoken)
        else:
            spoken.said = said
        return spoken

    def _put_signal(self, spoken: Spoken, reply: str, said: UserMessage | None) -> None:
        """Append the separately requested signal to the reply; without one the turn is unparsed."""
        if said is None or said.signal is None:
            spoken.reply, spoken.status = reply, Status.UNPARSED
            spoken.detail = "The user agent gave no end signal."
        else:
            spoken.reply = f"{reply.strip()}\n{said.signal}"
            spoken.detail = "the end signal was asked for apart"


def user_brief(person: Person, task: Task, history: bool = False) -> Context:
    """Return the user agent's context: its person, the preferences in the task's domains, the situation and the wish.

    `history` adds summaries of the person's earlier interactions with an assistant in these domains, as in PersonaLens.
    """
    facets = select_facets(person.facets, ["Demographics", *task.domains])
    situation = "\n".join(f"  {name}: {value}" for name, value in task.situation.items())
    earlier = [
        f"  {domain}: {person.summaries[domain]}" for domain in task.domains if domain in person.summaries
    ]
    parts = [
        render_person(person, facets),
        "\n".join(["Earlier conversations:", *earlier]) if history and earlier else "",
        f"Situation:\n{situation}" if situation else "",
        f"Errand:\n  {task.intent}",
    ]
    return Context("user brief", "\n\n".join(filter(None, parts)), (), person.id, facets)


def _again(request: ChatRequest, reply: ChatReply, words: str) -> ChatRequest:
    room = REASONED_TOKENS if reply.cut and not reply.text.strip() else request.max_tokens
    return replace(follow_up(request, reply, words), max_tokens=room, key=f"{request.key}|again")


def _letter(reply: ChatReply) -> str | None:
    if reply.letter_scores is not None and LETTERS.keys() <= reply.letter_scores.keys():
        return max(LETTERS, key=reply.letter_scores.__getitem__)
    named = reply.text.strip().strip("*_`().:\"' ").upper()[:1]
    alone = len(reply.text.strip().strip("*_`().:\"' ")) == 1
    return named if alone and named in LETTERS else None


def _sentence(clause: str, spoken: Spoken) -> str:
    return f"{clause[0].upper()}{clause[1:]}{', also when asked again' if spoken.calls > 1 else ''}."
