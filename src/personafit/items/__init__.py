"""The questions that can be asked about items: wording, scale and parser."""

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
