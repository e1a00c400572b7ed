"""One thing wanted from a model, as a keyed job: asked, read strictly, asked once more if it does not do.

The job key holds everything that could change the reply, so the same build takes up where it was interrupted and pays
for nothing twice. What comes of it is a product with its lineage, or the reason why there is none.
"""

import re
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from personafit._hashing import content_hash, hash_text
from personafit.engine import Job
from personafit.factory.prompts import Prompt, ask_again
from personafit.models import ChatReply, ChatRequest, Message, Model
from personafit.models.thinking import chat_with_room
from personafit.store import Ask, Outcome, Product, RaterRecord, Status

SEEDS = 2**31 - 1
QUOTED = 400  # characters of an unusable reply that are kept with its reason


class Unfit(Exception):
    """Why a reply cannot be used, in English, as it is recorded, and in Chinese; the model is told when it is asked again."""

    def __init__(self, reason: str, reason_zh: str = "") -> None:
        super().__init__(reason)
        self.reason_zh = reason_zh

    def said(self, language: str) -> str:
        """The reason in the language that is asked in."""
        return (self.reason_zh if language == "zh" else "") or str(self)


def plain(reply: str) -> str:
    """A reply read as it is; one without words is unfit."""
    if not reply.strip():
        raise Unfit("it is empty", "内容是空的")
    return reply.strip()


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing wanted from a model."""

    key: str
    """Names it within the step, such as 'p12/food'; the same key and prompt is the same thing."""
    prompt: Prompt
    language: str
    values: dict[str, object]
    """What fills the prompt's gaps."""
    kind: str
    """The product's kind: profile, memory, question, answer, verdict."""
    read: Callable[[str], str] = plain
    """The product's text from a reply; raises Unfit where the reply does not do."""
    letters: tuple[str, ...] = ()
    """Options of a choice, such as A and B: the likeliest counts where the model tells, else the reply is read."""
    about: str | None = None
    """Id of the person it is about."""
    given: str | None = None
    """Id of the product the maker was told, if any."""
    parents: tuple[str, ...] = ()
    """Ids of the products it is made from."""
    sample: int = 0
    max_tokens: int = 512
    temperature: float = 0.8

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is sent."""
        return self.prompt.messages(self.language, **self.values)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a wanted thing: a product's text, or the reason why there is none."""

    wanted: Wanted
    text: str | None
    product: str | None = None
    maker: str | None = None
    status: Status = Status.OK
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is something."""
        return self.text is not None


@dataclass(frozen=True)
class Maker:
    """Who makes things in a step: a model, with the step's take and the build's seed; knows keys and fingerprints."""

    step: str
    model: Model
    seed: int
    take: int = 0
    """Which time the step is done; `--step` does it anew with other draws."""
    _records: dict[tuple[str, float], RaterRecord] = field(default_factory=dict, compare=False)

    def record(self, wanted: Wanted) -> RaterRecord:
        """The lineage every product of this maker and prompt shares."""
        known = (wanted.prompt.fingerprint, wanted.temperature)
        if known not in self._records:
            settings: dict[str, Any] = {
                "model": self.model.name,
                "model_settings": self.model.settings,
                "prompt": wanted.prompt.label,
                "prompt_fingerprint": wanted.prompt.fingerprint,
                "temperature": wanted.temperature,
                "step": self.step,
                "seed": self.seed,
                "take": self.take,
            }
            self._records[known] = RaterRecord(
                fingerprint=content_hash(settings), name=self.model.name, kind="maker", settings=settings
            )
        return self._records[known]

    def key(self, wanted: Wanted) -> str:
        """The job key."""
        said = [f"{line['role']}\n{line['content']}" for line in wanted.messages]
        return hash_text(self.record(wanted).fingerprint, wanted.key, str(wanted.sample), *said)

    def request(self, wanted: Wanted, key: str, messages: tuple[Message, ...] | None = None) -> ChatRequest:
        """The call to make; its seed is drawn from the key, so that nothing depends on the order of work."""
        return ChatRequest(
            messages=messages or wanted.messages,
            max_tokens=wanted.max_tokens,
            temperature=0.0 if wanted.letters else wanted.temperature,
            letters=wanted.letters,
            seed=int(key[:12], 16) % SEEDS,
            key=f"{self.step}|{wanted.key}|{wanted.sample}",
        )

    def job(self, wanted: Wanted) -> Job:
        """The job that asks, reads, and asks once more where the reply does not do."""
        key, maker, waiting = self.key(wanted), self.record(wanted).fingerprint, [wanted]
        del wanted

        async def work(generation: int) -> Outcome:
            started, wanted = time.monotonic(), waiting[0]
            request = self.request(wanted, key)
            replies = await chat_with_room(self.model, request)
            first = replies[-1]
            text, unfit = _read(wanted, first)
            if unfit is not None and not first.refused:
                told = unfit.said(wanted.language)
                again = ask_again(request.messages, first.text, told, wanted.language)
                replies += await chat_with_room(self.model, self.request(wanted, key, again))
                text, unfit = _read(wanted, replies[-1])
            ask_id = hash_text(key, str(generation))
            refused = replies[-1].refused
            status = Status.OK if text is not None else Status.REFUSED if refused else Status.UNPARSED
            ask = _ask(ask_id, key, generation, wanted, maker, status)
            for reply in replies:
                ask.tokens_in += reply.tokens_in
                ask.tokens_out += reply.tokens_out
                ask.tokens_reasoning += reply.tokens_reasoning
                ask.cost += reply.cost
            ask.reply, ask.reasoning = replies[-1].text, replies[-1].reasoning
            ask.detail = str(unfit) if unfit else (first.text[:QUOTED] if replies[-1] is not first else None)
            ask.attempts, ask.seconds = len(replies), time.monotonic() - started
            waiting.clear()  # outcomes wait for the store by the thousand; what was asked need not wait with them
            if text is None:
                return Outcome.built(ask=ask, judgments=[], products=[])
            product = Product.built(
                id=ask_id,
                kind=wanted.kind,
                text=text,
                maker=maker,
                given=wanted.given,
                about=wanted.about,
                parents=list(wanted.parents),
                status=Status.OK,
                cost=ask.cost,
                sample=wanted.sample,
            )
            return Outcome.built(ask=ask, judgments=[], products=[product])

        def failure(message: str, attempts: int) -> Outcome:
            ask = _ask(uuid.uuid4().hex, key, 0, waiting[0], maker, Status.FAILED)
            ask.detail, ask.attempts = message, attempts
            return Outcome.built(ask=ask, judgments=[], products=[])

        return Job(key, work, failure)


def chosen(letters: Iterable[str]) -> Callable[[str], str]:
    """Reads one of the letters from a reply: it must begin with it, as an option and not as a word, and name no other."""
    known = tuple(letters)
    option = "|".join(map(re.escape, known))
    # A letter is followed by a mark, the end of the line or Chinese words; "A friend" and "A or B" name no option.
    begins = re.compile(rf"[(\[*\"'“]*({option})(?=\s*(?:[^\w\s/]|[\u3400-\u9fff]|\n|\Z))", re.IGNORECASE)
    other = re.compile(rf"(?<![A-Za-z])(?:{option})(?![A-Za-z'’])")

    def read(reply: str) -> str:
        text = reply.strip()
        found = begins.match(text)
        if found and {found[1].upper()}.issuperset(other.findall(text.splitlines()[0][found.end(1) :])):
            return found[1].upper()
        raise Unfit(f"it must be one letter of {', '.join(known)}", f"必须是{'、'.join(known)}中的一个字母")

    return read


def _read(wanted: Wanted, reply: ChatReply) -> tuple[str | None, Unfit | None]:
    """The product's text, or the reason why the reply cannot be used."""
    if reply.refused:
        return None, Unfit("the model refused", "模型拒绝回答")
    scores = reply.letter_scores
    if wanted.letters and scores is not None and set(wanted.letters) <= scores.keys():
        return max(wanted.letters, key=lambda letter: scores[letter]), None
    if reply.cut and not wanted.letters:
        return None, Unfit("it is longer than it may be", "超过了允许的长度")
    try:
        return wanted.read(reply.text), None
    except Unfit as error:
        return None, error


def _ask(ask_id: str, key: str, generation: int, wanted: Wanted, maker: str, status: Status) -> Ask:
    return Ask.built(
        id=ask_id,
        job=key,
        generation=generation,
        item=wanted.key,
        question=wanted.prompt.label,
        rater=maker,
        view="none",
        context=wanted.given,
        order="",
        sample=wanted.sample,
        status=status,
        reply=None,
        reasoning=None,
        detail=None,
        tokens_in=0,
        tokens_out=0,
        tokens_reasoning=0,
        cost=0.0,
        seconds=0.0,
        attempts=1,
        at=time.time(),
    )
