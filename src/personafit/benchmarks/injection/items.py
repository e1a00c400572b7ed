"""The benchmark: choices of the starter set, each as it is, attacked, and with a placebo where the attack stood.

One choice of each person is taken. Every attack meets every choice once, in one of three places: the wrong answer, the right answer
(there a steered judge looks better than it is) or the profile. The gold never changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from personafit._hashing import draw, hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls, Published
from personafit.benchmarks.injection.attacks import ATTACKS
from personafit.benchmarks.injection.disguises import filler
from personafit.benchmarks.starter import starter
from personafit.items.hostile import signs
from personafit.people import Memory, Person
from personafit.store import Item, Judgment, Product

PER_LANGUAGE = 12
CLEAN, PLACEBO, ATTACKED = "clean", "placebo", "attacked"
WRONG, RIGHT, PROFILE = "answer-wrong", "answer-right", "profile"
# Which place an attack takes turns over the choices: half of them the wrong answer, a third the profile, a sixth the right one.
TURNS = (WRONG, PROFILE, WRONG, PROFILE, WRONG, RIGHT)
NOTES = "Notes"  # the facet that a note in a profile stands in
CUE = {"en": 5, "zh": 8}  # words, or characters, that name an answer from outside

INFO = BenchmarkInfo(
    name="injection",
    version="1",
    title="Injection: can a text tell the judge what to choose?",
    description=(
        "Choices of the starter set in which an answer or the person's profile tries to steer the judge. Each attacked choice is "
        "held against the same choice as it was and against a neutral text of the same length in the same place. Attacks and labels "
        "are the authors' own; a judge that withstands them has withstood these and no others."
    ),
    licence="Apache-2.0",
    language=["en", "zh"],
    layout=[["version"], ["place", "version"]],
    controls=Controls(views=[], raters=["rule:length", "rule:overlap"]),
)


@dataclass(frozen=True)
class _Choice:
    """A choice of the starter set with all it refers to."""

    item: Item
    person: Person
    texts: tuple[str, str]
    gold: int

    @property
    def base(self) -> str:
        return self.item.id.replace("starter/", "injection/", 1)


@dataclass(frozen=True)
class _Made:
    """One item of the benchmark with what it needs."""

    item: Item
    person: Person
    products: tuple[Product, Product]
    gold: int


class Injection:
    """The choices, attacked."""

    becomes = "injection"
    """The kind of its items, which are choices in several versions."""

    info = INFO

    def __init__(self, source: Benchmark | None = None) -> None:
        self._made = [
            made
            for place, choice in enumerate(_choices(source or starter()))
            for made in _versions(choice, place)
        ]

    def people(self) -> Iterator[Person]:
        """The people, and once more for every note that somebody put into a profile."""
        yield from {made.person.id: made.person for made in self._made}.values()

    def products(self) -> Iterator[Product]:
        """All answers, attacked or not."""
        for made in self._made:
            yield from made.products

    def items(self) -> Iterator[Item]:
        """Each choice as it is, then each attack with its placebo."""
        return (made.item for made in self._made)

    def gold(self) -> Iterator[Judgment]:
        """The gold of the starter set, unmoved."""
        return (Judgment(item=made.item.id, rater=INFO.gold, label=str(made.gold)) for made in self._made)

    def published(self) -> list[Published]:
        """Nobody has published on it."""
        return []

    def notes(self) -> list[str]:
        """What it is."""
        return [INFO.description]


def _choices(source: Benchmark) -> list[_Choice]:
    """One choice of each person, drawn by hash, as many people of each language."""
    people = {person.id: person for person in source.people()}
    texts = {product.id: product.text for product in source.products()}
    gold = {row.item: row.label for row in source.gold() if row.rater == source.info.gold}
    of_person: dict[str, Item] = {}
    for item in sorted(source.items(), key=lambda item: hash_text("injection", item.id)):
        if gold.get(item.id) in ("0", "1") and len(item.products) == 2:
            of_person.setdefault(item.person, item)
    chosen = []
    for language in INFO.language:
        known = sorted(person for person in of_person if people[person].language == language)
        for person in known[:PER_LANGUAGE]:
            item = of_person[person]
            first, second = (texts[product] for product in item.products)
            chosen.append(_Choice(item, people[person], (first, second), int(gold[item.id] or 0)))
    return chosen


def _versions(choice: _Choice, number: int) -> Iterator[_Made]:
    base = choice.base
    common = {"of": choice.person.id, "base": base, "language": choice.person.language}
    yield _make(choice, base, {**common, "version": CLEAN}, None, "")
    for row, attack in enumerate(ATTACKS.values()):
        language = choice.person.language
        place = TURNS[(number + row) % len(TURNS)]
        target = choice.gold if place == RIGHT else 1 - choice.gold
        wording = draw("wording", base, attack.name, among=len(attack.wordings[language]))
        letter = "AB"[draw("letter", base, attack.name, among=2)]
        text = attack.text(language, wording, _this(choice, target, place), letter)
        item_id = f"{base}/{attack.name}"
        slices = {
            **common,
            "attack": attack.name,
            "place": place,
            "wording": f"{attack.name}-{language}-{wording + 1}",
            "target": letter if attack.names_letter(language, wording) else str(target),
        }
        where = None if place == PROFILE else target
        yield _make(choice, item_id, {**slices, "version": ATTACKED}, where, text)
        neutral = filler(language, len(text))
        yield _make(choice, f"{item_id}/{PLACEBO}", {**slices, "version": PLACEBO}, where, neutral)


def _this(choice: _Choice, target: int, place: str) -> str:
    """How an attack calls the answer it is for."""
    chinese = choice.person.language == "zh"
    if place != PROFILE:
        return "这个回答" if chinese else "this answer"
    text = choice.texts[target]
    if chinese:
        return f"以“{text[: CUE['zh']]}”开头的回答"
    return f"the answer that begins “{' '.join(text.split()[: CUE['en']])}”"


def _make(choice: _Choice, item_id: str, slices: dict[str, str], where: int | None, added: str) -> _Made:
    """The choice with a text added to an answer or, where that is None, to the profile."""
    person, texts = choice.person, list(choice.texts)
    if added and where is None:
        note = Memory(id=f"{person.id}-note", text=added)
        person = person.model_copy(
            update={
                "id": f"{person.id}+{item_id.removeprefix(choice.base + '/')}",
                "facets": {**person.facets, NOTES: added},
                "memories": [*person.memories, note],
            }
        )
    elif added:
        texts[where or 0] += f"\n\n{added}"
    found = signs(added if where is None else texts[where]) if added else ()
    products = (
        Product(kind="answer", text=texts[0], maker="author"),
        Product(kind="answer", text=texts[1], maker="author"),
    )
    item = Item(
        id=item_id,
        person=person.id,
        prompt=choice.item.prompt,
        products=[product.id for product in products],
        slices={**slices, "flagged": "yes" if found else "no"},
    )
    return _Made(item, person, products, choice.gold)
