"""One kind of question put to one model, for any number of people: keyed jobs, strict parsing, one re-ask, typed statuses.

What is shown is stored as a product about the person, so that forgetting them finds every ask that used it. Answers are read
from the stored replies; after an interruption, stored replies are reused and the rest is asked. Users' texts are put between tags
that they cannot close or imitate: a tag's name ends in a hash of everything it holds, and a text would have to contain a hash of
itself to forge one.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import select

from personafit._hashing import content_hash, hash_text
from personafit.engine import Job, Lane, LaneReport, ProgressView, Runner, Summary
from personafit.engine.ask import Asker, AskKey, Exchange, ask_job
from personafit.extract.records import StageFile
from personafit.items.hostile import cleaned
from personafit.models import ChatReply, ChatRequest, Message, Model
from personafit.raters.rater import key_of
from personafit.store import Product, RunRecord, Status, Store
from personafit.store import tables as t


class Ended(Exception):
    """Raised when a stage stops early or is interrupted; what is stored is kept, and no later stage begins."""


@dataclass
class Session:
    """The store and the run that stages write to, with the totals so far."""

    store: Store
    run: RunRecord
    progress: ProgressView
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    summary: Summary = field(default_factory=Summary)

    async def carry(self, lanes: Sequence[Lane]) -> list[LaneReport]:
        """Run lanes and return their reports; raise `Ended` if they end early."""
        left = None if self.budget is None else max(0.0, self.budget - self.summary.cost)
        done = await Runner(self.store, self.run.id, self.progress, self.retry, left).run(lanes)
        total = self.summary
        total.lanes += done.lanes
        total.charge(done)
        total.interrupted = total.interrupted or done.interrupted
        total.last_failure = done.last_failure or total.last_failure
        if done.ended_early:
            raise Ended
        return done.lanes


RULE, FITTED = "rule", "fitted:"  # verifiers that are not models
WORK = ".work"  # folder within --out during a run


@dataclass(frozen=True)
class StagesConfig:
    """The options of `extract run`."""

    conversations: Path
    model: str
    out: Path
    person: str = ""
    """Owner of the log, if it names none."""
    prepare: str | None = None
    verifiers: list[str] = field(default_factory=list)
    """`rule`, `fitted:DIR` or model specs; if empty, the rule and the extraction model."""
    prompts: Path | None = None
    matcher: str | None = None
    redacting: bool = True
    least_confidence: float = 0.0
    """Attributes of which the extractor is less confident are not used; the paper cuts at 0.4."""
    limit: int | None = None
    seed: int = 0
    budget: float | None = None
    retry: frozenset[Status] = frozenset()
    command: str = ""


@dataclass(frozen=True)
class StagesDone:
    """Outcome of a run; no files are written if it ended early."""

    summary: Summary
    files: StageFile
    counts: dict[str, Any] | None
    """The contents of summary.json; None if the run ended early."""


VERSION = "stages-3"
"""Version of the prompts in `wordings.toml`."""


@dataclass(frozen=True)
class StageWording:
    """The prompts of all stages in one language."""

    extract: str
    extract_close: str
    verify: str
    verify_close: str
    refine: str
    refine_close: str
    problem: str
    assistant_use: str
    assistant_close: str
    again: str
    part: str
    kinds: dict[str, str]
    """Profile headings by kind of attribute."""


WORDINGS = {
    language: StageWording(**texts)
    for language, texts in tomllib.loads(
        Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8")
    ).items()
}


def wording(language: str) -> StageWording:
    """Return the prompts for people who write in a language: Chinese for Chinese, English for all others."""
    return WORDINGS["zh" if language == "zh" else "en"]


DIGITS = 8
_TAG = re.compile(r"<(?=[\s/]*[A-Za-z_]+-[0-9a-f]{4,})")


def nonce(texts: Sequence[str]) -> str:
    """Return the hash that ends the tag names for these texts."""
    return hash_text("material", *texts)[:DIGITS]


def tagged(name: str, mark: str, text: str, **attributes: object) -> str:
    """Return a text between tags with this name and mark."""
    described = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}-{mark}{described}>\n{_TAG.sub('‹', cleaned(text))}\n</{name}-{mark}>"


T = TypeVar("T")
BATCH = 200


@dataclass(frozen=True)
class StagePrompt:
    """One ask: whom it is about, what is shown, and the whole prompt."""

    name: str
    """The subject: a conversation's part, an attribute, a person."""
    person: str
    shown: str
    parts: tuple[str, ...]
    """The paragraphs of the prompt."""
    max_tokens: int
    again: str
    """The re-ask after an unreadable reply."""

    @property
    def messages(self) -> tuple[Message, ...]:
        return ({"role": "user", "content": "\n\n".join(self.parts)},)

    @property
    def product(self) -> Product:
        """The shown material as a context product."""
        return Product(kind="context", text=self.shown, maker="stages", about=self.person)


@dataclass(frozen=True)
class StageAnswer(Generic[T]):
    """Outcome of an ask; the value is None unless the status is ok."""

    status: Status
    value: T | None
    reason: str | None


class StageQuestion(Generic[T]):
    """A question: its name, the version of its wording, and its parser."""

    def __init__(self, name: str, version: str, read: Callable[[str], T | None]) -> None:
        self.name = name
        self.read = read
        self.instrument = content_hash([name, version])


class StageAsks(Generic[T]):
    """Puts one question to one model."""

    def __init__(self, store: Store, model: Model, question: StageQuestion[T]) -> None:
        self._store = store
        self._model = model
        self._question = question
        self._asker = Asker(model)
        self.fingerprint = content_hash([model.settings, question.instrument])

    def lane(self, prompts: Callable[[], Iterable[StagePrompt]], total: int) -> Lane:
        """Return all asks as one lane; prompts are built as they are needed."""
        model = self._model
        return Lane(
            name=f"{model.name}: {self._question.name}",
            endpoint=model.endpoint,
            jobs=self._jobs(prompts()),
            total=total,
            max_concurrency=model.max_concurrency,
        )

    def answers(self, prompts: Iterable[StagePrompt]) -> Iterator[tuple[StagePrompt, StageAnswer[T]]]:
        """Yield the answer to every prompt, in order, from the store."""
        for batch in _batches(prompts):
            keys = [self._key(prompt).job for prompt in batch]
            asks = self._store.final_asks(keys)
            missing = [key for key in keys if key not in asks]
            failures = self._failures(missing) if missing else {}
            for prompt, key in zip(batch, keys, strict=True):
                ask = asks.get(key)
                if ask is None:
                    yield prompt, StageAnswer(Status.FAILED, None, failures.get(key, "It was not asked yet."))
                elif ask.status != Status.OK:
                    yield prompt, StageAnswer(ask.status, None, _sentence(ask.status, ask.reply))
                elif (value := self._question.read(ask.reply or "")) is None:
                    yield prompt, StageAnswer(Status.UNPARSED, None, _sentence(Status.UNPARSED, ask.reply))
                else:
                    yield prompt, StageAnswer(Status.OK, value, None)

    def _key(self, prompt: StagePrompt) -> AskKey:
        return key_of(
            item=prompt.product.id,
            content=hash_text(*(message["content"] for message in prompt.messages)),
            question=self._question.name,
            instrument=self._question.instrument,
            rater=self.fingerprint,
            context_id=prompt.product.id,
        )

    def _jobs(self, prompts: Iterable[StagePrompt]) -> Iterator[Job]:
        seen: set[bytes] = set()  # two conversations of a person may have the same text
        for batch in _batches(prompts):
            self._store.add_products({prompt.product.id: prompt.product for prompt in batch}.values())
            for prompt in batch:
                job = ask_job(self._key(prompt), partial(self._ask, prompt), lambda *_: ([], []))
                mark = bytes.fromhex(job.key)
                if mark not in seen:
                    seen.add(mark)
                    yield job

    async def _ask(self, prompt: StagePrompt, _: str) -> Exchange:
        """Ask, and once more if the reply cannot be read."""

        def read(reply: ChatReply, earlier: T | None) -> T | None:
            return self._question.read(reply.text)

        exchange = Exchange()
        request = ChatRequest(prompt.messages, prompt.max_tokens, key=f"{self._question.name}|{prompt.name}")
        await self._asker.ask(request, exchange, read, prompt.again)
        return exchange

    def _failures(self, keys: list[str]) -> dict[str, str]:
        query = select(t.asks.c.job, t.asks.c.detail).where(t.asks.c.status == Status.FAILED)
        return {
            row.job: f"The ask failed ({(row.detail or 'no reason is known').rstrip('.')}); the same command tries it again."
            for row in self._store.rows_among(query, t.asks.c.job, keys)
        }


def read_json(reply: str) -> Any:
    """Parse a reply that is JSON, possibly in a code fence; return None if it is not."""
    text = re.sub(r"^```\w*\s*|\s*```$", "", reply.strip())
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _sentence(status: Status, reply: str | None) -> str:
    if status == Status.REFUSED:
        return "The model refused."
    return f"The reply could not be read, asked for twice: {' '.join((reply or '').split())[:80]!r}."


def _batches(prompts: Iterable[StagePrompt]) -> Iterator[list[StagePrompt]]:
    iterator = iter(prompts)
    while batch := list(islice(iterator, BATCH)):
        yield batch
