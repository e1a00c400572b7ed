"""What a step works with: its settings, its models, the rows of earlier steps, and the output of its own."""

import hashlib
import math
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.build.asking import Generation, Maker, Target
from personafit.build.config import TEMPLATE, BuildConfig
from personafit.engine import Lane, ProgressView, Runner, Silence, Summary, together
from personafit.models import Model, OpenModels
from personafit.people import Person
from personafit.store import Product, Status, Store

TELLING = 10  # candidates after which the share kept is informative
LEAST_KEPT = 0.03  # smallest share of the candidates that must be kept
SPARE, MOST = (
    1.1,
    3,
)  # candidates tried per missing one: the margin over the need, and the cap
REMEDY = 'name a stronger model in [models], or "template" in its place'


class Reasons:
    """Counts reasons for rejection; the part after a colon is specific to one case and ignored."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def reject(self, reason: str) -> None:
        self._counts[reason.partition(":")[0]] += 1

    @property
    def because(self) -> str:
        """The most frequent reason as a parenthesis for a sentence; empty if there is none."""
        return "".join(f" (most often: {reason})" for reason, _ in self._counts.most_common(1))


class Quota(Reasons):
    """Counts kept and tried candidates towards a target number."""

    def __init__(self, what: str, wanted: int) -> None:
        super().__init__()
        self.what, self.wanted = what, wanted
        self.kept = self.tried = 0

    @property
    def full(self) -> bool:
        return self.kept >= self.wanted

    def try_next(self, size: int) -> range:
        """Return the numbers of the next `size` candidates; raise UserError if hardly any candidate is kept."""
        if self.tried >= TELLING and self.kept < LEAST_KEPT * self.tried:
            raise self.missed()
        start, self.tried = self.tried, self.tried + size
        return range(start, start + size)

    def missed(self) -> UserError:
        """Return the error that ends the step: how many were made, and why the others were not."""
        return UserError(
            f"{self.what}: {self.kept:,} of {self.wanted:,} could be made in {self.tried:,} tries{self.because}; what was made is kept; "
            f"{REMEDY}, or ask for fewer.",
            code=1,
        )

    def round(self) -> range:
        """Return the numbers of the candidates to try next, more of them if few were kept so far; empty if the quota is full."""
        missing = max(0, self.wanted - self.kept)
        each = min(MOST, SPARE * self.tried / self.kept) if self.kept else 1
        return self.try_next(math.ceil(missing * each)) if missing else range(0)


T = TypeVar("T")


class RowWriter:
    """Writes one stream of rows to a file."""

    def __init__(self, path: Path) -> None:
        self._file, self._digest = path.open("wb"), hashlib.sha256()
        self.count = 0

    def add(self, row: BaseModel | dict[str, Any]) -> None:
        if isinstance(row, BaseModel):
            line = row.model_dump_json(exclude_defaults=True).encode("utf-8", "replace") + b"\n"
        else:
            line = orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        self._file.write(line)
        self._digest.update(line)
        self.count += 1

    def close(self) -> str:
        self._file.close()
        return self._digest.hexdigest()[:32]


def read_rows(folder: Path, stream: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a stream in the order they were written; none if the file does not exist."""
    path = folder / f"{stream}.jsonl"
    if path.is_file():
        with path.open("rb") as file:
            yield from map(orjson.loads, file)


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a JSONL file atomically."""
    fresh = path.with_suffix(".part")
    with fresh.open("wb") as file:
        for row in rows:
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    fresh.replace(path)


def in_blocks(things: Iterable[T], first: int, then: int) -> Iterator[list[T]]:
    """Yield blocks of `first`, then `then` elements; a small first block exposes an unusable model early."""
    left, size = iter(things), first
    while block := list(islice(left, size)):
        yield block
        size = then


M = TypeVar("M", bound=BaseModel)

PAGE = 1_000
REJECTED = "rejected"
POOL = "answerers"
TRAINING = "training_people"
"""The stream of people for training pairs; none of them is in the benchmark."""
TRIAL = 12  # asks of a trial
ENOUGH_TO_TELL = 10  # asks without one usable reply that show a model is unusable
ENOUGH_ALIKE = 6  # usable identical answers that show a model is unusable


class Stopped(UserError):
    """Raised when a build ends early: budget, endpoint, interruption, or waiting for people's votes. Finished work is kept."""


class BuildModels(OpenModels):
    """The models of a build, each opened once."""

    def __init__(self, config: BuildConfig) -> None:
        super().__init__()
        self._config = config

    def role(self, role: str) -> Model | None:
        """Return the model of a single-model role; None for `template`, where templates write and nothing is checked."""
        spec = self._config.models.spec(role)
        return None if spec == TEMPLATE else self.open(spec)

    def pool(self) -> list[Model]:
        return [self.open(spec) for spec in self._config.models.pool() if spec != TEMPLATE]

    def all(self, roles: Iterable[str]) -> list[Model]:
        found = [self.pool() if role == POOL else [self.role(role)] for role in roles]
        return [model for models in found for model in models if model is not None]


class Bench:
    """The workspace of one step."""

    def __init__(
        self,
        step: str,
        config: BuildConfig,
        out: Path,
        models: BuildModels,
        store: Store | None = None,
        progress: ProgressView | None = None,
        budget: float | None = None,
    ) -> None:
        self.step, self.config, self.out = step, config, out
        self.take, self.seed = config.build.takes.get(step, 0), config.build.seed
        self.template = f"{TEMPLATE}:{step}-1"
        """The maker recorded for template texts of this step."""
        self.summary = Summary()
        """Calls and cost of this command."""
        self.models, self._store, self._budget = models, store, budget
        self._progress = progress or Silence()
        self._writers: dict[str, RowWriter] = {}
        self._fresh: list[Product] = []

    def model(self, role: str = "writer") -> Model | None:
        """Return the model of a role; None for `template`."""
        return self.models.role(role)

    def name(self, role: str = "writer") -> str:
        """Return the name of the model in a role, for rejections."""
        model = self.model(role)
        return model.name if model else TEMPLATE

    @property
    def pool_names(self) -> list[str]:
        """Names of the answer models, or of the template, for rows and rejections."""
        return [model.name for model in self.models.pool()] or [self.template]

    def folder(self, step: str) -> Path:
        return self.out / "steps" / step

    def read(self, step: str, kind: type[M], stream: str | None = None) -> Iterator[M]:
        return map(kind.model_validate, self.read_rows(step, stream))

    def read_rows(self, step: str, stream: str | None = None) -> Iterator[dict[str, Any]]:
        return read_rows(self.folder(step), stream or step)

    def people(self, stream: str = "people") -> Iterator[Person]:
        """Return the people of a stream, with the features that earlier steps inferred."""
        last = "features" if "memories" in self.config.sections else "people"
        return self.read(last, Person, stream)

    def write(self, row: BaseModel | dict[str, Any], stream: str | None = None) -> None:
        name = stream or self.step
        if name not in self._writers:
            self._work.mkdir(parents=True, exist_ok=True)
            self._writers[name] = RowWriter(self._work / f"{name}.jsonl")
        self._writers[name].add(row)

    def reject(self, key: str, reason: str, text: str = "", about: str | None = None, by: str = "") -> None:
        row = {"id": key, "step": self.step, "reason": reason, "by": by, "about": about, "text": text}
        self.write({name: value for name, value in row.items() if value}, REJECTED)

    def add(self, product: Product) -> None:
        """Store a product that no model of this step made, such as a context."""
        self._fresh.append(product)

    async def ask(self, model: Model | None, targets: Sequence[Target], label: str) -> list[Generation]:
        """Ask for all targets that have no reply yet; return the generations in the order of the targets."""
        (answers,) = await self._ask_each([(model, targets)], label)
        return answers

    async def ask_after_trial(
        self, model: Model | None, targets: Sequence[Target], label: str, differ: bool = True
    ) -> list[Generation]:
        await self.try_out(model, targets, label, differ)
        return await self.ask(model, targets, label)

    async def try_out(
        self, model: Model | None, targets: Sequence[Target], label: str, differ: bool = True
    ) -> None:
        """Ask the first targets; raise UserError if they show that the model is unusable.

        With `differ`, answers that are all identical within a language show it too.
        """
        tried = await self.ask(model, targets[:TRIAL], f"{label}, trial") if model else []
        usable = [answer for answer in tried if answer.maker != self.template and answer.ok]
        if model and len(tried) >= ENOUGH_TO_TELL and not usable:
            raise UserError(
                f"{self.step}: none of the first {len(tried)} {label} by {model.name} could be used (such as: "
                f"{tried[0].reason.rstrip('.')}); {REMEDY}.",
                code=1,
            )
        languages = {answer.target.language for answer in usable}
        texts = {(answer.target.language, answer.text) for answer in usable}
        if model and differ and len(usable) >= ENOUGH_ALIKE and len(texts) == len(languages):
            raise UserError(
                f"{self.step}: {model.name} says one and the same of everybody; {REMEDY}.", code=1
            )

    async def judge(
        self, targets: Sequence[Target], faults: Mapping[str, str], label: str
    ) -> list[tuple[Generation, str]]:
        """Return the checker's generations, each with the fault it found; empty if it found none."""
        answers = await self.ask(self.model("checker"), targets, label)
        return [
            (one, f"could not be judged: {one.reason}" if one.text is None else faults.get(one.text, ""))
            for one in answers
        ]

    async def ask_pool(
        self, asks: Sequence[tuple[int, Target]], label: str, trial: bool = False
    ) -> list[Generation]:
        """Ask the answer models concurrently, each the targets with its index in the pool; return generations in the order of `asks`."""
        models: list[Model | None] = [*self.models.pool()] or [None]
        batches = [
            (model, [target for at, target in asks if at == place]) for place, model in enumerate(models)
        ]
        for model, few in batches if trial else ():
            await self.try_out(model, few, label)
        found = list(map(iter, await self._ask_each(batches, label)))
        return [next(found[place]) for place, _ in asks]

    async def _ask_each(
        self, batches: Sequence[tuple[Model | None, Sequence[Target]]], label: str
    ) -> list[list[Generation]]:
        store = self._opened
        self._flush()
        own = self.config.prompt
        batches = [
            (model, [replace(one, prompt=own(one.prompt)) for one in given]) for model, given in batches
        ]
        makers = [Maker(self.step, model, self.seed, self.take) if model else None for model, _ in batches]
        lanes = [
            self._lane(number, maker, targets, label)
            for number, (maker, (_, targets)) in enumerate(zip(makers, batches, strict=True), 1)
            if targets and maker is not None
        ]
        if lanes:
            planned = sum(lane.total for lane in lanes)
            record = {"benchmark": "build", "kind": "build", "step": self.step, "take": self.take}
            run = store.begin_run(f"build-{self.step}-{content_hash(record)[:8]}", "build", record, planned)
            left = None if self._budget is None else max(0.0, self._budget - self.summary.cost)
            self._took(await Runner(store, run.id, self._progress, budget=left).run(lanes))
        return [
            [one for page in in_blocks(targets, PAGE, PAGE) for one in self._page(maker, page)]
            for maker, (_, targets) in zip(makers, batches, strict=True)
        ]

    def _lane(self, number: int, maker: Maker, targets: Sequence[Target], label: str) -> Lane:
        self._opened.add_raters({r.fingerprint: r for r in map(maker.record, targets)}.values())
        name = f"{self.step}: {label}"
        return Lane(
            name=name if number == 1 else f"{name} ({number})",
            endpoint=maker.model.endpoint,
            jobs=map(maker.job, targets),
            total=len(targets),
            max_concurrency=maker.model.max_concurrency,
            together=together(maker.model),
        )

    def _took(self, summary: Summary) -> None:
        self.summary.charge(summary)
        if summary.interrupted:
            raise Stopped("interrupted; what was done is kept and the same command goes on from there.", 130)
        for lane in summary.lanes:
            if lane.stopped:
                nothing = lane.finished == lane.failed == lane.reused == 0
                raise Stopped(f"{lane.name} stopped: {lane.stopped}", 2 if lane.unusable and nothing else 1)
            if lane.failed and not lane.finished and not lane.reused:
                raise Stopped(
                    f"{lane.name}: every call failed, the last because {(summary.last_failure or '').rstrip('.')}; what was made is "
                    "kept and the same command goes on from there.",
                    1,
                )

    def _page(self, maker: Maker | None, targets: Sequence[Target]) -> Iterator[Generation]:
        """Yield the generation of each target: the model's product, its stand-in, or the reason why there is none."""
        if maker is None:
            yield from (self._without(target) for target in targets)
            return
        keys = [maker.key(target) for target in targets]
        asks = self._opened.final_asks(keys)
        texts = self._opened.texts(ask.id for ask in asks.values() if ask.status == Status.OK)
        for target, key in zip(targets, keys, strict=True):
            ask = asks.get(key)
            if ask is None:
                yield self._without(target, Status.FAILED, "the call failed")
            elif ask.status != Status.OK or ask.id not in texts:
                yield self._without(target, ask.status, ask.detail or "the reply was of no use")
            else:
                yield Generation(target, texts[ask.id], ask.id, ask.rater)

    def _without(self, target: Target, status: Status = Status.OK, reason: str = "") -> Generation:
        """Return the stand-in of a target; without a model, a verdict without stand-in is the first letter."""
        if target.stand_in is not None:
            product = hash_text(self.template, target.key, target.stand_in)
            generation = Generation(target, target.stand_in, product, self.template, status, reason)
            self.add(generation.as_product())
            return generation
        letter = target.letters[0] if target.letters and not reason else None
        return Generation(target, letter, status=status, reason=reason)

    def reject_reply(self, answer: Generation, role: str = "writer") -> None:
        """Record why a model's reply was unusable; do nothing if it was usable or no model was asked."""
        if answer.reason:
            self.reject(answer.target.key, answer.reason, about=answer.target.about, by=self.name(role))

    @property
    def _work(self) -> Path:
        return self.out / "steps" / f"{self.step}.part"

    @property
    def _opened(self) -> Store:
        if self._store is None:
            raise RuntimeError("a dry run asks nothing")
        return self._store

    def _flush(self) -> None:
        if self._fresh:
            self._opened.add_products(self._fresh)
            self._fresh = []

    def begin(self) -> None:
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)

    def finish(self, fingerprint: str) -> None:
        self._flush()
        digests = {name: writer.close() for name, writer in sorted(self._writers.items())}
        done = {
            "step": self.step,
            "fingerprint": fingerprint,
            "digest": content_hash({name: digest for name, digest in digests.items() if name != REJECTED}),
            "counts": {name: writer.count for name, writer in sorted(self._writers.items())},
            "take": self.take,
            "spent": round(self.summary.cost, 6),
        }
        (self._work / "done.json").write_bytes(orjson.dumps(done, option=orjson.OPT_INDENT_2))
        shutil.rmtree(self.folder(self.step), ignore_errors=True)
        self._work.rename(self.folder(self.step))
