"""What `train verifier` writes: the verifier's file, the figures as JSON, and a card for people."""

from collections.abc import Sequence
from pathlib import Path

from personafit.raters.fitted.file import save_fitted
from personafit.raters.fitted.verifier import Verifier
from personafit.statistics import Estimate
from personafit.training.cards import show_estimate, write_card
from personafit.training.matcher_quality import MatcherMetric
from personafit.training.verifier_quality import ALONE, ALWAYS, BY_PERSON, COSINE, METRICS, REJECTED, RULE

_ROWS = {
    (BY_PERSON, None): "verifier, anything from unsure on",
    (REJECTED, None): "verifier, rejected only",
    (BY_PERSON, ALWAYS): "flag everything",
    (BY_PERSON, RULE): "rule",
    (BY_PERSON, COSINE): "closest sentence (cosine)",
    (BY_PERSON, ALONE): "statement alone",
}
Key = tuple[str, str | None, str]


def write_verifier(folder: Path, verifier: Verifier, figures: Sequence[MatcherMetric]) -> None:
    """Write fitted.json, quality.json and card.md."""
    save_fitted(verifier, folder)
    write_card(folder, figures, card(verifier, figures))


def card(verifier: Verifier, figures: Sequence[MatcherMetric]) -> str:
    """What the verifier is, how it was fitted and what it is worth."""
    facts = verifier.card
    found = {(figure.split, figure.control, figure.metric): figure.estimate for figure in figures}
    lines = [
        "# A fitted verifier",
        "",
        f"Fitted on {facts['statements']:,} labelled statements about {facts['people']:,} people from {facts['source']}: "
        f"{facts['accepted']:,} accepted, {facts['unsure']:,} unsure, {facts['rejected']:,} rejected. It sees the statement and the "
        "whole conversation, not the evidence an extractor names.",
        "",
        f"A statement is unsure from a probability of {verifier.suspect:.3f} on, rejected from {verifier.reject:.3f} on. "
        f"Fingerprint `{verifier.fingerprint}`.",
        "",
        "Every person left out in turn, thresholds and penalty chosen on the others. What is looked for is a statement that people "
        "did not accept; 95 % intervals are clustered by person.",
        "",
        *_table(found, _ROWS, (*METRICS, "auc")),
        "",
        *_gains(found),
        "",
        "## By failure",
        "",
        "| | n | flagged | rejected |",
        "|---|---|---|---|",
    ]
    for split, control, metric in found:
        if metric == "flagged" and control is None:
            one = found[split, None, "flagged"]
            lines.append(
                f"| {split} | {one.n:,} | {show_estimate(one)} | {show_estimate(found[split, None, REJECTED])} |"
            )
    mode, commonest = (found[BY_PERSON, name, "mode_accuracy"] for name in (None, "commonest-mode"))
    lines += [
        "",
        f"The failure mode it names is the labelled one for {show_estimate(mode)}; always naming the commonest: "
        f"{show_estimate(commonest)}.",
    ]
    models = {key[:2]: key[1] or "" for key in found if key[0].startswith("the ") and key[2] == "f2"}
    if models:
        lines += [
            "",
            "## Prompted models",
            "",
            f"On {next(iter(models))[0]}; what was not answered lowers coverage.",
            "",
        ]
        lines += _table(found, models, (*METRICS, "coverage"))
    return "\n".join(lines) + "\n"


def _gains(found: dict[Key, Estimate]) -> list[str]:
    return [
        f"F2 gained over {_ROWS[BY_PERSON, control]}, paired: {show_estimate(found[BY_PERSON, control, 'f2_gain'], '+.3f')}."
        for control in (ALWAYS, RULE, COSINE, ALONE)
    ]


def _table(
    found: dict[Key, Estimate], rows: dict[tuple[str, str | None], str], metrics: Sequence[str]
) -> list[str]:
    lines = [
        f"| | {' | '.join(name.replace('_', ' ') for name in metrics)} |",
        "|---" * (len(metrics) + 1) + "|",
    ]
    for (split, control), name in rows.items():
        cells = [
            show_estimate(found[split, control, metric]) if (split, control, metric) in found else ""
            for metric in metrics
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines
