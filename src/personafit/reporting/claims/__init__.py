"""Every sentence of a report that claims something, and the tests behind them.

`wording` has what all share: the sentence each verdict allows, and what a null result says of what the run could have shown.
The others have the sentences, by what they are about.
"""

from personafit.reporting.claims.agreement import (
    Machine,
    ceiling_claims,
    kind_agrees,
    people_agree,
    stands_in,
)
from personafit.reporting.claims.audit import gain_finding, shortcut_finding
from personafit.reporting.claims.bias import FEATURES, Pull, always_words, fitted_words, pull_words
from personafit.reporting.claims.differences import Pair, difference_claim, no_claim, rank_claim
from personafit.reporting.claims.gates import gate, gate_sentence
from personafit.reporting.claims.lift import decided_lifts, lift_claim, lift_claims, lift_words, line_name
from personafit.reporting.claims.studies import (
    against_control,
    beyond_placebo,
    context_effect,
    list_against_pairs,
    mean_mark,
    mention_pull,
    met_sentence,
    picks,
    position_pull,
    stage_loss,
    without_prompt,
)
from personafit.reporting.claims.wording import (
    LEGEND,
    LOG_ODDS,
    ODDS,
    POINTS,
    TOO_FEW,
    ClaimWords,
    FigureUnit,
    claim,
    count_of,
    counted,
    interval_words,
    is_few,
    legend_for,
    null_words,
    same_words,
    shown_p,
)

__all__ = [
    "FEATURES",
    "LEGEND",
    "LOG_ODDS",
    "ODDS",
    "POINTS",
    "TOO_FEW",
    "ClaimWords",
    "FigureUnit",
    "Machine",
    "Pair",
    "Pull",
    "against_control",
    "always_words",
    "beyond_placebo",
    "ceiling_claims",
    "claim",
    "context_effect",
    "count_of",
    "counted",
    "decided_lifts",
    "difference_claim",
    "fitted_words",
    "gain_finding",
    "gate",
    "gate_sentence",
    "interval_words",
    "is_few",
    "kind_agrees",
    "legend_for",
    "lift_claim",
    "lift_claims",
    "lift_words",
    "line_name",
    "list_against_pairs",
    "mean_mark",
    "mention_pull",
    "met_sentence",
    "no_claim",
    "null_words",
    "people_agree",
    "picks",
    "position_pull",
    "pull_words",
    "rank_claim",
    "same_words",
    "shortcut_finding",
    "shown_p",
    "stage_loss",
    "stands_in",
    "without_prompt",
]
