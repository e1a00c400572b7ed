"""What a step works with: its settings, its models, earlier steps' rows, and where its own rows go."""

import gc
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.build.asking import Generation, Maker, Target
from personafit.build.config import TEMPLATE, BuildConfig
from personafit.build.rows import RowWriter, Scratch, in_blocks, read_records, read_rows
from personafit.engine import Lane, ProgressView, Runner, Silence, Summary, together
from personafit.models import Model, make_model
from personafit.people import Person
from personafit.store import Product, Status, Store

M = TypeVar("M", bound=BaseModel)

PAGE = 1_000
MANY = 5_000  # asks
REJECTED = "rejected"
POOL = "answerers"


class Stopped(UserError):
    """The line came to an early end: budget, endpoint or interruption. What was made is kept."""


class Waiting(Stopped):
    """The line waits for people; nothing was cut short."""


def add_summary(total: Summary, more: Summary) -> None:
    """Add what was asked and spent to a total."""
    total.lanes += more.lanes
    total.tokens_in += more.tokens_in
    total.tokens_out += more.tokens_out
    total.cost += more.cost


@dataclass(frozen=True)
class RequestBatch:
    """Requests to one model, all asked before the step goes on; without a model every verdict is the first letter and nothing is written."""

    model: Model | None
    wanted: Callable[[], Iterable[Target]]
    """Gives the same things in the same order each time it is called."""
    total: int
    label: str = ""


class BuildModels:
    """The models of a build, opened once each."""

    def __init__(self, config: BuildConfig) -> None:
        self._config = config
        self._open: dict[str, Model] = {}

    def role(self, role: str) -> Model | None:
        """The model of a role of one; None where our templates write, or nobody checks."""
        spec = self._config.models.spec(role)
        return None if spec == TEMPLATE else self.spec(spec)

    def pool(self) -> list[Model]:
        """The answer models; none where our templates answer."""
        return [self.spec(spec) for spec in self._config.models.pool() if spec != TEMPLATE]

    def spec(self, spec: str) -> Model:
        """The model of a spec."""
        if spec not in self._open:
            self._open[spec] = make_model(spec)
        return self._open[spec]

    def settings(self, roles: Iterable[str]) -> list[Any]:
        """What of the models shapes what is made."""
        found: list[Any] = []
        for role in roles:
            model = None if role == POOL else self.role(role)
            found.append([m.settings for m in self.pool()] if role == POOL else model and model.settings)
        return found

    async def close(self) -> None:
        """Release all of them."""
        for model in self._open.values():
            await model.close()


class Bench:
    """One step's place of work."""

    def __init__(
        self,
        step: str,
        config: BuildConfig,
        out: Path,
        models: BuildModels,
        store: Store | None = None,
        progress: ProgressView | None = None,
        take: int = 0,
        budget: float | None = None,
    ) -> None:
        self.step, self.config, self.out = step, config, out
        self.take, self.seed = take, config.build.seed
        self.summary = Summary()
        """What was asked and spent in this command."""
        self.counts: dict[str, int] = {}
        self._models, self._store, self._budget = models, store, budget
        self._progress = progress or Silence()
        self._writers: dict[str, RowWriter] = {}
        self._fresh: list[Product] = []

    def model(self, role: str = "writer") -> Model | None:
        """The model of a role; None where our templates write, or nobody checks."""
        return self._models.role(role)

    def name(self, role: str = "writer") -> str:
        """Who has a role, for rejections."""
        model = self.model(role)
        return model.name if model else TEMPLATE

    def pool(self) -> list[Model]:
        """The answer models, one to four; none where our templates answer."""
        return self._models.pool()

    def model_of(self, spec: str) -> Model:
        """The model of a spec, such as one of `[models] raters`."""
        return self._models.spec(spec)

    def folder(self, step: str) -> Path:
        """Where a finished step's rows are."""
        return self.out / "steps" / step

    def read(self, step: str, kind: type[M], stream: str | None = None) -> Iterator[M]:
        """The rows of a finished step as records, streamed."""
        return read_records(self.folder(step), stream or step, kind)

    def read_rows(self, step: str, stream: str | None = None) -> Iterator[dict[str, Any]]:
        """The rows of a finished step as they are, streamed."""
        return read_rows(self.folder(step), stream or step)

    @property
    def people_step(self) -> str:
        """The last step that adds to what is known of people."""
        return "features" if "memories" in self.config.sections else "people"

    def people(self, stream: str = "people") -> Iterator[Person]:
        """Everyone of a stream, as that step left them."""
        return self.read(self.people_step, Person, stream)

    def count(self, step: str, stream: str | None = None) -> int:
        """How many rows a finished step's stream has."""
        done = orjson.loads((self.folder(step) / "done.json").read_bytes())
        return int(done["counts"].get(stream or step, 0))

    def reasons(self, mark: str = ":") -> Counter[str]:
        """How often this step rejected something, by the reason up to a mark."""
        return Counter(str(row["reason"]).partition(mark)[0] for row in self.read_rows(self.step, REJECTED))

    def write(self, row: BaseModel | dict[str, Any], stream: str | None = None) -> None:
        """Add a row to a stream of this step."""
        name = stream or self.step
        if name not in self._writers:
            self._work.mkdir(parents=True, exist_ok=True)
            self._writers[name] = RowWriter(self._work / f"{name}.jsonl")
        self._writers[name].add(row)

    def reject(self, key: str, reason: str, text: str = "", about: str | None = None, by: str = "") -> None:
        """Keep what was rejected, with the reason and who said so."""
        row = {"id": key, "step": self.step, "reason": reason, "by": by, "about": about, "text": text}
        self.write({name: value for name, value in row.items() if value}, REJECTED)

    def reject_reply(self, answer: Generation, role: str = "writer") -> None:
        """Keep that a model's reply was of no use, and why; where no model was asked there is nothing to keep."""
        if self.model(role) is not None:
            self.reject(answer.target.key, answer.reason, about=answer.target.about, by=self.name(role))

    def scratch(self, name: str) -> Scratch:
        """Rows to put aside and read again within this step; nothing of them is left when it ends."""
        return Scratch(self._work / f"{name}.scratch")

    def add(self, product: Product) -> None:
        """Store a product no model of this step made, such as a text from a template."""
        self._fresh.append(product)
        if len(self._fresh) >= PAGE:
            self._flush()

    async def ask(self, *batches: RequestBatch) -> Iterator[Generation]:
        """Ask for everything that is not there yet; then the answers, batch after batch, in the order of `wanted`."""
        return chain.from_iterable(await self.ask_each(*batches))

    async def ask_each(self, *batches: RequestBatch) -> list[Iterator[Generation]]:
        """The same, with the answers of each batch apart, to be read side by side."""
        store = self._opened
        self._flush()
        batches = tuple(replace(batch, wanted=partial(self._wanted, batch)) for batch in batches)
        makers = [
            Maker(self.step, batch.model, self.seed, self.take) if batch.model else None for batch in batches
        ]
        lanes = [
            self._lane(number, maker, batch)
            for number, (maker, batch) in enumerate(zip(makers, batches, strict=True), 1)
            if batch.total and maker is not None
        ]
        if lanes:
            planned = sum(lane.total for lane in lanes)
            record = {"benchmark": "build", "kind": "build", "step": self.step, "take": self.take}
            run = store.begin_run(f"build-{self.step}-{content_hash(record)[:8]}", "build", record, planned)
            left = None if self._budget is None else max(0.0, self._budget - self.summary.cost)
            summary = await Runner(store, run.id, self._progress, budget=left).run(lanes)
            if planned >= MANY:
                gc.collect()  # a runner lets cycles lie; before what comes next they go
            self._took(summary)
        return [self._answers(maker, batch) for maker, batch in zip(makers, batches, strict=True)]

    def _wanted(self, batch: RequestBatch) -> Iterator[Target]:
        """What a batch asks for, with the user's own prompts in place of ours."""
        own = self.config.prompt
        return (
            one if (prompt := own(one.prompt)) is one.prompt else replace(one, prompt=prompt)
            for one in batch.wanted()
        )

    def _lane(self, number: int, maker: Maker, batch: RequestBatch) -> Lane:
        first = next(iter(batch.wanted()), None)
        if first is not None:
            self._opened.add_raters([maker.record(first)])
        name = f"{self.step}: {batch.label or maker.model.name}"
        return Lane(
            name=name if number == 1 else f"{name} ({number})",
            endpoint=maker.model.endpoint,
            jobs=(maker.job(wanted) for wanted in batch.wanted()),
            total=batch.total,
            max_concurrency=maker.model.max_concurrency,
            together=together(maker.model),
        )

    def _took(self, summary: Summary) -> None:
        add_summary(self.summary, summary)
        if summary.interrupted:
            raise Stopped("interrupted; what was made is kept and the same command goes on from there.", 130)
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

    def _answers(self, maker: Maker | None, batch: RequestBatch) -> Iterator[Generation]:
        if maker is None:
            return (Generation(one, one.letters[0] if one.letters else None) for one in batch.wanted())
        pages = in_blocks(batch.wanted(), PAGE, PAGE)
        return chain.from_iterable(self._page(maker, page) for page in pages)

    def _page(self, maker: Maker, page: list[Target]) -> Iterator[Generation]:
        keys = [maker.key(wanted) for wanted in page]
        asks = self._opened.final_asks(keys)
        texts = self._opened.texts(ask.id for ask in asks.values() if ask.status == Status.OK)
        self._opened.add_raters({r.fingerprint: r for r in map(maker.record, page)}.values())
        for wanted, key in zip(page, keys, strict=True):
            ask = asks.get(key)
            if ask is None:
                yield Generation(wanted, None, status=Status.FAILED, reason="the call failed")
            elif ask.status != Status.OK or ask.id not in texts:
                yield Generation(
                    wanted, None, status=ask.status, reason=ask.detail or "the reply was of no use"
                )
            else:
                yield Generation(wanted, texts[ask.id], ask.id, ask.rater)

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
        """Clear away what an interrupted command left half written; what was asked is in the store."""
        shutil.rmtree(self._work, ignore_errors=True)
        self._work.mkdir(parents=True)

    def finish(self, fingerprint: str) -> None:
        """End all streams and give them their final place."""
        self._flush()
        digests = {name: writer.close() for name, writer in sorted(self._writers.items())}
        self.counts = {name: writer.count for name, writer in sorted(self._writers.items())}
        for left in self._work.glob("*.scratch"):
            left.unlink()
        rows = {name: digest for name, digest in digests.items() if name != REJECTED}
        done = {
            "step": self.step,
            "fingerprint": fingerprint,
            "digest": content_hash(rows),
            "counts": self.counts,
            "take": self.take,
            "spent": round(self.summary.cost, 6),
        }
        (self._work / "done.json").write_bytes(orjson.dumps(done, option=orjson.OPT_INDENT_2))
        shutil.rmtree(self.folder(self.step), ignore_errors=True)
        self._work.rename(self.folder(self.step))
