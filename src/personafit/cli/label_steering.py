"""The parts of `personafit label` that steer a study: add to it, pause and close it, and what is done to single raters."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from personafit._errors import UserError
from personafit.cli.common import find_run, hint
from personafit.cli.label_common import MOST, Rater, Study, counted, opened_studies
from personafit.cli.options import DataOption, StoreOption


def extend(
    study: Study,
    raters: Annotated[int, typer.Option(min=0, max=MOST, help="Seats to add.")] = 0,
    items: Annotated[int, typer.Option(min=0, help="Items to add.")] = 0,
    source: Annotated[
        str | None, typer.Option("--from", metavar="ITEMS|RUN", help="Where from, if it has moved.")
    ] = None,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Add raters or items; what raters have seen stays as it is.

    **Example**

        personafit label extend pilot --raters 3
    """
    from personafit.labeling import steering

    with opened_studies(store) as studies:
        seats, pages = steering.extend(studies.store, study, raters, items, find_run, source, data)
        added = studies.seats(study)[-seats:] if seats else []
        idle = sum(not studies.assigned(study, seat.seat) for seat in added)
    print(f"{study}: {counted(seats, 'seat', 'seats')} and {counted(pages, 'page', 'pages')} more.")
    if idle:
        hint(
            f"{idle:,} of the seats have no pages: all pages have the raters planned for them. --items adds pages."
        )
    if seats:
        hint(f"personafit label invite {study}")
    if pages:
        hint(
            f"Raters who had finished and have new pages go on at their link; label status {study} says who has open pages, "
            f"and label invite {study} --rater CODE prints a link again."
        )


def pause(
    study: Study,
    rater: Annotated[str | None, typer.Argument(metavar="[RATER]", help="Only this one.")] = None,
    reason: Annotated[str, typer.Option(help="Why; stands in the trail.")] = "",
    store: StoreOption = None,
) -> None:
    """Pause a study, or one of its raters: answers are kept, and none is taken.

    **Example**

        personafit label pause pilot
    """
    from personafit.labeling import steering

    with opened_studies(store) as studies:
        if rater is None:
            steering.set_state(studies, study, "paused")
        else:
            steering.pause(studies, steering.find_seat(studies, study, rater), reason)
    print(f"{rater or study} is paused.")


def resume(
    study: Study,
    rater: Annotated[str | None, typer.Argument(metavar="[RATER]", help="Only this one.")] = None,
    store: StoreOption = None,
) -> None:
    """Let a study, or a rater who was paused or excluded, go on with all there is.

    **Example**

        personafit label resume pilot r-1a2b3c4d
    """
    from personafit.labeling import steering

    with opened_studies(store) as studies:
        if rater is None:
            steering.set_state(studies, study, "open")
        else:
            steering.resume(studies, steering.find_seat(studies, study, rater))
    print(f"{rater or study} goes on.")


def close(study: Study, store: StoreOption = None) -> None:
    """Close a study; `label resume` opens it again.

    **Example**

        personafit label close pilot
    """
    from personafit.labeling import steering

    with opened_studies(store) as studies:
        steering.set_state(studies, study, "closed")
    print(f"{study} is closed.")


def warn(
    study: Study,
    rater: Rater,
    message: Annotated[str, typer.Argument(help="Shown on every page; empty takes it away.")],
    store: StoreOption = None,
) -> None:
    """Show a rater a message.

    **Example**

        personafit label warn pilot r-1a2b3c4d "Please take more time for each page."
    """
    from personafit.labeling import steering

    with opened_studies(store) as studies:
        steering.warn(studies, steering.find_seat(studies, study, rater), message)
    print(f"{rater} is shown the message." if message.strip() else f"{rater} is shown no message any more.")


def exclude(
    study: Study,
    rater: Rater,
    reason: Annotated[str, typer.Option(help="Why; stands in the trail.")],
    store: StoreOption = None,
) -> None:
    """Leave a rater's votes out of agreement, gold and exports; `label resume` takes them in again.

    **Example**

        personafit label exclude pilot r-1a2b3c4d --reason "three seconds a page"
    """
    from personafit.labeling import steering

    with opened_studies(store) as studies:
        steering.exclude(studies, steering.find_seat(studies, study, rater), reason)
    print(f"{rater} is excluded; nothing was deleted.")


def erase(
    study: Study,
    rater: Rater,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreOption = None,
) -> None:
    """Delete everything a participant answered, said and is; a line in the trail stays. It cannot be taken back.

    **Example**

        personafit label erase pilot r-1a2b3c4d
    """
    from personafit.labeling import steering
    from personafit.labeling.erasing import REMAIN, erase_rater

    with opened_studies(store) as studies:
        seat = steering.find_seat(studies, study, rater)
        if not yes and not typer.confirm(f"Delete everything of {rater} for good?"):
            raise UserError("Nothing was erased.")
        done = erase_rater(studies, seat)
    gone = ", ".join(f"{count:,} {what}" for what, count in done.counts.items() if count)
    print(f"{rater} is erased from {study}: {gone or 'there was nothing yet'}.")
    print("Exports and backups already made are outside its reach: delete those yourself.")
    if done.remains is not None:
        raise UserError(REMAIN.format(why=done.remains), code=1)


COMMANDS: dict[str, Callable[..., Any]] = {
    "extend": extend,
    "pause": pause,
    "resume": resume,
    "close": close,
    "warn": warn,
    "exclude": exclude,
    "erase": erase,
}
