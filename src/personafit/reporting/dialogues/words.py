"""What a reader should be told in words."""

from collections.abc import Sequence

from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.signatures import Signature
from personafit.reporting.dialogues.tables import short
from personafit.reporting.results import Result
from personafit.reporting.written import signed
from personafit.statistics.clusters import FEWEST_PEOPLE

VIEWS = {
    "given": "Judges of personalization saw what the assistant had been given (the fair view): not knowing the rest is no fault.",
    "full": "Judges of personalization saw everything about the person (the full view): a low mark may only mean that the assistant was not told.",
}


OVER_CONTROL = ("helps", "harms", "makes no difference that can be told from chance")
OVER_HISTORY = (
    "does better than the full history",
    "does worse than the full history, which is used",
    "does as well as the full history, as far as can be told",
)


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
    return [*sentences, *_guessing(asked), *_spoilt(asked), *view_sentences(run)]


def signature_sentence(one: Signature, several: bool) -> str:
    """A signature in a sentence of its own."""
    judge = f", judged by {short(one.rater)}" if several else ""
    return f"{short(one.system)} given {one.given}{judge}: {one.sentence}"


def _effects(results: Sequence[Result], several: bool) -> list[str]:
    said = []
    for row in results:
        if row.metric != "personalization_effect" or set(row.slice) != {"against"} or row.value is None:
            continue
        if row.low is None or row.high is None or row.given is None or row.given.startswith("wrong:"):
            continue
        change = (
            f"{signed(row.value, 2)} points of personalization over {row.slice['against']} "
            f"({signed(row.low, 2)} to {signed(row.high, 2)})"
        )
        change = change.replace("-", "−")
        against = row.slice["against"]
        worse_history = against != "none" and not against.startswith("wrong:")
        better, worse, same = OVER_HISTORY if worse_history else OVER_CONTROL
        verdict = better if row.low > 0 else worse if row.high < 0 else same
        if row.people < FEWEST_PEOPLE:
            verdict = f"was tried on {row.people} people, too few to claim anything"
        judge = f", says {short(row.rater)}" if several else ""
        said.append(f"{short(row.system)}: being given {row.given} {verdict}: {change}{judge}.")
    return said


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
