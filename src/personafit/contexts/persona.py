"""An explicit persona: what is believed of a person, field by field, each with the memories it rests on and since when.

A model proposes edits; what becomes of them is decided here and always the same way. Evidence must be among the memories that were
shown, the newer of two statements wins and the older is kept as past, and a field goes when the last memory it rests on is forgotten.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from personafit.people import FacetValue, Memory, render_facets

ADD, CHANGE, REMOVE = "add", "change", "remove"
LONGEST_VALUE = 400
MOST_FIELDS = 60
_PATH = re.compile(r"[^\W_][\w '&/()-]{0,59}(?:\.[^\W_][\w '&/()-]{0,59}){0,2}")

Do = Literal["add", "change", "remove"]


@dataclass(frozen=True)
class Belief:
    """One thing believed: its words, the memories it rests on, and when the newest of them was."""

    value: str
    evidence: tuple[str, ...]
    time: str | None = None


@dataclass(frozen=True)
class Edit:
    """A change that a model proposes, with the memories it names for it."""

    do: Do
    path: str
    value: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Persona:
    """What is believed now, what was believed before, and which memories were looked at."""

    fields: Mapping[str, Belief] = field(default_factory=dict)
    past: Mapping[str, tuple[Belief, ...]] = field(default_factory=dict)
    """Earlier values by field, the latest last."""
    seen: tuple[str, ...] = ()

    def updated(self, edits: Iterable[Edit], shown: Sequence[Memory]) -> "Persona":
        """The persona after some edits; fields that no edit names stay exactly as they are."""
        times = {memory.id: memory.time for memory in shown}
        changed = self
        for edit in edits:
            changed = changed._after(edit, _latest(times.get(id) for id in edit.evidence))
        seen = dict.fromkeys([*self.seen, *(memory.id for memory in shown)])
        return replace(changed, seen=tuple(seen))

    def unseen(self, memories: Sequence[Memory]) -> list[Memory]:
        """The memories that were not looked at yet, in the order given."""
        seen = set(self.seen)
        return [memory for memory in memories if memory.id not in seen]

    def without(self, forgotten: Collection[str]) -> "Persona":
        """The persona after memories were forgotten: what rests on them alone goes, and an older belief may come back."""
        gone = set(forgotten)
        past = {path: tuple(_less(beliefs, gone)) for path, beliefs in self.past.items()}
        fields: dict[str, Belief] = {}
        for path, belief in self.fields.items():
            kept = next(iter(_less([belief], gone)), None)
            if kept is None and past.get(path):
                *earlier, kept = past[path]
                past[path] = tuple(earlier)
            if kept is not None:
                fields[path] = kept
        return Persona(
            fields,
            {path: beliefs for path, beliefs in past.items() if beliefs},
            tuple(id for id in self.seen if id not in gone),
        )

    @property
    def facets(self) -> dict[str, FacetValue]:
        """What is believed now, as facets."""
        return {path: belief.value for path, belief in self.fields.items()}

    def render(self) -> str:
        """What is believed now, as an outline like any profile."""
        return render_facets(dict(sorted(self.facets.items(), key=lambda pair: pair[0].split("."))))

    def as_dict(self) -> dict[str, Any]:
        """The persona as plain values, for files."""
        return {
            "fields": {path: _plain(belief) for path, belief in self.fields.items()},
            "past": {path: [_plain(one) for one in beliefs] for path, beliefs in self.past.items()},
            "seen": list(self.seen),
        }

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> "Persona":
        """The persona that `as_dict` wrote."""
        return cls(
            {path: _belief(one) for path, one in body["fields"].items()},
            {path: tuple(_belief(one) for one in beliefs) for path, beliefs in body["past"].items()},
            tuple(body["seen"]),
        )

    def _after(self, edit: Edit, time: str | None) -> "Persona":
        path = next((known for known in self.fields if known.casefold() == edit.path.casefold()), edit.path)
        now = self.fields.get(path)
        if edit.do == REMOVE:
            return self._removed(path) if now is not None and _not_older(time, now.time) else self
        new = Belief(edit.value, edit.evidence, time)
        if now is None:
            if len(self.fields) >= MOST_FIELDS:
                return self
            return replace(self, fields={**self.fields, path: new})
        if _same(now.value, edit.value):  # nothing new is said: one more memory stands behind it
            evidence = tuple(dict.fromkeys([*now.evidence, *edit.evidence]))
            kept = Belief(now.value, evidence, _latest([now.time, time]))
            return replace(self, fields={**self.fields, path: kept})
        if not _not_older(time, now.time):
            return replace(self, past={**self.past, path: _by_time([*self.past.get(path, ()), new])})
        past = {**self.past, path: _by_time([*self.past.get(path, ()), now])}
        return replace(self, fields={**self.fields, path: new}, past=past)

    def _removed(self, path: str) -> "Persona":
        rest = {known: belief for known, belief in self.fields.items() if known != path}
        past = {**self.past, path: (*self.past.get(path, ()), self.fields[path])}
        return replace(self, fields=rest, past=past)


def valid_edit(do: object, path: object, value: object, evidence: Sequence[str]) -> Edit | None:
    """An edit whose parts can be used, or None; evidence is checked by whoever knows what was shown."""
    if do not in (ADD, CHANGE, REMOVE) or not isinstance(path, str) or not evidence:
        return None
    path = ".".join(part.strip() for part in path.split("."))
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not _PATH.fullmatch(path) or len(text) > LONGEST_VALUE or (not text and do != REMOVE):
        return None
    return Edit(do, path, text, tuple(evidence))  # type: ignore[arg-type]  # checked against all three above


def _less(beliefs: Iterable[Belief], gone: set[str]) -> list[Belief]:
    kept = [replace(one, evidence=tuple(id for id in one.evidence if id not in gone)) for one in beliefs]
    return [belief for belief in kept if belief.evidence]


def _same(one: str, other: str) -> bool:
    return one.casefold().strip(" .。") == other.casefold().strip(" .。")


def _not_older(time: str | None, than: str | None) -> bool:
    """Whether a statement may replace another; one without a time is taken to come as it was met, and so later."""
    return time is None or than is None or time >= than


def _latest(times: Iterable[str | None]) -> str | None:
    return max((time for time in times if time is not None), default=None)


def _by_time(beliefs: Iterable[Belief]) -> tuple[Belief, ...]:
    return tuple(sorted(beliefs, key=lambda belief: belief.time or ""))


def _plain(belief: Belief) -> dict[str, Any]:
    return {"value": belief.value, "evidence": list(belief.evidence), "time": belief.time}


def _belief(body: Mapping[str, Any]) -> Belief:
    return Belief(body["value"], tuple(body["evidence"]), body["time"])
