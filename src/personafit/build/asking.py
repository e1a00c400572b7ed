"""One thing wanted from a model, as a keyed job: asked, read strictly, asked once more if it does not do.

The job key holds everything that could change the reply, so the same build takes up where it was interrupted and pays
for nothing twice. What comes of it is a product with its lineage, or the reason why there is none.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from personafit._hashing import content_hash, hash_text
from personafit.build.prompts import PromptTemplate, again_words
from personafit.engine import Job
from personafit.engine.ask import Asker, AskKey, Exchange, Rows, ask_job, follow_up
from personafit.models import ChatReply, ChatRequest, Message, Model
from personafit.people import Person
from personafit.store import Ask, Product, RaterRecord, Status

SEEDS = 2**31 - 1
WIDE = re.compile(r"[\u3400-\u9fff]")  # a Chinese character
_GAPS = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}|<[^<>]*>|_{2,}|\.\.\.|…")


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


def only_line(reply: str) -> str:
    """The one line of a reply; more or none is unfit."""
    lines = [line for line in reply.strip().splitlines() if line.strip()]
    if len(lines) != 1:
        raise Unfit("it must be one line", "必须只有一行")
    return lines[0]


def language_of(text: str) -> str:
    """The language a text is in: zh where a third of its characters are Chinese."""
    return "zh" if len(WIDE.findall(text)) > len(text) / 3 else "en"


def check_prose(text: str, language: str) -> None:
    """Raises Unfit for a text in another language, with gaps to fill in, or that breaks off."""
    if language_of(text) != language:
        raise Unfit("it is in the wrong language", "语言不对，请用中文")
    if _GAPS.search(text):
        raise Unfit("it has gaps to fill in, or breaks off", "留有待填的空，或没有写完")


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to be made by a model."""

    key: str
    """Names it within the step, such as 'p12/food'; the same key and prompt is the same thing."""
    prompt: PromptTemplate
    language: str
    values: Mapping[str, object]
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
    stand_in: str | None = None
    """What our template says where no model is named, or where its reply is of no use."""

    @classmethod
    def for_person(
        cls,
        person: Person,
        key: str,
        prompt: PromptTemplate,
        values: Mapping[str, object],
        kind: str,
        read: Callable[[str], str] = plain,
        **more: Any,
    ) -> "Target":
        """What is made about a person, in their language and, unless something else is said, from their profile."""
        more = {"parents": (person.id,), **more}
        return cls(key, prompt, person.language, values, kind, read, about=person.id, **more)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is sent."""
        return self.prompt.messages(self.language, **self.values)


@dataclass(frozen=True, slots=True)
class Generation:
    """What came of a target: a product's text, or the reason why there is none."""

    target: Target
    text: str | None
    product: str = ""
    """The product's id, and below its maker's fingerprint; empty where there is none."""
    maker: str = ""
    status: Status = Status.OK
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether there is something."""
        return self.text is not None

    def as_product(self) -> Product:
        """What was made, as the store has it."""
        target = self.target
        return Product(
            id=self.product,
            kind=target.kind,
            text=self.text or "",
            maker=self.maker,
            given=target.given,
            about=target.about,
            parents=list(target.parents),
        )


@dataclass(frozen=True)
class Maker:
    """Who makes things in a step: a model, with the step's take and the build's seed; knows keys and fingerprints."""

    step: str
    model: Model
    seed: int
    take: int = 0
    """Which time the step is done; `takes` in [build] has it done again with other draws."""
    _records: dict[tuple[str, float], RaterRecord] = field(default_factory=dict, compare=False)

    def record(self, target: Target) -> RaterRecord:
        """The lineage every product of this maker and prompt shares."""
        known = (target.prompt.fingerprint, target.temperature)
        if known not in self._records:
            settings: dict[str, Any] = {
                "model": self.model.name,
                "model_settings": self.model.settings,
                "prompt": target.prompt.label,
                "prompt_fingerprint": target.prompt.fingerprint,
                "temperature": target.temperature,
                "step": self.step,
                "seed": self.seed,
                "take": self.take,
            }
            self._records[known] = RaterRecord(
                fingerprint=content_hash(settings), name=self.model.name, kind="maker", settings=settings
            )
        return self._records[known]

    def key(self, target: Target) -> str:
        said = [f"{line['role']}\n{line['content']}" for line in target.messages]
        return hash_text(self.record(target).fingerprint, target.key, str(target.sample), *said)

    @cached_property
    def _asker(self) -> Asker:
        return Asker(self.model)

    def request(self, target: Target, key: str) -> ChatRequest:
        """The call to make; its seed is drawn from the key, so that nothing depends on the order of work."""
        return ChatRequest(
            messages=target.messages,
            max_tokens=target.max_tokens,
            temperature=0.0 if target.letters else target.temperature,
            letters=target.letters,
            seed=int(key[:12], 16) % SEEDS,
            key=f"{self.step}|{target.key}|{target.sample}",
        )

    def job(self, target: Target) -> Job:
        """The job that asks, reads, and asks once more where the reply does not do."""
        job, maker, asker = self.key(target), self.record(target).fingerprint, self._asker

        def read(reply: ChatReply, _: str | None) -> str | None:
            return _read(target, reply)[0]

        async def ask(_: str) -> Exchange:
            request, exchange = self.request(target, job), Exchange()

            def again(reply: ChatReply, _: str | None) -> ChatRequest:
                _, unfit = _read(target, reply)
                reason = unfit.said(target.language) if unfit is not None else ""
                return follow_up(request, reply, again_words(reason, target.language))

            await asker.ask(request, exchange, read, again)
            if exchange.status != Status.OK:
                exchange.detail = str(_read(target, exchange.replies[-1])[1])
            return exchange

        def rows(ask: Ask, exchange: Exchange) -> Rows:
            if exchange.status != Status.OK:
                return [], []
            text, _ = _read(target, exchange.replies[-1])
            product = Product.built(
                id=ask.id,
                kind=target.kind,
                text=text,
                maker=maker,
                given=target.given,
                about=target.about,
                parents=list(target.parents),
                status=Status.OK,
                cost=ask.cost,
                sample=target.sample,
            )
            return [], [product]

        label, given, sample = target.prompt.label, target.given, target.sample
        return ask_job(AskKey(job, target.key, label, maker, context=given, sample=sample), ask, rows)


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


def verdict(
    key: str,
    prompt: PromptTemplate,
    language: str,
    values: Mapping[str, object],
    letters: tuple[str, ...],
    about: str | None = None,
    parents: tuple[str, ...] = (),
) -> Target:
    """One of some letters, as a model chooses without a draw."""
    return Target(
        key,
        prompt,
        language,
        values,
        kind="verdict",
        read=chosen(letters),
        letters=letters,
        about=about,
        parents=parents,
        max_tokens=8,
        temperature=0.0,
    )


def _read(target: Target, reply: ChatReply) -> tuple[str | None, Unfit | None]:
    """The product's text, or the reason why the reply cannot be used."""
    if reply.refused:
        return None, Unfit("the model refused", "模型拒绝回答")
    scores = reply.letter_scores
    if target.letters and scores is not None and set(target.letters) <= scores.keys():
        return max(target.letters, key=lambda letter: scores[letter]), None
    if reply.cut and not target.letters:
        return None, Unfit("it is longer than it may be", "超过了允许的长度")
    try:
        return target.read(reply.text), None
    except Unfit as error:
        return None, error
