"""`personafit forget`: remove everything that derives from a person."""

import time
from typing import Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import store_url
from personafit.labeling.erasing import forget_in_studies
from personafit.store import Store


def forget(
    person: Annotated[str, typer.Argument(help="Id of the person, as in people.jsonl.")],
    store: Annotated[
        str | None, typer.Option(help="File or postgresql:// URL; default .personafit/store.db.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, and remove nothing.")
    ] = False,
) -> None:
    """Remove a person from a store: profiles, items, answers, contexts, asks and judgments, in every data set and study.

    A tombstone stays (the id as a hash, when, and how many rows), and data that still names the person is read without
    them from then on. End runs on the same store first.

    **Examples**

        personafit forget p17 --dry-run

        personafit forget p17 --store postgresql://me@host/study
    """
    with Store(store_url(store)) as opened:
        pages = forget_in_studies(opened.engine, person, dry_run)
        done = opened.forget(person, dry_run)
        place = opened.url
    if done is None:
        raise UserError(f"Nobody is called '{person}' in {place}; nothing was removed.")
    for name, count in pages.items():
        done.counts[name] = done.counts.get(name, 0) + count
    removed = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in done.counts.items() if count)
    if done.before is not None and not removed:
        when = time.strftime("%Y-%m-%d", time.gmtime(done.before))
        print(f"{person} was forgotten on {when}; nothing has come back since.")
    elif dry_run:
        print(f"Forgetting {person} would remove {removed} from {place}; nothing was removed.")
    else:
        print(f"Removed {removed} of {person} from {place}; a tombstone stays.")
    if dry_run:
        return
    print(
        "Reports, exports, fitted models and backups already made are outside its reach: delete those yourself, and make "
        "reports anew with personafit report."
    )
    if done.remains is not None:
        raise UserError(
            f"The rows are removed, but their bytes may remain in the files of {place} ({done.remains}); "
            "run the same command again when nobody uses the store.",
            code=1,
        )
