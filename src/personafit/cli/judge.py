"""`personafit bias`, `correct` and `calibration`: how far the judges of a run can be trusted."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from personafit._errors import UserError
from personafit.cli.common import (
    console,
    hint,
    judged_run,
    open_choices,
    print_json,
    store_url,
)
from personafit.cli.options import JsonOption, MarginOption, RunArgument, StoreOption
from personafit.reporting import Result
from personafit.reporting.bias import Effect, RaterBias, bias_legend, bias_results, judge_bias, shown_odds
from personafit.reporting.claims import FEATURES
from personafit.reporting.correction import (
    Correction,
    HumanLabels,
    correct_lines,
    correction_results,
    read_labels,
)
from personafit.reporting.correction import (
    correct as correct_run,
)
from personafit.reporting.graded import KEPT, graded_results, line_margins, rater_margins
from personafit.reporting.line_bias import LineEffect, line_bias, line_bias_legend, line_bias_results
from personafit.reporting.lines import run_lines
from personafit.reporting.result import marked_met
from personafit.reporting.tables import TIERS
from personafit.reporting.unit_labels import UnitLabels, read_unit_labels
from personafit.statistics import Estimate
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store

HOW_BIAS = (
    "intervals cluster by person and, where prompts recur, by prompt. A steadier judge has larger odds ratios with the same "
    "tastes, so people's are put on its scale by the other features before they are compared."
)


def bias(
    run: RunArgument, store: StoreOption = None, margin: MarginOption = None, json: JsonOption = False
) -> None:
    """Say what pulls at each judge besides the person: position, length, mention, own family; and at people.

    Of relevance it says whether raters pick more than people, hedged attributes, or those on long lists.

    **Example**

        personafit bias last
    """
    within = MARGIN if margin is None else margin
    with Store(store_url(store)) as opened:
        record = judged_run(opened, run)
        scores = open_choices(opened, record)
        if scores is None:
            _print_line_bias(line_bias(run_lines(opened, record), within), json, opened, record)
            return
        found = judge_bias(opened, scores, within)
    if json:
        print_json(scores.info["name"], list(bias_results(found)))
        return
    console().print(_bias_table(found))
    for rater in found:
        if rater.met_people:
            print(rater.met_people)
            continue
        for effect in rater.effects:
            print(f"{rater.rater['name']}: {effect.words}.")
    if found:
        people_are = found[0].people_are
        print(f"{people_are[0].upper()}{people_are[1:]}; {HOW_BIAS}")
    for legend in bias_legend(found):
        print(legend)


def _print_line_bias(found: Sequence[LineEffect], json: bool, store: Store, run: RunRecord) -> None:
    if json:
        print_json(store.dataset_info(run.dataset)["name"], list(line_bias_results(found)))
        return
    table = Table(title="What pulls at the raters, on the scale of their answers", title_justify="left")
    for heading, width in (("rater", 12), ("effect", 8)):
        table.add_column(heading, overflow="fold", min_width=width)
    for heading in ("rater's", "people's", "rater's over people's"):
        table.add_column(heading, justify="right")
    for one in found:
        times = one.unit.scale
        cells = (_cell(estimate, times) for estimate in (one.judge, one.people, one.difference))
        table.add_row(Text(str(one.line.rater)), one.name, *cells)
    console().print(table)
    for one in found:
        if one.tested is not None:
            print(one.sentence())
    for sentence in [*run.met_people.values(), *line_bias_legend(found)]:
        print(sentence)


def correct(
    run: RunArgument,
    human: Annotated[
        Path | None,
        typer.Option(
            help='JSONL of people\'s labels: {"item", "label"}, or the votes.jsonl of a study; default what people said of these '
            "items in the store, which runs of choices do not have apart from gold."
        ),
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Correct what a machine says of a run by what people say of a random part of its items.

    A win rate or an accuracy of choices, the share that raters call relevant, marks of preferences or of dialogues.

    **Examples**

        personafit correct last --human labels.jsonl

        personafit correct last
    """
    with Store(store_url(store)) as opened:
        record = judged_run(opened, run)
        scores = open_choices(opened, record)
        benchmark = opened.dataset_info(record.dataset)["name"]
        if scores is not None:
            if human is None:
                raise UserError(
                    f"{record.name} is a run of choices: its scores are by gold already, so people's labels must be given with "
                    "--human FILE."
                )
            labels = read_labels(human, opened, scores)
            found = correct_run(scores, labels)
            _say_left_out(human, labels)
        else:
            lines = run_lines(opened, record)
            said = None if human is None or not lines.references else read_unit_labels(human, lines)
            found = correct_lines(lines, said)
            if human is not None and said is not None:
                _say_left_out(human, said)
    if json:
        print_json(benchmark, list(correction_results(found)))
        return
    for metric in dict.fromkeys(row.metric for row in found):
        console().print(_correction_table([row for row in found if row.metric == metric]))
    for row in found:
        if not row.slice:
            print(_worth_in_words(row))


def calibration(run: RunArgument, store: StoreOption = None, json: JsonOption = False) -> None:
    """Say whether a judge's confidence means what it says, against gold and against votes.

    For choices, and where raters say with a probability what is relevant; marks are no confidence.

    **Example**

        personafit calibration last
    """
    with Store(store_url(store)) as opened:
        record = judged_run(opened, run)
        scores = open_choices(opened, record)
        raters = (
            line_margins(opened, run_lines(opened, record))
            if scores is None
            else rater_margins(opened, scores)
        )
        benchmark = opened.dataset_info(record.dataset)["name"]
    results = {rater.rater["fingerprint"]: marked_met(record, graded_results(rater)) for rater in raters}
    if json:
        print_json(benchmark, [result for rows in results.values() for result in rows])
        return
    console().print(_calibration_table(results.values()))
    for rows in results.values():
        if bins := [row for row in rows if row.metric == "reliability"]:
            console().print(_reliability_table(bins))
        if votes := [
            row for row in rows if row.metric.startswith(("share_", "brier_")) and row.value is not None
        ]:
            console().print(_votes_table(votes))
    for rows in results.values():
        for note in dict.fromkeys(row.note for row in rows if row.value is None and row.note):
            print(f"{rows[0].rater}: {note}.")
    for sentence in record.met_people.values():
        print(sentence)


def _bias_table(found: Sequence[RaterBias]) -> Table:
    table = Table(
        title="What pulls at the judges: odds ratios, judge / people / judge over people as steady as it; 1 is none",
        title_justify="left",
    )
    table.add_column("rater", overflow="fold", min_width=10)
    table.add_column("shown first\nin % of choices", justify="right", overflow="fold")
    for name in FEATURES:
        table.add_column(f"{name}\n{_UNITS[name]}", justify="right", overflow="fold")
    for row in found:
        cells = [_odds_cell(effect) for effect in row.effects]
        table.add_row(Text(row.rater["name"]), _cell(row.first_share, 100), *cells)
    return table


_UNITS = {
    "position": "shown first",
    "length": "per SD of log length",
    "mention": "per SD of overlap",
    "naming": "named or not",
    "family": "own or not",
}


def _odds_cell(effect: Effect) -> str:
    shown = [shown_odds(part) for part in (effect.judge, effect.people, effect.difference)]
    if not any(text for text, _ in shown):
        return "–"
    return "\n".join(f"{text or '–'} [dim]({ends})[/dim]" if ends else text or "–" for text, ends in shown)


def _correction_table(found: Sequence[Correction]) -> Table:
    metric, share = found[0].metric, found[0].bounds == (0.0, 1.0)
    scale = "in %" if share else f"({found[0].bounds[0]:g} to {found[0].bounds[1]:g})"
    table = Table(title=f"{metric} {scale}, corrected by human labels", title_justify="left")
    for heading, width in (("rater", 12), ("slice", 8)):
        table.add_column(heading, overflow="fold", min_width=width)
    cheap = "against gold" if metric == "accuracy" else "judge alone"
    for heading in ("corrected", "human alone", cheap, "human labels", "worth"):
        table.add_column(heading, justify="right")
    for row in found:
        name = f"{row.rater['name']} on {row.system} ({row.given})" if row.system else row.rater["name"]
        estimates = (row.found.corrected, row.found.human, row.found.machine)
        most = "≤ " if row.worth.value is not None and row.worth.note else ""
        worth = "–" if row.worth.value is None else f"{most}{row.worth.value:.0f}"
        table.add_row(
            Text(name),
            Text(" ".join(row.slice.values()) or "all"),
            *(_cell(estimate, 100 if share else 1) for estimate in estimates),
            str(row.found.human.n),
            worth,
        )
    return table


def _worth_in_words(row: Correction) -> str:
    name = f"{row.rater['name']} on {row.system}" if row.system else row.rater["name"]
    corrected = row.found.corrected
    if row.bounds != (0.0, 1.0) or row.metric not in ("accuracy", "win_rate"):
        name = f"{name}, {row.metric}"
    if corrected.value is None:
        return f"{name}: {corrected.note}."
    if row.worth.value is None:
        shown = f"{100 * corrected.value:.1f} %" if row.bounds == (0.0, 1.0) else f"{corrected.value:.2f}"
        return f"{name}: {shown} after correction; {row.worth.note}."
    labels = row.found.human.n
    most = "at most " if row.worth.note else ""
    said = f"{name}: {labels} human labels are worth {most}{row.worth.value:.0f} with the machine's help"
    if row.worth.value <= labels:
        said = f"{name}: {labels} human labels gain nothing from the machine here"
    return f"{said}; {corrected.note}." if corrected.note else f"{said}."


def _say_left_out(path: Path, labels: HumanLabels | UnitLabels) -> None:
    if labels.elsewhere:
        hint(f"{path}: lines left out because this run does not have their item: {labels.elsewhere}.")
    if labels.unanswered:
        hint(f"{path}: lines left out because they do not answer this run's question: {labels.unanswered}.")
    if isinstance(labels, HumanLabels) and labels.numbered:
        hint(
            f"{path}: {labels.numbered} labels are numbers, which count an item's answers from 0 in the order the store keeps "
            "(a data folder's own; hidden for answers): names (answer, generic, wrong, or a text's id) say which is meant."
        )


def _calibration_table(groups: Iterable[list[Result]]) -> Table:
    title = "Confidence against gold, 95 % interval below; mean error is over all shares kept"
    table = Table(title=title, title_justify="left")
    table.add_column("rater", overflow="fold", min_width=12)
    table.add_column("tier", overflow="fold", min_width=4)
    kept = [f"{share:.0%}" for share in KEPT]
    headings = [
        "items",
        "ECE",
        "over-\nconfidence\nin points",
        *(f"accuracy\nin %\nkeeping\n{share}" for share in kept),
    ]
    for heading in [*headings, "mean\nerror"]:
        table.add_column(heading, justify="right", overflow="fold")
    for rows in groups:
        for tier in _tiers(row for row in rows if row.metric == "ece"):
            here = {
                (row.metric, row.slice.get("kept")): row
                for row in rows
                if row.slice.get("tier") == tier and "bin" not in row.slice
            }
            table.add_row(
                Text(str(rows[0].rater)),
                Text(tier or "all"),
                str(here["selective_accuracy", kept[0]].n if ("selective_accuracy", kept[0]) in here else 0),
                _stacked(here.get(("ece", None))),
                _stacked(here.get(("overconfidence", None)), 100),
                *(_stacked(here.get(("selective_accuracy", share)), 100) for share in kept),
                _stacked(here.get(("risk_area", None))),
            )
    return table


def _tiers(rows: Iterable[Result]) -> list[str | None]:
    """The tiers of some records: all items, then easy to hard, then any others as they come."""
    found = dict.fromkeys(row.slice.get("tier") for row in rows)
    usual: tuple[str | None, ...] = (None, *TIERS)
    return sorted(found, key=lambda tier: usual.index(tier) if tier in usual else len(usual))


def _reliability_table(bins: Sequence[Result]) -> Table:
    table = Table(title=Text(f"{bins[0].rater}: says, and is right, in %"), title_justify="left")
    for heading in ("confidence", "right", "items"):
        table.add_column(heading, justify="right")
    for row in bins:
        table.add_row(f"{100 * float(row.slice['confidence']):.1f}", _cell_of(row, 100), str(row.n))
    return table


def _votes_table(votes: Sequence[Result]) -> Table:
    table = Table(title=Text(f"{votes[0].rater}: margins against the votes"), title_justify="left")
    names = list(dict.fromkeys(row.metric for row in votes))
    table.add_column("tier", overflow="fold", min_width=4)
    for name in names:
        table.add_column(name.replace("_", "\n"), justify="right", overflow="fold")
    for tier in _tiers(votes):
        here = {row.metric: row for row in votes if row.slice.get("tier") == tier}
        table.add_row(Text(tier or "all"), *(_cell_of(here.get(name)) for name in names))
    return table


def _cell_of(result: Result | None, times: float = 1) -> str:
    if result is None:
        return "–"
    return _cell(Estimate(result.value, result.low, result.high, result.n, result.people), times)


def _stacked(result: Result | None, times: float = 1) -> str:
    """A cell with its interval on a line of its own, for tables of many columns."""
    if result is None or result.value is None or result.low is None or result.high is None:
        return _cell_of(result, times)
    ends = f"{_number(result.low, times)}–{_number(result.high, times)}"
    return f"{_number(result.value, times)}\n[dim]{ends}[/dim]"


def _cell(estimate: Estimate, times: float = 1) -> str:
    if estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return _number(estimate.value, times)
    return f"{_number(estimate.value, times)} [dim]({_number(estimate.low, times)}–{_number(estimate.high, times)})[/dim]"


def _number(value: float, times: float) -> str:
    if times != 1:
        return f"{times * value:.1f}"
    return f"{value:.2f}"
