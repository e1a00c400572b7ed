"""Kinds of item and the questions about them."""

from personafit.items.guards import GUARDS, GuardedQuestion, guarded_question
from personafit.items.question import FIT, QUESTIONS, ChoiceQuestion, Shown, inert

__all__ = [
    "FIT",
    "GUARDS",
    "QUESTIONS",
    "ChoiceQuestion",
    "GuardedQuestion",
    "Shown",
    "guarded_question",
    "inert",
]
