"""`D`, `I`, `S` and sums such as `D+I+S`: who the person is, what their earlier conversations were about, and the situation they are in.

`I` may be made worse on purpose, to see what an assistant's memory is worth: thinned out (`I~sparse:0.3`), mixed up (`I~noise:0.3`),
contradicted (`I~contradict:2`). All draws are by hash of the seed, the person and the sentence or preference concerned, so one
person's history never depends on another's; what came out is stored with the context like any other.
"""

import re
from dataclasses import dataclass

from personafit._errors import UserError
from personafit._hashing import draw, hash_text
from personafit.contexts.context import SUM, Context, ContextBuilder, People, TaskItem, in_language
from personafit.people import FacetValue, Person, facet_values, render_person, select_facets
from personafit.store import Item

_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_WIDE = re.compile(r"[\u3400-\u9fff]")
_LATELY = {
    "en": " Lately, asked for their {name}, the person said: {instead}.",
    "zh": "最近被问到 {name} 时，这个人说：{instead}。",
}


@dataclass(frozen=True)
class Whose:
    """Whose history it is, and among whom they live."""

    person: Person
    people: People
    seed: int
    matters: tuple[str, ...] = ()  # facets that bear on the task at hand


def sentences(text: str) -> list[str]:
    """A summary's sentences."""
    return [part for part in _SENTENCE.split(text.strip()) if part]


def sparse(history: dict[str, str], share: float, whose: Whose) -> dict[str, str]:
    """Without this share of the sentences of each summary; the rest stay in order."""
    thinned = {}
    for domain, text in history.items():
        said = sentences(text)
        keys = [
            hash_text("sparse", str(whose.seed), whose.person.id, domain, str(n)) for n in range(len(said))
        ]
        ranked = sorted(range(len(said)), key=keys.__getitem__)
        dropped = set(ranked[: round(share * len(said))])
        thinned[domain] = _joined([each for number, each in enumerate(said) if number not in dropped])
    return {domain: text for domain, text in thinned.items() if text}


def noise(history: dict[str, str], share: float, whose: Whose) -> dict[str, str]:
    """With sentences from other people's summaries of the same domain mixed in, this share of the own number."""
    mixed = {}
    people, person = whose.people, whose.person
    pool = [other for other in people.of_language(person.language) if other != person.id]
    for domain, text in history.items():
        said = sentences(text)
        others = [other for other in pool if domain in people[other].summaries]
        for number in range(round(share * len(said)) if others else 0):
            parts = ("noise", whose.seed, person.id, domain, number)
            first = draw(*parts, "who", among=len(others))
            for other in (*others[first:], *others[:first]):
                foreign = [each for each in sentences(people[other].summaries[domain]) if each not in said]
                if foreign:
                    place = draw(*parts, "where", among=len(said) + 1)
                    said.insert(place, foreign[draw(*parts, "what", among=len(foreign))])
                    break
        mixed[domain] = _joined(said)
    return mixed


def contradict(history: dict[str, str], count: float, whose: Whose) -> dict[str, str]:
    """With so many preferences turned into somebody else's: where they are mentioned, and else in a sentence more.

    Preferences that bear on the task come first.
    """
    changed, person = dict(history), whose.person
    others = {path: _other_value(path, whose) for path in person.facets if path.partition(".")[0] in history}

    def rank(path: str) -> tuple[bool, str]:
        return path not in whose.matters, hash_text("contradict", str(whose.seed), person.id, path)

    for path in sorted((path for path in others if others[path] is not None), key=rank)[: int(count)]:
        domain, _, name = path.partition(".")
        instead = str(others[path])
        text = changed[domain]
        for value in _values(person.facets[path]):
            text = _replaced(text, value, instead)
        if text == changed[domain]:
            text += in_language(_LATELY, person.language).format(name=name.lower(), instead=instead)
        changed[domain] = text
    return changed


def _joined(said: list[str]) -> str:
    """Sentences as a text; a sentence that ends as Chinese ones do needs no space after it."""
    return re.sub(r"(?<=[。！？]) ", "", " ".join(said))


def _replaced(text: str, value: str, instead: str) -> str:
    """The text with one value for another where it stands as a word; Chinese has no spaces to tell words by."""
    pattern = re.escape(value) if _WIDE.search(value) else rf"(?<!\w){re.escape(value)}(?!\w)"
    return re.sub(pattern, lambda _: instead, text, flags=re.IGNORECASE)


def _other_value(path: str, whose: Whose) -> str | None:
    """What somebody else prefers there, and this person does not."""
    own = {value.casefold() for value in _values(whose.person.facets[path])}
    pool = whose.people.of_language(whose.person.language)
    start = draw("other", whose.seed, whose.person.id, path, among=len(pool))
    for step in range(len(pool)):
        facets = whose.people[pool[(start + step) % len(pool)]].facets
        for value in _values(facets[path]) if path in facets else []:
            if value.casefold() not in own:
                return value
    return None


def _values(value: FacetValue) -> list[str]:
    return list(value) if isinstance(value, list) else [str(value)]


QUALITIES = {"sparse": sparse, "noise": noise, "contradict": contradict}


DEMOGRAPHICS = "Demographics"
PARTS = "DIS"


@dataclass
class DisContext:
    """A sum of D, I and S."""

    name: str
    parts: frozenset[str]
    qualities: tuple[tuple[str, float], ...]  # how the history is made worse, and how much
    people: People
    seed: int

    def build(self, person: Person, item: Item) -> Context:
        """The parts that were asked for, in the order D, I, S, each under a heading of its own."""
        sections: list[str] = []
        facets: dict[str, FacetValue] = {}
        values: list[str] = []
        if "D" in self.parts:
            facets = select_facets(person.facets, [DEMOGRAPHICS])
            values += facet_values(facets)
            if facets:
                sections.append(render_person(person, facets))
        if "I" in self.parts:
            history = self._history(person, item)
            if history:
                told = "\n".join(f"  {domain}: {text}" for domain, text in history.items())
                sections.append(f"Earlier conversations with the person, summed up by topic:\n{told}")
        if "S" in self.parts:
            situation = _task(item, self.name).task.situation
            values += situation.values()
            if situation:
                told = "\n".join(f"  {name}: {value}" for name, value in situation.items())
                sections.append(f"Situation:\n{told}")
        return Context(self.name, "\n\n".join(sections), tuple(values), person.id, facets)

    def covers(self, person: Person, item: Item) -> bool:
        """Whether the person has a history in every domain of the task, so that they can stand in for somebody."""
        if "I" not in self.parts or not isinstance(item, TaskItem):
            return True
        return all(domain in person.summaries for domain in item.task.domains)

    def _history(self, person: Person, item: Item) -> dict[str, str]:
        domains = item.task.domains if isinstance(item, TaskItem) else list(person.summaries)
        history = {domain: person.summaries[domain] for domain in domains if domain in person.summaries}
        matters = tuple(item.task.preferences) if isinstance(item, TaskItem) else ()
        for kind, amount in self.qualities:
            history = QUALITIES[kind](history, amount, Whose(person, self.people, self.seed, matters))
        return history


def dis_context(name: str, people: People, seed: int) -> ContextBuilder:
    """Make a sum of D, I and S; the order in which it is written makes no difference."""
    if not re.fullmatch(SUM, name):
        raise UserError(
            f"'{name}' is no sum of D, I and S; write D+I+S, or for a worse history I~KIND:AMOUNT with a kind of "
            f"{', '.join(QUALITIES)}."
        )
    named: dict[str, str] = {}
    for part in name.split("+"):
        if part[0] in named:
            raise UserError(f"'{name}' names {part[0]} twice.")
        named[part[0]] = part
    qualities = tuple(_quality(text, name) for text in named.get("I", "I").split("~")[1:])
    if "D" in named and not any(select_facets(p.facets, [DEMOGRAPHICS]) for p in people.values()):
        raise UserError(f"{name}: nobody here has demographics, which D would tell.")
    if "I" in named and not any(person.summaries for person in people.values()):
        raise UserError(f"{name}: nobody here has summaries of earlier conversations, which I would tell.")
    ordered = "+".join(named[part] for part in PARTS if part in named)
    return DisContext(ordered, frozenset(named), qualities, people, seed)


def _quality(text: str, name: str) -> tuple[str, float]:
    kind, _, amount = text.partition(":")
    if kind not in QUALITIES:
        raise UserError(f"'{name}': unknown kind '{kind}'; there are {', '.join(QUALITIES)}.")
    try:
        value = float(amount)
    except ValueError:
        value = -1.0
    if kind == "contradict" and not (value >= 1 and value == int(value)):
        raise UserError(f"'{name}': contradict takes a number of preferences, as in I~contradict:2.")
    if kind != "contradict" and not 0 <= value <= 1:
        raise UserError(f"'{name}': {kind} takes a share from 0 to 1, as in I~{kind}:0.3.")
    return kind, value


def _task(item: Item, name: str) -> TaskItem:
    if not isinstance(item, TaskItem):
        raise UserError(
            f"{name}: S tells the situation of a dialogue task, and this benchmark has no such tasks."
        )
    return item
