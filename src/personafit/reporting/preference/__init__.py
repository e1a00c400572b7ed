"""What a preference run says: numbers, tables, figures, and a page to read every pair of answers in."""

from personafit.reporting.preference.run_report import PreferenceReport

__all__ = ["PreferenceReport"]
