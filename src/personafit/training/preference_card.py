"""What `train preference` writes: the head's two files, the figures as JSON, and a card for people."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from personafit.raters.fitted.file import save_fitted
from personafit.raters.fitted.head import PreferenceHead
from personafit.training.cards import show_estimate, write_card
from personafit.training.matcher_quality import MatcherMetric
from personafit.training.preference_head import MarkedPairs
from personafit.training.preference_quality import (
    ALL,
    ALONE,
    BOTH,
    ERROR,
    GAIN,
    MEAN_MARK,
    PEOPLE,
    PROMPTS,
    RULES,
    SPEARMAN,
)

PUBLISHED_CEILING = ".325"
_ROWS = {None: "head", ALONE: "answers alone", MEAN_MARK: "always the mean mark"}
_RULE_NAMES = {
    "named": "the answer names the attribute",
    "length": "how much longer the personalized answer is",
    "closeness": "how much closer it is to the attribute (cosine)",
}
_VOTERS = {"human": "people", "simulated": "simulated raters", "gold": "the benchmark's authors"}
_SPLITS = (PROMPTS, PEOPLE, BOTH)
_FORM = ".2f"


def write_preference(
    folder: Path, head: PreferenceHead, marked: MarkedPairs, figures: Sequence[MatcherMetric], source: str
) -> None:
    """Write fitted.json, fitted.npz, quality.json and card.md."""
    facts = {"marks": len(marked), "voters": marked.voters, "ceiling_spearman": marked.ceiling}
    save_fitted(replace(head, card=facts), folder)
    write_card(folder, figures, card(head, marked, figures, source))


def card(head: PreferenceHead, marked: MarkedPairs, figures: Sequence[MatcherMetric], source: str) -> str:
    """What the head is, how it was fitted and what it is worth."""
    found = {
        (figure.metric, figure.split, figure.control): show_estimate(figure.estimate, _form(figure.metric))
        for figure in figures
    }
    people, prompts = (len(set(groups.tolist())) for groups in (marked.people, marked.prompts))
    beside = (
        "Single votes are not known here, so there is no ceiling to hold it against"
        if marked.ceiling is None
        else f"Single raters correlate with each other at {marked.ceiling:.2f}, which bounds what can be reached"
    )
    lines = [
        "# A fitted head on marks",
        "",
        f"Fitted on {len(marked):,} marks from 1 (the generic answer is better) to 5 (the personalized one) from {source}: "
        f"{prompts:,} prompts, {people:,} people, marks of {_VOTERS.get(marked.voters, marked.voters)}. It sees the prompt, "
        "both answers and one attribute at a time.",
        "",
        f"A ridge regression on embeddings, on length and on mention. Fingerprint `{head.fingerprint}`.",
        "",
        f"{beside}; published for people (Re-Centering Humans): {PUBLISHED_CEILING}.",
        "",
        "Cross-fitted in five folds: every mark is by a head that saw nothing of its prompt, of its person, or of both. 95 % "
        "intervals are over people.",
        "",
        "## Spearman with the marks",
        "",
        *_table(found, SPEARMAN, (None, ALONE)),
        "",
        *_gains(found),
        *_uncovered(figures, len(marked)),
        "",
        "## Mean error in points",
        "",
        *_table(found, ERROR, (None, ALONE, MEAN_MARK)),
        "",
        "The nearer to 0 the better; who says the mean mark every time is what there is to beat.",
        "",
        "## Rules that nothing was fitted for",
        "",
        "| | Spearman |",
        "|---|---|",
        *(f"| {_RULE_NAMES[name]} | {found[SPEARMAN, ALL, name]} |" for name in RULES),
        "",
        "It may have learnt that naming an attribute or writing more is liked, and nothing about the person; the rules show how far "
        "that goes. Attributes of a person recur with other prompts, so only the last column above is about people and "
        "prompts not met before.",
    ]
    if marked.voters == "simulated":
        lines += [
            "",
            "The marks are simulated: the figures show that fitting works and say nothing about people.",
        ]
    return "\n".join(lines) + "\n"


def _form(metric: str) -> str:
    return f"+{_FORM}" if metric == GAIN else _FORM


def _table(
    found: dict[tuple[str, str, str | None], str], metric: str, rows: Sequence[str | None]
) -> list[str]:
    lines = [f"| | {' | '.join(_SPLITS)} |", "|---" * (len(_SPLITS) + 1) + "|"]
    for control in rows:
        cells = [found[metric, split, control] for split in _SPLITS]
        lines.append(f"| {_ROWS[control]} | {' | '.join(cells)} |")
    return lines


def _gains(found: dict[tuple[str, str, str | None], str]) -> list[str]:
    return [
        f"Spearman gained over the answers alone, paired, {split}: {found[GAIN, split, None]}."
        for split in _SPLITS
    ]


def _uncovered(figures: Sequence[MatcherMetric], marks: int) -> list[str]:
    """Splits that leave nobody to be fitted on for some marks."""
    return [
        f"{figure.split.capitalize()}: only {figure.estimate.n:,} of {marks:,} marks had others left to be fitted on."
        for figure in figures
        if (figure.metric, figure.control) == (SPEARMAN, None) and figure.estimate.n < marks
    ]
