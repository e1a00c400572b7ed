"""Forgetting a person: remove everything that derives from them from a store, its studies, and output folders."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from personafit._errors import UserError
from personafit.api.places import store_url
from personafit.extract.erasing import erase_lines, erase_rows, refuse_foreign
from personafit.label.steering import forget_in_studies
from personafit.store import Store


@dataclass
class ErasureResult:
    """What was, or would be, removed about one person."""

    store: str
    """URL of the store."""
    counts: dict[str, int]
    """Number of rows of the store, by table."""
    before: float | None
    """When the person was first forgotten, if they were before."""
    folders: dict[Path, Counter[str]] = field(default_factory=dict)
    """Number of lines and rows of each output folder."""
    remains: dict[str, str] = field(default_factory=dict)
    """File or database to the reason why bytes of the removed rows may still be in it."""


def forget(
    person: str, *, store: str | Path | None = None, folders: Sequence[Path] = (), dry_run: bool = False
) -> ErasureResult:
    """Remove a person from a store and from output folders of `extract`; with `dry_run`, only count."""
    try:
        person.encode()
    except UnicodeEncodeError:
        raise UserError(f"{person!r} is not UTF-8, so nobody is called that; nothing was removed.") from None
    for folder in folders:
        refuse_foreign(folder)
    held = {folder: _erase(folder, person, True)[0] for folder in folders}
    with Store(store_url(store)) as opened:
        elsewhere = any(counts.total() for counts in held.values())
        done = opened.forget(person, dry_run, elsewhere, first=forget_in_studies)
        place = opened.url
    if done is None:
        places = " or ".join([place, *map(str, held)])
        raise UserError(f"Nobody is called '{person}' in {places}; nothing was removed.")
    result = ErasureResult(place, done.counts, done.before, held)
    if done.remains is not None:
        result.remains[place] = done.remains
    if not dry_run:
        for folder in held:
            _, why = _erase(folder, person, False)
            if why is not None:
                result.remains[str(folder)] = why
    return result


def _erase(folder: Path, person: str, dry_run: bool) -> tuple[Counter[str], str | None]:
    """Remove the person from a folder; returns counts by type, and why bytes may remain, if they may."""
    try:
        counts = Counter(erase_lines(folder, person, dry_run))
        counts["benchmark items"] = _erase_benchmark(folder / "benchmark", person, dry_run)
        if (folder / "pages").is_dir() and not dry_run:  # earlier versions wrote a page for each person
            shutil.rmtree(folder / "pages")
        rows, remains = erase_rows(folder, person, dry_run)
    except OSError as error:
        raise UserError(f"{error.filename or folder} cannot be written ({error.strerror}).") from error
    counts.update(rows)
    return counts, remains


def _erase_benchmark(folder: Path, person: str, dry_run: bool) -> int:
    """Remove the person from what `extract run --benchmark` wrote; returns the number of their items."""
    if not folder.is_dir():
        return 0
    from personafit.benchmarks import FolderBenchmark, write_folder
    from personafit.benchmarks.benchmark import WithoutForgotten

    source = FolderBenchmark(folder, None)
    if person not in {one.id for one in source.people()}:
        return 0
    theirs = sum(item.person == person for item in source.items())
    if not dry_run:
        fresh = folder.with_name("benchmark.new")
        shutil.rmtree(fresh, ignore_errors=True)
        card = (folder / "card.md").read_text(encoding="utf-8")
        write_folder(fresh, WithoutForgotten(source, {person}), card)
        shutil.rmtree(folder)
        fresh.rename(folder)
    return theirs
