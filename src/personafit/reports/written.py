"""Numbers and times as people read them: a true minus sign, and no sign before nothing."""

from datetime import UTC, datetime

from personafit.statistics.decisions import Measured


def plain(value: float, digits: int = 1) -> str:
    """A number with so many decimals."""
    return f"{_rounded(value, digits):.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 1) -> str:
    """A difference: its sign is shown unless it is nothing."""
    rounded = _rounded(value, digits)
    return plain(value, digits) if rounded == 0 else f"{rounded:+.{digits}f}".replace("-", "−")


def with_interval(
    found: Measured, scale: float = 100.0, digits: int = 1, unit: str = "", difference: bool = False
) -> str:
    """A value, and in brackets its interval where it has one: `75.0 % (59.0–91.0)`, or `5.0 points (−1.0 to +11.0)` of a difference."""
    value = f"{plain(scale * (found.value or 0.0), digits)}{unit}"
    if found.low is None or found.high is None:
        return value
    low, high = scale * found.low, scale * found.high
    if difference:
        return f"{value} ({signed(low, digits)} to {signed(high, digits)})"
    return f"{value} ({plain(low, digits)}–{plain(high, digits)})"


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}f}") + 0.0  # which makes nothing of -0.0


def when(seconds: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
