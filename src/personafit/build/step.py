"""The base class of build steps, and how to add a step.

A step is a subclass of `BuildStep` with the settings of its section, its prompts in `data/prompts.toml`, and a place in `STEPS` of
`line.py`; `questions/step.py` and `answers.py` are examples. It asks with `await bench.ask(model, targets, label)`: every `Target` becomes
a keyed job of the engine and, if `read` accepts the first reply or the retry, a stored `Product` with its lineage. `read` returns the
product's text or raises `Unfit(reason, reason_zh)`, which the model is told; `stand_in` is the template text used in place of a model.
Draw candidates by hash (`draw`), never from a shared random stream.

`bench.write(row)` goes to the stream of the step's name. Streams called `people`, `conversations`, `products`, `items`, `votes`,
`gold` and `tasks` become the files of the benchmark folder: `people` from the last step that has it, the others joined from all steps.
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
    """Asks a step expects to make, for a dry run."""

    what: str
    model: Model | None
    """None for `template`: nothing is asked then."""
    calls: int
    tokens_in: int
    """Approximate tokens per prompt."""
    tokens_out: int
    """Approximate tokens per reply."""

    @property
    def cost(self) -> float | None:
        """Approximate cost of all calls in USD; None if the price is unknown."""
        if self.model is None or self.model.price is None:
            return None
        each = self.tokens_in * self.model.price[0] + self.tokens_out * self.model.price[1]
        return self.calls * each / 1e6


class BuildStep(ABC):
    """One step of a build: reads the rows of earlier steps and writes its own."""

    name: ClassVar[str]
    after: ClassVar[tuple[str, ...]] = ()
    """Steps whose rows it reads; a UserError names one that is not part of the build."""
    uses: ClassVar[tuple[str, ...]] = ()
    """Steps whose rows it reads if they are part of the build."""
    section: ClassVar[type[ConfigSection]]
    roles: ClassVar[tuple[str, ...]] = ()
    """Roles of [models] that shape its output."""
    prompts: ClassVar[tuple[PromptTemplate, ...]] = ()
    version: ClassVar[int] = 1
    """Increased when its code makes different output from the same replies."""

    def expected(self, bench: "Bench") -> Iterator[ExpectedAsks]:
        """Yield the asks it expects to make, from the config alone."""
        yield from ()

    @abstractmethod
    async def make(self, bench: "Bench") -> None:
        """Read rows, ask models, write rows; after an exception the step is not done and the same command runs it again."""

    def outside(self, bench: "Bench") -> Any:
        """Return, as JSON, whatever shapes the step beyond the config: hashes of files, review decisions."""
        return None

    def card(self, bench: "Bench") -> str:
        """Return its section of card.md, in Markdown, from its finished rows."""
        return ""

    def splits(self, bench: "Bench") -> dict[str, list[str]]:
        """Return its part of the benchmark's splits: person ids by name."""
        return {}


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table for a card; integers get thousands separators."""
    cells = (
        [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in (columns, *rows)
    )
    head, *body = (f"| {' | '.join(line)} |" for line in cells)
    return [head, "|---" * len(columns) + "|", *body]
