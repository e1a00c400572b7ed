"""A step of the line that builds a benchmark, and how to add one.

A step reads what earlier steps made, asks models, and writes rows. It never holds all people: it streams.

**To add a step**, say `letters` in a room `factory/letters/`:

1. `factory/letters/config.py`: its section of the file. An unknown key, a wrong type and a failed validator are turned
   into one sentence for you; `faults` looks at the other sections.

       class LettersSection(ConfigSection):
           per_person: int = Field(2, ge=1, description="Letters for each person.")

2. `factory/prompts.toml`: its prompts, our own words, in English and Chinese.

       ["letters.letter"]
       version = 1
       user.en = "Write a short letter by: {person}"
       user.zh = "..."

3. `factory/letters/step.py`: the step.

       class LettersStep(BuildStep):
           name = "letters"
           after = ("people",)              # whose rows it reads
           section = LettersSection         # the step runs when the file has the section
           roles = ("writer",)              # models that shape what it makes ("answerers" is the pool)
           prompts = (PROMPTS["letters.letter"],)

           def expected(self, bench):       # for --dry-run: from the config alone, nothing is read or asked
               people = bench.config.section(PeopleSection).quota
               yield ExpectedAsks("letters", bench.model("writer"), people * self._count(bench), 400, 200)

           async def make(self, bench):
               def wanted():                # called again to read the answers: it must give the same things each time
                   for person in bench.read("people", Person):
                       for number in range(self._count(bench)):
                           yield Target(f"{person.id}/{number}", PROMPTS["letters.letter"], person.language,
                                        {"person": render_person(person)}, kind="letter", read=read_letter,
                                        about=person.id, parents=(person.id,), sample=number)
               for answer in await bench.ask(RequestBatch(bench.model("writer"), wanted, total)):
                   if answer.ok: bench.write({"id": answer.product, "text": answer.text, "person": answer.target.about})
                   else:         bench.reject(answer.target.key, answer.reason, about=answer.target.about)

4. One line in `ROOMS` below.

What the bench does for you: every `Target` becomes a keyed job of the engine (concurrency, retries, budget, resume by
key after kill -9) and, if `read` accepts the reply, at first or when asked once more, a stored `Product` with maker (model,
prompt version, seed, take), `given`, `parents` and `about`. `read` returns the product's text or raises `Unfit(reason,
reason_zh)`; the model is told the reason. A choice names its `letters` and `read=chosen("AB")`. Answers come in the order of `wanted`,
whatever finished first. What follows from an answer (a check, a rewrite) is another pass: another `bench.ask`.

For a number that must be reached, `Quota` gives rounds of candidate numbers and ends the step with a sentence when a
model brings nothing new; draw each candidate from `draw(seed, "letters", take, number, ...)`, never from a shared random
stream. What no model made, such as a text from a template, is a Product too: name the maker `template:NAME-VERSION` and
give it to `bench.add`. Near-duplicates: `factory/duplicates.py`.

Rows are records or dicts. `bench.write(row)` goes to the stream of the step's name; streams called `people`,
`conversations`, `products`, `items`, `votes`, `gold` and `tasks` become the files of the benchmark folder when the line
ends: of `people` the last step's stream counts, of all others every step's, one after the other. `card` returns the
step's part of card.md; `splits` its part of benchmark.toml. A file outside the build that shapes the step (a corpus, a
person's review) goes into `outside`, so that editing it makes the step run again.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from personafit._errors import UserError
from personafit.factory.config import ConfigSection
from personafit.factory.prompts import PromptTemplate
from personafit.models import Model

if TYPE_CHECKING:
    from personafit.factory.bench import Bench


@dataclass(frozen=True, slots=True)
class ExpectedAsks:
    """The asks a step expects to make, for a dry run."""

    what: str
    model: Model
    calls: int
    tokens_in: int
    """About how many tokens one prompt has."""
    tokens_out: int
    """About how many tokens one reply has."""

    @property
    def cost(self) -> float | None:
        """About what all calls cost in USD; None when the price is unknown."""
        if self.model.price is None:
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


# section: (its class, its steps)
ROOMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "people": ("people.config:PeopleSection", ("people.step:PeopleStep",)),
    "memories": (
        "memories.config:MemoriesSection",
        ("memories.step:MemoriesStep", "memories.profiler:FeaturesStep"),
    ),
    "questions": ("questions.config:QuestionsSection", ("questions.step:QuestionsStep",)),
    "answers": ("answers.config:AnswersSection", ("answers.step:AnswersStep",)),
    "studies": (
        "studies.config:StudiesSection",
        ("studies.truth_step:TruthStep", "studies.tiers_step:TiersStep"),
    ),
    "pairs": ("pairs.config:PairsSection", ("pairs.step:PairsStep",)),
    "tasks": (
        "tasks.config:TasksSection",
        (
            "tasks.profiles_step:ProfilesStep",
            "tasks.histories_step:HistoriesStep",
            "tasks.tasks_step:TasksStep",
        ),
    ),
}


def section_kinds() -> dict[str, type[ConfigSection]]:
    """The class of every section a room reads."""
    return {name: _load(kind) for name, (kind, _) in ROOMS.items()}


def steps_of(sections: Iterable[str]) -> list[BuildStep]:
    """The steps of some sections, each after those it reads from."""
    present = set(sections)
    waiting: list[BuildStep] = [
        _load(step)() for name, (_, steps) in ROOMS.items() if name in present for step in steps
    ]
    names = {step.name for step in waiting}
    owners = {_load(step).name: name for name, (_, steps) in ROOMS.items() for step in steps}
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


def _load(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(f"personafit.factory.{module}"), name)
