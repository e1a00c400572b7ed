"""A step of the line that builds a benchmark, and how to add one.

A step reads what earlier steps made, asks models, and writes rows. It never holds all people: it streams.

**To add a step**, say `letters`: its section goes into `sections.py`, its prompts in English and Chinese into `data/prompts.toml`,
a line into `STEPS` below, and the step itself into `build/letters.py`:

    class LettersStep(BuildStep):
        name = "letters"
        after = ("people",)              # whose rows it reads
        section = LettersSection         # the step runs when the file has the section
        roles = ("writer",)              # models that shape what it makes ("answerers" is the pool)
        prompts = (PROMPTS["letters.letter"],)

        def expected(self, bench):       # for --dry-run: from the config alone, nothing is read or asked
            people = bench.config.section(PeopleSection).quota
            yield ExpectedAsks("letters", bench.model("writer"), people, 400, 200)

        async def make(self, bench):
            def wanted():                # called again to read the answers: it must give the same things each time
                for person in bench.read("people", Person):
                    yield Target(person.id, PROMPTS["letters.letter"], person.language, {"person": render_person(person)},
                                 kind="letter", read=read_letter, about=person.id, parents=(person.id,))
            for answer in await bench.ask(RequestBatch(bench.model("writer"), wanted, bench.count("people"))):
                if answer.ok: bench.write({"id": answer.product, "text": answer.text, "person": answer.target.about})
                else:         bench.reject(answer.target.key, answer.reason, about=answer.target.about)

Every `Target` becomes a keyed job of the engine (concurrency, retries, budget, resume by key after kill -9) and, if `read`
accepts the reply, at first or when asked once more, a stored `Product` with its lineage. `read` returns the product's text or
raises `Unfit(reason, reason_zh)`; the model is told the reason. Answers come in the order of `wanted`, whatever finished first.
What follows from an answer (a check, a rewrite) is another `bench.ask`. `Quota` fills a number that must be reached; draw each
candidate from `draw(seed, "letters", take, number, ...)`, never from a shared random stream. What no model made is a Product
of the maker `template:NAME-VERSION`, given to `bench.add`. Near-duplicates: `duplicates.py`.

`bench.write(row)` goes to the stream of the step's name. Streams called `people`, `conversations`, `products`, `items`, `votes`,
`gold` and `tasks` become the files of the benchmark folder: of `people` the last step's stream counts, of all others every
step's. A file outside the build that shapes the step goes into `outside`, so that editing it makes the step run again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from personafit._errors import UserError
from personafit.build.config import ConfigSection
from personafit.build.prompts import PromptTemplate
from personafit.models import Model

if TYPE_CHECKING:
    from personafit.build.bench import Bench


@dataclass(frozen=True, slots=True)
class ExpectedAsks:
    """The asks a step expects to make, for a dry run."""

    what: str
    model: Model | None
    """None where our templates write, or nobody checks: then nothing is asked."""
    calls: int
    tokens_in: int
    """About how many tokens one prompt has."""
    tokens_out: int
    """About how many tokens one reply has."""

    @property
    def cost(self) -> float | None:
        """About what all calls cost in USD; None when the price is unknown."""
        if self.model is None or self.model.price is None:
            return None
        each = self.tokens_in * self.model.price[0] + self.tokens_out * self.model.price[1]
        return self.calls * each / 1e6


class BuildStep(ABC):
    """One step of a build: it reads the rows of earlier steps and writes its own."""

    name: ClassVar[str]
    after: ClassVar[tuple[str, ...]] = ()
    """Steps whose rows it reads; one that is not part of the build is a sentence for the user."""
    uses: ClassVar[tuple[str, ...]] = ()
    """Steps whose rows it reads if they are part of the build."""
    section: ClassVar[type[ConfigSection]]
    roles: ClassVar[tuple[str, ...]] = ()
    """Roles of [models] that shape what it makes."""
    prompts: ClassVar[tuple[PromptTemplate, ...]] = ()
    version: ClassVar[int] = 1
    """Goes up when its code makes something else of the same replies."""

    def expected(self, bench: "Bench") -> Iterator[ExpectedAsks]:
        """What it will ask, from the config alone."""
        yield from ()

    @abstractmethod
    async def make(self, bench: "Bench") -> None:
        """Read, ask, write; an exception leaves the step undone, and the same command does it again."""

    def outside(self, bench: "Bench") -> Any:
        """Whatever outside the config shapes the step, as JSON: hashes of files, decisions of people."""
        return None

    def card(self, bench: "Bench") -> str:
        """Its part of card.md, in Markdown; read from its finished rows."""
        return ""

    def splits(self, bench: "Bench") -> dict[str, list[str]]:
        """Its part of the benchmark's splits: names to ids of people."""
        return {}


STEPS: dict[str, tuple[str, ...]] = {
    "people": ("people:PeopleStep",),
    "memories": ("memories:MemoriesStep", "memories:FeaturesStep"),
    "questions": ("questions.step:QuestionsStep",),
    "answers": ("answers:AnswersStep",),
    "studies": ("studies.truth:TruthStep", "studies.tiers:TiersStep"),
    "pairs": ("pairs:PairsStep",),
    "tasks": ("tasks.profiles:ProfilesStep", "tasks.histories:HistoriesStep", "tasks.tasks:TasksStep"),
}
"""The steps of each section."""


def steps_of(sections: Iterable[str]) -> list[BuildStep]:
    """The steps of some sections, each after those it reads from."""
    present = set(sections)
    waiting: list[BuildStep] = [
        _load(step)() for name, steps in STEPS.items() if name in present for step in steps
    ]
    names = {step.name for step in waiting}
    owners = {_load(step).name: name for name, steps in STEPS.items() for step in steps}
    for step in waiting:
        for needed in step.after:
            if needed not in names:
                section = owners.get(needed, needed)
                raise UserError(
                    f"The step '{step.name}' needs what '{needed}' makes: add a section [{section}] to the config."
                )
    ordered: list[BuildStep] = []
    while waiting:
        done = {step.name for step in ordered}
        ready = next(
            (s for s in waiting if set(s.after) <= done and not set(s.uses) & names - done - {s.name}), None
        )
        if ready is None:
            raise RuntimeError(f"steps wait for each other: {[step.name for step in waiting]}")
        waiting.remove(ready)
        ordered.append(ready)
    return ordered


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table for a card; counts have their thousands apart."""
    cells = (
        [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in (columns, *rows)
    )
    head, *body = (f"| {' | '.join(line)} |" for line in cells)
    return [head, "|---" * len(columns) + "|", *body]


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"personafit.build.{module}"), name)
