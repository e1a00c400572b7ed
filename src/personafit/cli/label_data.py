"""The parts of `personafit label` that take a study's votes in and out, and decide what raters disagree about."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from personafit._errors import UserError
from personafit.cli.common import console, hint, print_object
from personafit.cli.label_common import Study, counted, opened_studies, plain
from personafit.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from personafit.labeling.adjudicating import Dispute
    from personafit.labeling.studies import Studies


def import_(
    study: Study,
    votes: Annotated[Path, typer.Argument(metavar="VOTES", help="A .jsonl or .csv file.")],
    simulated: Annotated[
        bool, typer.Option("--simulated", help="The votes are not people's, and everything says so.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Take votes made elsewhere into a study: item, rater, label, and question, target, perspective where they are needed.

    Raters get pseudonyms. Nothing is written unless every line fits; the same file again changes nothing.

    **Example**

        personafit label import pilot votes.csv
    """
    from personafit.labeling.importing import import_votes

    with opened_studies(store) as studies:
        done = import_votes(studies, study, votes, simulated)
    again = f"; {done.known:,} were there already" if done.known else ""
    taken, raters = counted(done.votes, "vote", "votes"), counted(done.raters, "rater", "raters")
    print(f"{taken} of {raters} taken into {study}{again}.")


def adjudicate(
    study: Study,
    decide: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM=ANSWER", help="Decide an item; nothing after the = takes a decision back."
        ),
    ] = None,
    question: Annotated[str, typer.Option(help="Which question, where a study asks several.")] = "",
    target: Annotated[str, typer.Option(help="Which part of the item, where it has several.")] = "",
    reason: Annotated[str, typer.Option(help="Why; stands with the decision.")] = "",
    decisions: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Decide by a file: item, label, question, target, reason."),
    ] = None,
    json: JsonOption = False,
    store: StoreOption = None,
) -> None:
    """List what raters disagree about, the least agreed first, or decide it; the researcher's pages do both too.

    Answers are labels as votes hold them. Nothing is stored unless every decision fits.

    **Examples**

        personafit label adjudicate pilot

        personafit label adjudicate pilot --decide starter/marlene/backups=1 --reason "the other one only mentions her job"

        personafit label adjudicate pilot --decisions decisions.csv
    """
    from personafit.labeling.adjudicating import disputes

    with opened_studies(store) as studies:
        if decide or decisions is not None:
            stored = _decide(studies, study, decide or [], decisions, question, target, reason)
            if not json:
                print(f"{counted(stored, 'decision', 'decisions')} stored.")
        found = disputes(studies, study)
    if json:
        rows = [
            {
                "item": one.field.item,
                "question": one.field.question,
                "target": one.field.target,
                "counts": one.counts,
                "share": one.share,
                "decided": one.decided,
                "reason": one.why,
            }
            for one in found
        ]
        print_object({"study": study, "disputes": rows})
    elif not found:
        print(f"The raters of {study} disagree about nothing.")
    else:
        _print_disputes(study, found)


def _decide(
    studies: "Studies",
    study: str,
    decide: list[str],
    decisions: Path | None,
    question: str,
    target: str,
    reason: str,
) -> int:
    from personafit.labeling.adjudicating import Adjudication, decide_all, read_decisions

    wanted = []
    for given in decide:
        item, sign, label = given.rpartition("=")
        if not sign or not item:
            raise UserError(f"--decide {given}: write ITEM=ANSWER, such as starter/marlene/backups=1.")
        wanted.append(Adjudication(item, question, target, label or None, reason, f"--decide {given}"))
    if decisions is not None:
        wanted += read_decisions(decisions)
    return decide_all(studies, study, wanted)


def _print_disputes(study: str, found: "list[Dispute]") -> None:
    from rich.table import Table

    table = Table(title=f"{study}: what raters disagree about", title_justify="left")
    for heading in ("item", "question", "target", "votes", "largest share", "decided"):
        table.add_column(heading, overflow="fold")
    for one in found:
        counts = ", ".join(f"{label} × {count}" for label, count in one.counts.items())
        table.add_row(
            plain(one.field.item),
            plain(one.field.question),
            plain(one.field.target),
            plain(counts),
            f"{one.share:.2f}",
            plain(one.decided or ""),
        )
    console().print(table)
    left = sum(one.decided is None for one in found)
    if left:
        hint(
            f"{left} of {len(found)} to be decided: label adjudicate {study} --decide ITEM=ANSWER, or in the browser: label serve."
        )


def export(
    study: Study,
    out: Annotated[Path | None, typer.Option(help="Folder to write, new or empty.")] = None,
    format: Annotated[
        str | None,
        typer.Option(help="jsonl, csv, parquet, folder (default), label-studio or argilla; of --out."),
    ] = None,
    benchmark: Annotated[
        Path | None, typer.Option(help="Write a benchmark folder with gold and tiers from the votes.")
    ] = None,
    store: StoreOption = None,
) -> None:
    """Write a study's votes without names or addresses; excluded raters are left out, corrections count once.

    **Examples**

        personafit label export pilot --out pilot-votes --format folder

        personafit label export pilot --benchmark my-benchmark/
    """
    if out is None and benchmark is None:
        raise UserError("Say where to: --out DIR for the votes, --benchmark DIR for a benchmark.")
    if out is None and format is not None:
        raise UserError(
            f"--format {format} says how votes are written to --out; a benchmark folder has one form, so leave it out."
        )
    from personafit.labeling.exporting import export_study

    with opened_studies(store) as studies:
        if out is not None:
            done = export_study(studies, study, out, format or "folder")
            votes = counted(done.votes.height, "vote", "votes")
            raters = counted(done.votes["rater"].n_unique(), "rater", "raters")
            print(f"{votes} of {raters} written to {out} ({format or 'folder'}).")
        if benchmark is not None:
            from personafit.labeling.gold import write_benchmark

            gold = write_benchmark(studies.store, study, benchmark)
            tiers = ", ".join(f"{count:,} {tier}" for tier, count in sorted(gold.sizes.items()))
            items = counted(len({row.item for row in gold.rows}), "item", "items")
            print(f"Gold for {items} written to {benchmark}.")
            if tiers:
                print(f"Tiers: {tiers}.")
            for sentence in gold.tiers.warnings if gold.tiers else ():
                hint(sentence)
            if gold.undecided:
                hint(
                    f"{counted(len(gold.undecided), 'item has', 'items have')} no majority and no decision, and so no gold: label adjudicate."
                )
