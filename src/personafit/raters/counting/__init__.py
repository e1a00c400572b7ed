"""What is counted in dialogues and not judged: the same text gives the same marks on every machine, for nothing."""

from personafit.raters.counting.marks import (
    RULES,
    Counted,
    MajorityGuess,
    Mark,
    Said,
    UserFaults,
    count_dialogue,
    mark_turns,
    user_faults,
)
from personafit.raters.counting.preferences import Preference, preferences_of

__all__ = [
    "RULES",
    "Counted",
    "MajorityGuess",
    "Mark",
    "Preference",
    "Said",
    "UserFaults",
    "count_dialogue",
    "mark_turns",
    "preferences_of",
    "user_faults",
]
