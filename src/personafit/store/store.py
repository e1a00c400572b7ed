"""The store: everything judged, by whom, of what, in one place; written in batches, read as frames."""

import shutil
from collections.abc import Collection

from personafit.store.datasets import Datasets
from personafit.store.forgetting import Forgotten, forget_person, forgotten_among
from personafit.store.runs import Runs
from personafit.store.stored_people import StoredPeople, person_folder


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
