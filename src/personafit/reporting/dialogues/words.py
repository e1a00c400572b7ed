"""What a reader should be told in words."""

from collections.abc import Sequence

from personafit.reporting.claims import context_effect, legend_for
from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.results import BOUNDS, SCORE_RANK
from personafit.reporting.dialogues.signatures import Signature
from personafit.reporting.dialogues.tables import short
from personafit.reporting.results import Result
from personafit.statistics.decisions import MARGIN, Hypothesis, decide_together

VIEWS = {
    "given": "Judges of personalization saw what the assistant had been given (the fair view): not knowing the rest is no fault.",
    "full": "Judges of personalization saw everything about the person (the full view): a low mark may only mean that the assistant was not told.",
}


def view_sentences(run: DialogueRun) -> list[str]:
    """Which view the judges had."""
    return [VIEWS[view] for view in run.views]


def explain_dialogues(
    run: DialogueRun, results: Sequence[Result], signatures: Sequence[Signature]
) -> list[str]:
    """Scores in sentences: what contexts did, what failed, what the simulated user spoilt."""
    first = [row for row in results if row.view in (None, run.views[0])]
    asked = [row for row in first if row.control in (None, "no context")]
    several = len(run.raters) > 1
    sentences = _effects(asked, several)
    sentences += [signature_sentence(one, several) for one in signatures]
    return [
        *sentences,
        *_ranks(asked),
        *_guessing(asked),
        *_spoilt(asked),
        *(view_sentences(run) if run.raters else ()),
    ]


def signature_sentence(one: Signature, several: bool) -> str:
    """A signature in a sentence of its own."""
    judge = f", judged by {short(one.rater)}" if several else ""
    return f"{short(one.system)} given {one.given}{judge}: {one.sentence}"


def _effects(results: Sequence[Result], several: bool) -> list[str]:
    """What each context does to personalization, tested together."""
    rows = [
        row
        for row in results
        if row.metric == "personalization_effect"
        and set(row.slice) == {"against"}
        and row.value is not None
        and row.given is not None
        and not row.given.startswith("wrong:")
    ]
    low, high = BOUNDS["personalization"]
    findings = decide_together([Hypothesis(row, margin=MARGIN * (high - low)) for row in rows])
    said = [
        context_effect(
            short(row.system),
            str(row.given),
            row.slice["against"],
            finding,
            f", judged by {short(row.rater)}" if several else "",
        )
        for row, finding in zip(rows, findings, strict=True)
    ]
    return [*said, *legend_for(findings)]


def _ranks(results: Sequence[Result]) -> list[str]:
    """Where raters that score put an assistant among all that talked about the same task."""
    return [
        f"{short(row.rater)} puts {short(row.system)} given {row.given} above {100 * row.value:.0f} % of the other dialogues on the "
        "same task (by rank: a score is no mark)."
        for row in results
        if row.metric == SCORE_RANK and not row.slice and row.value is not None
    ]


def _guessing(results: Sequence[Result]) -> list[str]:
    """Coverage no better than guessing what most people like."""
    totals = {(r.system, r.given, r.metric): r for r in results if not r.slice}
    said = []
    for (system, given, metric), row in totals.items():
        guess = totals.get((system, given, "majority_coverage"))
        if (
            metric != "coverage_before"
            or row.value is None
            or guess is None
            or guess.value is None
            or row.control
        ):
            continue
        if row.value <= guess.value:
            said.append(
                f"{short(system)} given {given} brings in {100 * row.value:.0f} % of the preferences by itself; always naming what most other "
                f"people prefer would hit {100 * guess.value:.0f} %."
            )
    return said


def _spoilt(results: Sequence[Result]) -> list[str]:
    said = []
    raw = {(r.rater, r.system, r.given, r.view, r.metric): r for r in results if not r.slice}
    for row in results:
        if row.slice != {"simulator": "unspoilt"} or row.metric != "personalization" or row.value is None:
            continue
        base = raw.get((row.rater, row.system, row.given, row.view, row.metric))
        if base is None or base.value is None or abs(base.value - row.value) < 0.05 or row.control:
            continue
        said.append(
            f"{short(row.system)} given {row.given}: without the dialogues its simulated user spoilt, personalization is {row.value:.2f} and not {base.value:.2f} "
            f"({row.note.rpartition('; ')[2] if row.note else ''})."
        )
    return said
