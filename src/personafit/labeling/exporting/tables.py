"""Votes as tables, one row a judgment and one row an item; as a dataset folder with a card; and a checksum for every file."""

from hashlib import sha256
from pathlib import Path
from typing import Literal

import orjson
import polars as pl

from personafit.labeling.agreement import Figures
from personafit.labeling.exporting.reading import StudyExport
from personafit.statistics import Estimate
from personafit.store.export import without_formulas

CHECKSUMS = "SHA256SUMS"
Kind = Literal["jsonl", "csv", "parquet"]
FIGURES = {
    "percent": "percent agreement",
    "fleiss": "Fleiss' kappa",
    "nominal": "Krippendorff's alpha, nominal",
    "ordinal": "Krippendorff's alpha, ordinal",
}
COLUMNS = """| column | meaning |
|---|---|
| item, question, target | what the vote is about |
| rater | pseudonym, of this study alone |
| kind | human, or simulated |
| label, value | the answer; for choices the index of the answer as stored, whatever order it was shown in |
| status, why | ok, or skipped with the reason (the rater could not tell) |
| text, note | what the rater wrote |
| order | order in which the answers were shown: 10 shows the second first |
| seconds | how long the page was before the rater |
| at, client_time | when it was stored, by the server's and the browser's clock, seconds since 1970 |
| perspective | third-party, or self where raters judge what was made for them |
| generation | 0, and one more for each correction; only the last is here |
| page, role, person | the page it was asked on, and whom it is about |
| weight | of items drawn by --stratify: how many items of its stratum the item stands for |"""


def write_tables(exported: StudyExport, folder: Path, kind: Kind) -> None:
    """Votes and what they come to; flags, notes and chats where there are any."""
    write_table(exported.votes, folder / f"votes.{kind}", kind)
    write_table(exported.aggregate, folder / f"aggregate.{kind}", kind)
    if not exported.remarks.is_empty():
        write_table(exported.remarks, folder / f"remarks.{kind}", kind)
    if not exported.chats.is_empty():
        write_table(exported.chats, folder / f"chats.{kind}", kind)


def write_table(frame: pl.DataFrame, path: Path, kind: Kind) -> None:
    """One table in one file."""
    if kind == "parquet":
        frame.write_parquet(path)
    elif kind == "csv":
        without_formulas(frame).write_csv(path)
    else:
        frame.write_ndjson(path)


def write_checksums(folder: Path) -> None:
    """The hash of every file, as `sha256sum --check` reads them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}" for path in files]
    (folder / CHECKSUMS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_dataset(exported: StudyExport, folder: Path) -> None:
    """The folder."""
    write_tables(exported, folder, "jsonl")
    with (folder / "pages.jsonl").open("wb") as file:
        for page in exported.pages:
            content = exported.shown[page.id]
            shown = {"page": page.id, "person": page.person, "items": page.items, "content": content}
            file.write(orjson.dumps(shown) + b"\n")
    (folder / "card.md").write_text(card(exported), encoding="utf-8")


def card(exported: StudyExport) -> str:
    """What a reader of the data has to know."""
    study, votes = exported.study, exported.votes
    config, raters = study.config, votes.select("rater", "kind").unique()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(_counted(list(raters["kind"])).items()))
    simulated = "simulated" in set(raters["kind"])
    lines = [
        f"# {config.title or study.name}",
        "",
        f"Votes of the study `{study.name}` on {config.source} (data set `{study.dataset}`), form `{study.form}`.",
        "",
        f"- {len(exported.pages):,} pages, {votes['item'].n_unique():,} items with votes, {votes.height:,} votes",
        f"- raters: {kinds or 'none'}; {config.overlap} planned per page; {exported.excluded} excluded and left out",
        f"- perspective: {', '.join(sorted(set(votes['perspective']))) or config.perspective}; "
        f"raters were shown of the person: {config.view}",
        "- answers and pages were put in an order drawn from page, rater and seed "
        f"({config.seed}); the order shown stands with each vote",
        f"- decided by the researcher: {exported.decisions.height:,}",
    ]
    if simulated:
        lines.append("- **some or all raters are simulated: their votes are not votes of people**")
    lines += ["", "## Agreement", "", *_agreement(exported.agreement)]
    lines += ["", "## Guidelines", "", *(f"> {line}".rstrip() for line in exported.guidelines.splitlines())]
    lines += ["", "## Files", ""]
    lines += [
        "`votes.jsonl` holds one vote a line, `aggregate.jsonl` what they come to, `pages.jsonl` the texts as stored, "
        "`remarks.jsonl` flags and notes, `chats.jsonl` conversations, where there are any; `SHA256SUMS` checks them.",
        "",
        COLUMNS,
        "",
        "There are no names or addresses in the data. What raters wrote themselves is as they wrote it: read it before you "
        "pass it on.",
    ]
    return "\n".join(lines) + "\n"


def _agreement(found: list[Figures]) -> list[str]:
    if not found:
        return ["No two raters have answered the same item."]
    lines = [
        "| question | raters | items shared | figure | value | 95 % interval over people |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        for name, estimate in one.figures.items():
            value, interval = _shown(estimate)
            lines.append(
                f"| {one.question} | {one.raters} | {one.units} | {FIGURES[name]} | {value} | {interval} |"
            )
    return lines


def _shown(estimate: Estimate) -> tuple[str, str]:
    value = "–" if estimate.value is None else f"{estimate.value:.3f}"
    if estimate.low is None or estimate.high is None:
        return value, estimate.note or "–"
    return value, f"{estimate.low:.3f} to {estimate.high:.3f}"


def _counted(values: list[str]) -> dict[str, int]:
    return {value: values.count(value) for value in set(values)}
