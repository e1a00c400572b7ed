"""What is counted in dialogues and not judged: the same text gives the same marks on every machine, for nothing."""

from personafit.raters.dialogues.counting.counts import Counted, count_dialogue
from personafit.raters.dialogues.counting.majority import MajorityGuess
from personafit.raters.dialogues.counting.marks import RULES, Mark, Said, mark_turns
from personafit.raters.dialogues.counting.preferences import Preference, preferences_of
from personafit.raters.dialogues.counting.simulator import UserFaults, user_faults

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
