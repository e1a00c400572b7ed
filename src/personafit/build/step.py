"""A step of the line that builds a benchmark, and how to add one.

**To add a step**, say `letters`: its prompts in English and Chinese go into `data/prompts.toml`, a line into `STEPS` of `line.py`,
and everything else into `build/letters.py`:

    class LettersSection(ConfigSection):
        words: int = Field(80, description="Length of a letter.")

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
            targets = [
                Target.for_person(person, person.id, PROMPTS["letters.letter"], {"person": render_person(person)}, "letter", read_letter)
                for person in bench.people()
            ]
            for answer in await bench.ask(bench.model("writer"), targets, "letters"):
                if answer.ok: bench.write({"id": answer.product, "text": answer.text, "person": answer.target.about})
                else:         bench.reject_reply(answer)

Every `Target` becomes a keyed job of the engine and, if `read` accepts the reply, at first or when asked once more, a stored
`Product` with its lineage. `read` returns the product's text or raises `Unfit(reason, reason_zh)`, which the model is told; `stand_in`
is what our template says in place of a model. Draw candidates by hash (`draw`), never from a shared random stream.

`bench.write(row)` goes to the stream of the step's name. Streams called `people`, `conversations`, `products`, `items`, `votes`,
`gold` and `tasks` become the files of the benchmark folder: of `people` the last step's, of all others every step's.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table for a card; counts have their thousands apart."""
    cells = (
        [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in (columns, *rows)
    )
    head, *body = (f"| {' | '.join(line)} |" for line in cells)
    return [head, "|---" * len(columns) + "|", *body]
