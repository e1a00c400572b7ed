"""What a person prefers, as something to look for in a dialogue: per attribute its values, and those of other people."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from personafit.people import FacetValue
from personafit.raters.dialogues.counting.meanings import AVOIDED, CUES, domain_words, ways_to_say
from personafit.raters.dialogues.counting.words import stems

INDIFFERENT = ("no preference", "none", "no limit", "any", "n/a")
# A day that lies in what the person has is no other value.
_DAYS = {
    "everyday": ("weekdays", "weekends"),
    "every day": ("weekdays", "weekends"),
    "weekdays": ("monday", "tuesday", "wednesday", "thursday", "friday"),
    "weekends": ("saturday", "sunday"),
}
_EMPTY_NAMES = frozenset(
    stems(
        "preference preferred favorite favourite type types frequent preferred of the and additional desired usual"
    )
)


@dataclass(frozen=True)
class Preference:
    """One attribute of a person that bears on a task."""

    path: str
    """Facet path, such as `Books.Preferred Genres`."""
    values: tuple[str, ...]
    """What the person has there."""
    others: tuple[str, ...] = ()
    """The further values of the list it comes from; empty where there is no list."""
    several: bool = False
    """Whether the person may have several, so that one of them is enough."""

    @property
    def domain(self) -> str:
        """The domain it belongs to."""
        return self.path.partition(".")[0]

    @property
    def name(self) -> str:
        """The attribute's name without its domain."""
        return self.path.partition(".")[2] or self.path

    @cached_property
    def avoided(self) -> bool:
        """Whether its values are what the person does not want."""
        return any(word in self.name.lower() for word in AVOIDED)

    @cached_property
    def name_words(self) -> frozenset[str]:
        """The telling words of its name."""
        return frozenset(stems(self.name)) - _EMPTY_NAMES

    @cached_property
    def cue(self) -> re.Pattern[str] | None:
        """What a question about it says."""
        known = {stems(word)[0]: cue for word, cue in CUES.items()}
        words = stems(self.name)
        # The last telling word is what the attribute is a kind of: "Reading Time" is a time, not a reading.
        telling = [word for word in words if word not in _EMPTY_NAMES]
        cues = [known[word] for word in telling if word in known]
        if "time" in telling and len(cues) > 1:
            cues = [known["time"]]
        # A word of the domain's own stands in any question of that domain.
        left = [word for word in telling if word not in known and word not in self.domain_words]
        plain = [re.escape(word) for word in left if len(word) > 3]
        return (
            re.compile(rf"(?<![a-z])(?:{'|'.join([*cues, *plain])})", re.IGNORECASE)
            if cues or plain
            else None
        )

    @cached_property
    def forms(self) -> tuple[tuple[tuple[str, ...], str, bool], ...]:
        """Every way to say one of its values, with the value and whether it is the person's own.

        Longest first; of two that are worded alike the person's own.
        """
        found = [
            (form, value, value in self.values)
            for value in (*self.values, *self.others)
            for form in ways_to_say(value)
        ]
        found.sort(key=lambda one: (-len(one[0]), not one[2], one[0] != ways_to_say(one[1])[0]))
        return tuple(found)

    @cached_property
    def domain_words(self) -> frozenset[str]:
        """The words that show that a sentence is about its domain."""
        return domain_words(self.domain)


def preferences_of(
    facets: Mapping[str, FacetValue], paths: Sequence[str], closed: Mapping[str, Sequence[str]]
) -> tuple[Preference, ...]:
    """The preferences at these paths; attributes on which the person is indifferent are no preference."""
    found = []
    for path in paths:
        if path not in facets:
            continue
        value = facets[path]
        own = tuple(value) if isinstance(value, list) else (str(value),)
        own = tuple(one for one in own if one.strip().lower() not in INDIFFERENT and stems(one))
        if not own:
            continue
        said = {stems(one) for one in own}
        said |= {stems(day) for one in own for day in _DAYS.get(one.strip().lower(), ())}
        others = tuple(
            one
            for one in closed.get(path, ())
            if stems(one) not in said and one.strip().lower() not in INDIFFERENT and stems(one)
        )
        found.append(_preference(path, own, others, isinstance(value, list)))
    return tuple(found)


@lru_cache(maxsize=8192)
def _preference(path: str, values: tuple[str, ...], others: tuple[str, ...], several: bool) -> Preference:
    """One object for equal preferences, so that what is worked out about it is worked out once."""
    return Preference(path, values, others, several)
