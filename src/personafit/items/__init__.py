"""Kinds of item and the questions about them."""

from personafit.items.question import FIT, QUESTIONS, ChoiceQuestion, Shown, inert

__all__ = ["FIT", "QUESTIONS", "ChoiceQuestion", "Shown", "inert"]
