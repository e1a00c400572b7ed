"""Kinds of item and the questions about them."""

from personafit.items.choice import (
    FIT,
    GUARDS,
    MOST,
    ChoiceQuestion,
    GuardedQuestion,
    guarded_question,
    inert,
)
from personafit.items.reading import (
    Part,
    PartAnswer,
    Question,
    QuestionSet,
    Reading,
    Shown,
    Unit,
    Verdict,
    order_places,
)

__all__ = [
    "FIT",
    "GUARDS",
    "MOST",
    "ChoiceQuestion",
    "GuardedQuestion",
    "Part",
    "PartAnswer",
    "Question",
    "QuestionSet",
    "Reading",
    "Shown",
    "Unit",
    "Verdict",
    "guarded_question",
    "inert",
    "order_places",
]
