"""The store: everything judged, by whom, of what, in one place; written in batches, read as frames."""

import shutil
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from personafit._hashing import hash_text
from personafit.people import Person
from personafit.store.datasets import Datasets
from personafit.store.forgetting import Forgotten, forget_person, forgotten_among
from personafit.store.runs import Runs

PEOPLE_HELD = 1_024
PEOPLE_AHEAD = 64


def person_folder(folder: Path, person: str) -> Path:
    """Where a person's indexes lie, so that they go when the person is forgotten."""
    return folder / hash_text(person)


class StoredPeople(Mapping[str, Person]):
    """The people of a data set; only ids and languages are held, and those who were looked at last."""

    def __init__(self, store: Datasets, dataset: str) -> None:
        self.languages = store.languages(dataset)
        self.index_folder = store.index_folder
        self._store, self._dataset = store, dataset
        self._order = list(self.languages)
        self._last = -1
        self._ahead: dict[str, str] = {}
        self._read = lru_cache(PEOPLE_HELD)(self._person)

    def __getitem__(self, person: str) -> Person:
        found = self._read(person) if person in self.languages else None
        if found is None:
            raise KeyError(person)
        return found

    def _person(self, person: str) -> Person | None:
        """Read a person; where people are gone through in order, those who come next are read along."""
        body = self._ahead.pop(person, None)
        if body is None:
            place = bisect_left(self._order, person)
            count = PEOPLE_AHEAD if place == self._last + 1 else 1
            wanted = self._order[place : place + count]
            self._last = place + len(wanted) - 1
            self._ahead = bodies = self._store.person_bodies(self._dataset, wanted)
            body = bodies.pop(person, None)
        return None if body is None else Person.model_validate_json(body)

    def __iter__(self) -> Iterator[str]:
        return iter(self.languages)

    def __len__(self) -> int:
        return len(self.languages)

    def __contains__(self, person: object) -> bool:
        return person in self.languages


class Store(Datasets, Runs):
    """One database of products, items, asks and judgments."""

    def people(self, dataset: str) -> StoredPeople:
        """All people of a data set by id, read when they are looked at."""
        return StoredPeople(self, dataset)

    def forget(self, person: str, dry_run: bool = False, elsewhere: bool = False) -> Forgotten | None:
        """Remove everything that derives from a person; None when there is nobody of that name, here or `elsewhere`."""
        found = forget_person(self._engine, person, dry_run, elsewhere)
        if self.index_folder is not None and not dry_run:
            shutil.rmtree(person_folder(self.index_folder, person), ignore_errors=True)
        return found

    def forgotten(self, people: Collection[str]) -> set[str]:
        """Which of these people were forgotten and must not come back."""
        return forgotten_among(self._engine, people)
