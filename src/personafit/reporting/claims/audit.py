"""Findings of an audit: what shortcuts score, and what the person adds."""

from personafit.reporting.claims.wording import POINTS, TOO_FEW, counted, interval_words, is_few
from personafit.statistics.decisions import HypothesisTest, Measured, is_constant


def shortcut_finding(estimate: Measured, does: str, fair: float, finding: HypothesisTest) -> str:
    """What a shortcut scores; where that cannot be told from a coin, what the data could have shown."""
    if estimate.value is None:
        return f"undefined: nothing is {does}"
    if is_few(estimate):
        return f"{counted(estimate)} {does}; {TOO_FEW}"
    if is_constant(estimate, 0.5):
        return f"ties throughout: no pair is {does}"
    said = f"{100 * estimate.value:.1f} %{_percent_ends(estimate)} {does}"
    low, high = estimate.low, estimate.high
    inside = low is not None and high is not None and low >= 0.5 - fair and high <= 0.5 + fair
    if finding.decided or inside or finding.detectable is None:
        return said
    return f"{said}; these data could have shown {POINTS.plain(finding.detectable)} or more off a coin"


def gain_finding(overlap: Measured, gain: Measured) -> str:
    """What overlap with the right profile scores, and its lead over a stranger's."""
    if overlap.value is None:
        return "undefined: no pair overlaps"
    if gain.value is None:
        return "undefined: nobody shares anybody's language, so there is no stranger to compare with"
    if is_few(gain):
        return f"{counted(overlap)} right by overlap with the right profile; {TOO_FEW}"
    return (
        f"{100 * overlap.value:.1f} % right by overlap with the right profile, {POINTS.signed(gain.value)} points"
        f"{interval_words(gain)} over a stranger's"
    )


def _percent_ends(estimate: Measured) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" ({100 * estimate.low:.1f}–{100 * estimate.high:.1f})"
