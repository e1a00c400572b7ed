"""`personafit forget`: remove everything that derives from a person."""

import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import store_url
from personafit.cli.options import StoreOption
from personafit.labeling.erasing import forget_in_studies
from personafit.stages.erasing import erase_lines, erase_rows, refuse_foreign
from personafit.store import Store


def forget(
    person: Annotated[str, typer.Argument(help="Id of the person, as in people.jsonl.")],
    store: StoreOption = None,
    folders: Annotated[
        list[Path] | None,
        typer.Option(
            "--in", metavar="DIR", help="Also in this --out of stages or extraction flow; may be repeated."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
    ] = False,
) -> None:
    """Remove a person from a store: profiles, items, answers, contexts, asks and judgments, in every data set and study.

    A tombstone stays (the id as a hash, when, and how many rows), and data that still names the person is read without
    them from then on. With --in also from folders that stages, extraction flow or train verifier wrote: their lines, their
    page, and their rows in the folder's own store. End runs on the same store first.

    **Examples**

        personafit forget marlene --dry-run

        personafit forget marlene --in people --in flow

        personafit forget marlene --store postgresql://me@host/study
    """
    try:
        person.encode()
    except UnicodeEncodeError:
        raise UserError(f"{person!r} is not UTF-8, so nobody is called that; nothing was removed.") from None
    for folder in folders or ():
        refuse_foreign(folder)
    held = {folder: _erase(folder, person, True)[0] for folder in folders or ()}
    with Store(store_url(store)) as opened:
        pages = forget_in_studies(opened.engine, person, dry_run)
        done = opened.forget(person, dry_run, elsewhere=any(counts.total() for counts in held.values()))
        place = opened.url
    if done is None:
        places = " or ".join([place, *map(str, held)])
        raise UserError(f"Nobody is called '{person}' in {places}; nothing was removed.")
    for name, count in pages.items():
        done.counts[name] = done.counts.get(name, 0) + count
    removed = _listed(done.counts)
    if done.before is not None and not removed:
        when = time.strftime("%Y-%m-%d", time.gmtime(done.before))
        print(f"{person} was forgotten on {when}; nothing has come back since.")
    elif dry_run:
        print(f"Forgetting {person} would remove {removed or 'nothing'} from {place}; nothing was removed.")
    else:
        print(f"Removed {removed or 'nothing'} of {person} from {place}; a tombstone stays.")
    remains = {place: done.remains} if done.remains is not None else {}
    for folder, counts in held.items():
        listed = _listed(counts) or "nothing"
        if dry_run:
            print(f"Forgetting {person} would remove {listed} from {folder}; nothing was removed.")
            continue
        _, why = _erase(folder, person, False)
        if why is not None:
            remains[str(folder)] = why
        print(f"Removed {listed} of {person} from {folder}.")
    if dry_run:
        return
    print(
        "Reports, exports, fitted models and backups already made are outside its reach: delete those yourself, and make "
        "reports anew with personafit report."
    )
    for where, why in remains.items():
        raise UserError(
            f"The rows are removed, but their bytes may remain in the files of {where} ({why}); "
            "run the same command again when nobody uses the store.",
            code=1,
        )


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count)


def _erase(folder: Path, person: str, dry_run: bool) -> tuple[Counter[str], str | None]:
    """Everything of the person in a folder: how much of what, and why bytes may remain, if they may."""
    try:
        counts = Counter(erase_lines(folder, person, dry_run))
        counts["benchmark items"] = _erase_benchmark(folder / "benchmark", person, dry_run)
        if (folder / "pages").is_dir() and not dry_run:
            from personafit.reporting.people import write_person_pages

            write_person_pages(folder)
        rows, remains = erase_rows(folder, person, dry_run)
    except OSError as error:
        raise UserError(f"{error.filename or folder} cannot be written ({error.strerror}).") from error
    counts.update(rows)
    return counts, remains


def _erase_benchmark(folder: Path, person: str, dry_run: bool) -> int:
    """Take the person out of what `stages --benchmark` wrote; returns how many of its items are theirs."""
    if not folder.is_dir():
        return 0
    from personafit.benchmarks import FolderBenchmark, write_folder
    from personafit.benchmarks.forgotten import WithoutForgotten

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
