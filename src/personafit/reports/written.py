"""Numbers and times as people read them: a true minus sign, and no sign before nothing."""

from datetime import UTC, datetime


def plain(value: float, digits: int = 1) -> str:
    """A number with so many decimals."""
    return f"{_rounded(value, digits):.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 1) -> str:
    """A difference: its sign is shown unless it is nothing."""
    rounded = _rounded(value, digits)
    return plain(value, digits) if rounded == 0 else f"{rounded:+.{digits}f}".replace("-", "−")


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}f}") + 0.0  # which makes nothing of -0.0


def when(seconds: float) -> str:
    """A moment in UTC, to the minute."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
