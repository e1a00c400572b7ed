"""Kinds of item and the questions about them."""

from personafit.items.guards import GUARDS, GuardedQuestion, guarded_question
from personafit.items.question import FIT, MOST, QUESTIONS, ChoiceQuestion, Shown, inert, order_places

__all__ = [
    "FIT",
    "GUARDS",
    "MOST",
    "QUESTIONS",
    "ChoiceQuestion",
    "GuardedQuestion",
    "Shown",
    "guarded_question",
    "inert",
    "order_places",
]
