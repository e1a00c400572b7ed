"""What a person did with an assistant before, as sampled: each interaction shows one preference, in one month or two.

From these a model writes the summary of a domain; a template does where there is no model or its text does not do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from personafit._hashing import draw
from personafit.factory.tasks.ontology import Ontology
from personafit.factory.tasks.profile import Profile

TEMPLATE = "template:history-1"
MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "zh": "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月".split(),
}
ONCE = {
    "en": (
        "In {first} they {shown}.",
        "The record of {first} says that they {shown}.",
        "They {shown}; that was in {first}.",
    ),
    "zh": ("{first}，{shown}。", "{first}那次对话里，{shown}。", "翻到{first}的记录：{shown}。"),
}
TWICE = {
    "en": ("In {first} and again in {last} they {shown}.", "Both in {first} and in {last} they {shown}."),
    "zh": ("{first}和{last}都是这样：{shown}。", "从{first}到{last}，前后两次，{shown}。"),
}


@dataclass(frozen=True, slots=True)
class Interaction:
    """One preference as it showed in earlier conversations."""

    path: str
    months: tuple[int, ...]
    """One month or two, from 0."""
    shown: str
    """What the person did, in words."""

    def line(self, language: str) -> str:
        """The interaction as a line for a writer."""
        names = [MONTHS[language][month] for month in self.months]
        return f"{' / '.join(names)}: {self.shown}"


def interactions(profile: Profile, domain: str, ontology: Ontology, seed: int) -> list[Interaction]:
    """The interactions of a person in a domain, in an order of its own for each person."""
    found = []
    for attribute, values in profile.of(domain).items():
        path = f"{domain}.{attribute}"
        first = draw(seed, profile.id, path, "month", among=12)
        twice = draw(seed, profile.id, path, "twice", among=2)
        months = (
            (first, (first + 1 + draw(seed, profile.id, path, "later", among=11)) % 12) if twice else (first,)
        )
        shown = ontology.attribute(path).shown(tuple(values), profile.language)
        found.append(Interaction(path, tuple(sorted(months)), shown))
    return sorted(found, key=lambda one: draw(seed, profile.id, one.path, "order", among=2**32))


def from_template(profile: Profile, domain: str, ontology: Ontology, seed: int) -> str:
    """The summary of a domain without a model: a sentence for each interaction."""
    separator = "" if profile.language == "zh" else " "
    return separator.join(_sentences(profile, domain, ontology, seed))


def _sentences(profile: Profile, domain: str, ontology: Ontology, seed: int) -> Iterator[str]:
    language = profile.language
    for one in interactions(profile, domain, ontology, seed):
        frames = (ONCE if len(one.months) == 1 else TWICE)[language]
        frame = frames[draw(seed, profile.id, one.path, "frame", among=len(frames))]
        names = [MONTHS[language][month] for month in one.months]
        yield frame.format(first=names[0], last=names[-1], shown=one.shown)
