"""Further tables of a run of dialogues: by domain, by turn, over worse histories, the simulated user, endings, people."""

from personafit.reporting.dialogues.effects import history_curve
from personafit.reporting.dialogues.faults import FAULTS
from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.tables import (
    ResultIndex,
    counted_table,
    effect_table,
    find_result,
    number,
    quality_table,
    score_table,
)
from personafit.reporting.number_tables import NumberRow, NumberTable
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell


def domain_table(results: ResultIndex) -> NumberTable:
    """By domain, tasks of one domain; coverage also of several."""
    keys = dict.fromkeys(
        (r.system, r.given, r.slice["domain"])
        for r in results.rows
        if "domain" in r.slice and r.metric == "coverage"
    )
    raters = dict.fromkeys(
        (r.rater, r.view) for r in results.rows if r.rater and r.metric == "personalization"
    )
    metrics = [(m, rater, view) for rater, view in raters for m in ("completion", "personalization")]
    metrics = [one for one in metrics if one[0] == "personalization" or one[2] == next(iter(raters))[1]]
    rows = []
    for system, given, domain in sorted(keys, key=lambda key: [str(part) for part in key]):
        single, several = {"tasks": "SD", "domain": domain}, {"tasks": "MD", "domain": domain}
        cells = [
            number(find_result(results, m, system, given, rater, view, single)) for m, rater, view in metrics
        ]
        cells += [number(find_result(results, "coverage_before", system, given, None, None, single))]
        cells += [
            number(find_result(results, "coverage", system, given, None, None, where))
            for where in (single, several)
        ]
        rows.append(NumberRow([str(domain), results.called(system), str(given)], cells))
    headings = [f"{m} ({results.called(rater)}, {view})" for m, rater, view in metrics]
    return NumberTable(
        "By domain",
        ["domain", "assistant", "given"],
        [*headings, "coverage before SD", "coverage SD", "coverage MD"],
        rows,
        "Marks are of tasks of that one domain; in tasks of several, only coverage can be told apart by domain.",
    )


def turn_table(results: ResultIndex) -> NumberTable:
    """Personalization turn by turn."""
    marked = [r for r in results.rows if set(r.slice) == {"turn"}]
    turns = sorted({int(r.slice["turn"]) for r in marked})
    keys = dict.fromkeys((r.system, r.given, r.rater, r.view) for r in marked)
    rows = [
        NumberRow(
            [results.called(system), str(given), f"{results.called(rater)} ({view})"],
            [
                number(find_result(results, "personalization", system, given, rater, view, {"turn": str(n)}))
                for n in turns
            ],
        )
        for system, given, rater, view in keys
    ]
    return NumberTable(
        "Personalization by the assistant's turn",
        ["assistant", "given", "judge (view)"],
        [f"turn {n}" for n in turns],
        rows,
        "Later turns exist only in longer dialogues: a curve over turns is also one over dialogues.",
    )


def curve_table(results: ResultIndex) -> NumberTable:
    """Worse and worse histories."""
    rows = [
        NumberRow(
            [results.called(point.system), results.called(point.rater), f"{point.kind} {point.amount:g}"],
            [number(point.completion), number(point.personalization), number(point.coverage)],
        )
        for point in history_curve(results.rows)
    ]
    return NumberTable(
        "What the history is worth: scores as it gets worse",
        ["assistant", "judge", "history"],
        ["completion %", "personalization 1–4", "coverage before %"],
        rows,
        "0 is the full history; sparse drops that share of its sentences, noise adds other people's, contradict turns so many preferences.",
    )


def audit_table(results: ResultIndex) -> NumberTable:
    """What the simulated user did wrong, and the scores without it."""
    keys = dict.fromkeys((r.system, r.given) for r in results.rows if r.metric == "user_leaked")
    raters = dict.fromkeys((r.rater, r.view) for r in results.rows if r.slice == {"simulator": "unspoilt"})
    kinds = [*(f"user_{kind}" for kind in FAULTS), "user_helped", "user_hurt"]
    rows = []
    for system, given in keys:
        cells = [number(find_result(results, kind, system, given, None, None, {})) for kind in kinds]
        for rater, view in raters:
            for metric in ("completion", "personalization"):
                raw = number(find_result(results, metric, system, given, rater, view, {}))
                kept = number(
                    find_result(results, metric, system, given, rater, view, {"simulator": "unspoilt"})
                )
                cells.append(Cell(f"{raw.text or '–'} → {kept.text or '–'}"))
        rows.append(NumberRow([results.called(system), str(given)], cells))
    headings = [kind.removeprefix("user_") for kind in kinds]
    headings += [
        f"{m}, raw → unspoilt ({results.called(rater)})"
        for rater, _ in raters
        for m in ("completion", "personalization")
    ]
    note = "; ".join(f"{kind}: the user {text}" for kind, text in FAULTS.items())
    return NumberTable(
        "The simulated user, % of dialogues", ["assistant", "given"], headings, rows, f"{note}."
    )


def stop_table(results: ResultIndex) -> NumberTable:
    """How dialogues ended."""
    stops = sorted({r.slice["stop"] for r in results.rows if r.metric == "stopped"})
    keys = dict.fromkeys((r.system, r.given) for r in results.rows if r.metric == "stopped")
    rows = [
        NumberRow(
            [results.called(system), str(given)],
            [
                number(find_result(results, "stopped", system, given, None, None, {"stop": stop}))
                for stop in stops
            ],
        )
        for system, given in keys
    ]
    return NumberTable("How dialogues ended, % of those planned", ["assistant", "given"], stops, rows)


def kappa_table(results: ResultIndex) -> NumberTable:
    """Judges against people, where people voted."""
    keys = dict.fromkeys((r.rater, r.view, r.slice["question"]) for r in results.rows if r.metric == "kappa")
    rows = []
    for rater, view, question in keys:
        pair = [
            next(
                (
                    r
                    for r in results.rows
                    if r.metric == m and (r.rater, r.view, r.slice.get("question")) == (rater, view, question)
                ),
                None,
            )
            for m in ("kappa", "kappa_linear")
        ]
        count = str(pair[0].n) if pair[0] else ""
        rows.append(
            NumberRow(
                [f"{results.called(rater)} ({view})", question], [*(number(one) for one in pair), Cell(count)]
            )
        )
    return NumberTable(
        "Judges against people", ["judge", "question"], ["kappa", "linear kappa", "dialogues"], rows
    )


def all_tables(run: DialogueRun, rows: list[Result]) -> list[NumberTable]:
    """Every table there is something to show in."""
    results = ResultIndex(rows)
    made = [
        score_table(run, results),
        quality_table(results),
        effect_table(results),
        counted_table(results),
        domain_table(results),
        turn_table(results),
        curve_table(results),
        audit_table(results),
        stop_table(results),
        kappa_table(results),
    ]
    return [table for table in made if table.rows]
