"""What `train matcher` writes: the matcher's two files, the figures as JSON, and a card for people."""

from collections.abc import Sequence
from pathlib import Path

from personafit.raters.fitted.file import save_fitted
from personafit.raters.fitted.matcher import Matcher
from personafit.statistics import Estimate
from personafit.training.cards import show_estimate, write_card
from personafit.training.matcher_quality import BY_BOTH, BY_PROMPT, METRICS, MatcherMetric

_ROWS = {
    None: "matcher",
    "attribute-alone": "attribute alone",
    "tf-idf": "words counted (tf-idf)",
    "embedding": "cosine of embeddings",
    "always-yes": "always yes",
}


def write_matcher(folder: Path, matcher: Matcher, figures: Sequence[MatcherMetric], source: str) -> None:
    """Write fitted.json, fitted.npz, quality.json and card.md."""
    save_fitted(matcher, folder)
    write_card(folder, figures, card(matcher, figures, source))


def card(matcher: Matcher, figures: Sequence[MatcherMetric], source: str) -> str:
    """What the matcher is, how it was fitted and what it is worth."""
    facts = matcher.card
    found = {
        (figure.split, figure.control, figure.metric): figure.estimate
        for figure in figures
        if figure.repeat is None
    }
    lines = [
        "# A fitted matcher",
        "",
        f"Fitted on {facts['pairs']:,} pairs of a prompt and an attribute from {source}, {facts['relevant']:,} of them "
        f"labelled relevant: {facts['prompts']:,} prompts, {facts['people']:,} people. It sees the prompt and "
        "the attribute, each attribute by itself.",
        "",
        f"It says yes from a probability of {matcher.threshold:.3f} on; a score right on it is a yes. Fingerprint "
        f"`{matcher.fingerprint}`.",
        "",
        "Cross-validated; the threshold of each fold comes from its training prompts alone. 95 % intervals are clustered by "
        "person and prompt.",
    ]
    for split, title in ((BY_PROMPT, "Prompts left out"), (BY_BOTH, "Prompts and people left out")):
        if (split, None, "f1") in found:
            lines += ["", f"## {title}", "", *_table(found, split), "", *_remarks(figures, found, split)]
    lines += [
        "",
        "The attribute alone is the control to beat: some attributes matter for nearly every prompt. Attributes of a person "
        "recur with other prompts, so only the second table is about people not met before.",
    ]
    return "\n".join(lines) + "\n"


def _table(found: dict[tuple[str, str | None, str], Estimate], split: str) -> list[str]:
    names = [metric.replace("_", " ") for metric in METRICS]
    lines = [
        f"| | {' | '.join(names)} | mean F1 of prompts | average precision |",
        "|---" * (len(METRICS) + 3) + "|",
    ]
    for control, name in _ROWS.items():
        if (split, control, "f1") in found:
            metrics = (*METRICS, "f1_mean_of_prompts", "average_precision")
            cells = [show_estimate(found[split, control, metric]) for metric in metrics]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _remarks(
    figures: Sequence[MatcherMetric], found: dict[tuple[str, str | None, str], Estimate], split: str
) -> list[str]:
    gain = found[split, None, "f1_gain_over_attribute_alone"]
    lines = [f"F1 gained over the attribute alone, paired: {show_estimate(gain, '+.3f')}."]
    spread = [
        figure.estimate.value
        for figure in figures
        if figure.split == split and figure.control is None and figure.repeat is not None
    ]
    if spread:
        values = ", ".join(f"{value or 0:.3f}" for value in spread)
        lines.append(f"F1 with the prompts dealt into folds anew: {values}.")
    return lines
