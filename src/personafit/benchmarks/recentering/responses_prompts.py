"""The prompts a system is to answer when it is the one under test, and for each what is known of the person who puts it.

Only prompts for which people called at least one attribute relevant are put: by those attributes the answers are judged.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Ungraded
from personafit.benchmarks.folder import FolderBenchmark
from personafit.benchmarks.recentering.labels import LABELS, RelevanceLabels
from personafit.benchmarks.recentering.responses import PAIRS, PreferenceFolder, ResponsePairs, data_folder
from personafit.items.preference import PERSONAL, PREFERENCE
from personafit.items.relevance import RELEVANCE, YES
from personafit.people import Attribute, Person
from personafit.store import Item, Product


@dataclass(frozen=True)
class Situation:
    """A prompt, and what is known of the person who puts it."""

    id: str
    person: str
    prompt: str
    known: tuple[str, ...]
    """All attributes."""
    relevant: tuple[str, ...]
    """Those people called relevant to the prompt."""


class ResponsePrompts(Ungraded):
    """The prompts as a benchmark without answers."""

    becomes = PREFERENCE
    """The kind of item that a system's answers make of them."""

    def __init__(
        self, info: BenchmarkInfo, people: Sequence[Person], situations: Sequence[Situation]
    ) -> None:
        self.info = BenchmarkInfo(
            name=f"{info.name}-prompts",
            version=info.version,
            licence=info.licence,
            language=info.language,
            layout=[],
        )
        self.source = info
        self.situations = {one.id: one for one in _apart(situations)}
        known: dict[str, dict[str, None]] = {}
        for one in situations:
            known.setdefault(one.person, {}).update(dict.fromkeys(one.known))
        self._people = [_with_attributes(person, known[person.id]) for person in people if person.id in known]

    def people(self) -> Iterator[Person]:
        """Everyone who puts a prompt, with all that is known of them on record."""
        return iter(self._people)

    def products(self) -> Iterator[Product]:
        """None: they are about to be made."""
        yield from ()

    def items(self) -> Iterator[Item]:
        """The prompts."""
        for one in self.situations.values():
            yield Item(
                id=one.id, kind="prompt", person=one.person, prompt=one.prompt, products=[], group=one.id
            )


def open_prompts(data: Path | None) -> ResponsePrompts:
    """The prompts of whatever --data names: published pairs or labels, or a folder with relevance or preference items."""
    folder = data_folder(data)
    if (folder / PAIRS).is_file():
        pairs = ResponsePairs(folder)
        found = _from_pairs(pairs)
        return ResponsePrompts(pairs.info, list(pairs.people()), found)
    source: Benchmark
    if (folder / LABELS).is_file():
        source = RelevanceLabels(folder)
        found = _from_relevance(source)
    else:
        source = FolderBenchmark(folder, kind=RELEVANCE)
        found = _from_relevance(source)
        if not found:
            source = PreferenceFolder(folder)
            found = _from_preferences(source)
    if not found:
        raise UserError(
            f"{folder} has no prompt for which an attribute is marked relevant; see docs/reference/folder.md."
        )
    return ResponsePrompts(source.info, list(source.people()), found)


def _from_pairs(pairs: ResponsePairs) -> list[Situation]:
    found: dict[str, Situation] = {}
    for row in pairs.rows:
        key = f"recentering/{row.user}/{row.number}"
        if row.relevant and key not in found:
            known = tuple(dict.fromkeys(text for text, _ in row.attributes if text.strip()))
            found[key] = Situation(key, row.user, row.prompt, known, tuple(row.relevant))
    return list(found.values())


def _from_relevance(source: Benchmark) -> list[Situation]:
    texts = {product.id: product.text for product in source.products() if product.kind == "attribute"}
    items = list(source.items())
    yes = {row.item for row in source.gold() if row.rater == source.info.gold and row.label == YES}
    lists: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        if texts[item.products[0]].strip():
            lists.setdefault((item.person, item.prompt), []).append(item)
    found = []
    for (person, prompt), members in lists.items():
        known, relevant = (
            tuple(dict.fromkeys(texts[item.products[0]] for item in chosen))
            for chosen in (members, [item for item in members if item.id in yes])
        )
        if relevant:
            found.append(
                Situation(members[0].id.rpartition("/")[0] or members[0].id, person, prompt, known, relevant)
            )
    return found


def _from_preferences(source: Benchmark) -> list[Situation]:
    texts = {product.id: product.text for product in source.products()}
    people = {person.id: person for person in source.people()}
    found: dict[tuple[str, str], Situation] = {}
    for item in source.items():
        relevant = tuple(texts[product] for product in item.products[PERSONAL + 1 :])
        on_record = (attribute.text for attribute in people[item.person].attributes)
        known = tuple(dict.fromkeys([*on_record, *relevant]))
        found.setdefault(
            (item.person, item.prompt), Situation(item.group, item.person, item.prompt, known, relevant)
        )
    return list(found.values())


def _apart(situations: Sequence[Situation]) -> Iterator[Situation]:
    """The same under ids of their own: ids of items may begin alike, and a group may hold several people or prompts."""
    counts = Counter(one.id for one in situations)
    for one in situations:
        own = f"{one.id}@{hash_text(one.person, one.prompt)[:8]}"
        yield one if counts[one.id] == 1 else replace(one, id=own)


def _with_attributes(person: Person, texts: dict[str, None]) -> Person:
    listed = {attribute.text for attribute in person.attributes}
    new = [
        Attribute(id=f"known{number}", text=text) for number, text in enumerate(texts) if text not in listed
    ]
    return person.model_copy(update={"attributes": [*person.attributes, *new]})
