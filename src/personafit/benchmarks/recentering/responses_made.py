"""Answers that systems made, as pairs to be judged by the attributes people called relevant."""

from collections.abc import Iterator, Sequence

from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import BenchmarkInfo, Published
from personafit.benchmarks.recentering.responses import CONTROLS, GENERATOR, GIVEN, INFO
from personafit.benchmarks.recentering.responses_prompts import ResponsePrompts, Situation
from personafit.items.preference import CONTEXT, PREFERENCE
from personafit.people import Person
from personafit.store import Item, Judgment, Product


class MadeResponses:
    """Pairs of a system's generic answer and one that it made knowing something, "" where it made none."""

    def __init__(
        self,
        prompts: ResponsePrompts,
        answers: Sequence[tuple[str, str, Situation, str, str]],
        notes: Sequence[str],
    ) -> None:
        self._prompts = prompts
        self._answers = answers
        self._notes = list(notes)
        source = prompts.source
        self.info = BenchmarkInfo(
            name=INFO.name,
            version=source.version,
            title=f"{source.name}: does using the attributes help?",
            description="Answers made by the systems under test, judged by the attributes people called relevant.",
            licence=source.licence,
            language=source.language,
            gold=INFO.gold,
            metric=INFO.metric,
            view=CONTEXT.name,
            layout=INFO.layout,
            controls=CONTROLS,
        )

    def people(self) -> Iterator[Person]:
        """Everyone who put a prompt."""
        return self._prompts.people()

    def products(self) -> Iterator[Product]:
        """The answers and the attributes."""
        for system, given, situation, generic, personal in self._answers:
            yield from _pair_products(system, given, situation, generic, personal)

    def items(self) -> Iterator[Item]:
        """One item per system, context and prompt."""
        for system, given, situation, generic, personal in self._answers:
            yield Item(
                id=f"{hash_text(system)[:6]}/{given}/{situation.id}",
                kind=PREFERENCE,
                person=situation.person,
                prompt=situation.prompt,
                products=[p.id for p in _pair_products(system, given, situation, generic, personal)],
                group=situation.id,
                slices={GENERATOR: system, GIVEN: given},
            )

    def gold(self) -> Iterator[Judgment]:
        """None yet: nobody has rated these answers."""
        yield from ()

    def published(self) -> list[Published]:
        """None."""
        return []

    def notes(self) -> list[str]:
        """What could not be made."""
        return self._notes


def _pair_products(
    system: str, given: str, situation: Situation, generic: str, personal: str
) -> list[Product]:
    answers = [
        Product(kind="answer", text=generic, maker=system),
        Product(kind="answer", text=personal, maker=system, given=given),
    ]
    return answers + [
        Product(kind="attribute", text=text, about=situation.person) for text in situation.relevant
    ]
