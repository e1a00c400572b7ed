"""What a relevance run says: numbers, tables, a figure, and a page to look every pair up in."""

from personafit.reporting.relevance.run_report import RelevanceReport

__all__ = ["RelevanceReport"]
