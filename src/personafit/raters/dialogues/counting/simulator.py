"""Where the simulated user, not the assistant, spoilt a dialogue: against its profile, telling too much, echoing, dragging on."""

import re
from dataclasses import dataclass, field

from personafit.raters.dialogues.counting.counts import Counted
from personafit.raters.dialogues.counting.words import stems

ECHO_WORDS = 8  # shorter turns repeat each other by nature
ECHO_SHARE = 0.8
DRAGGING = 2  # courtesies in a row after which nothing more was wanted

_ROLE = re.compile(
    r"\b(?:how (?:can|may) i (?:help|assist)|i(?:'d| would) be (?:happy|glad) to (?:help|assist)|is there anything else i can|"
    r"as an ai|i(?:'ve| have) (?:booked|reserved|scheduled|added|set) (?:it|that|this|your))\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"\b(?:thanks?|thank you|great|perfect|bye|goodbye|have a (?:nice|good|great)|you too)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class UserFaults:
    """What the user did wrong, by kind, with the turns it was done in."""

    found: dict[str, list[int]] = field(default_factory=dict)

    @property
    def helped(self) -> bool:
        """Whether the user made it easier: told what nobody had asked for in the opening turn."""
        return "leaked" in self.found

    @property
    def hurt(self) -> bool:
        """Whether the user made it harder: spoke against the profile, in the wrong role, or left too soon."""
        return any(kind in self.found for kind in ("contradicted", "echoed", "early"))


def user_faults(counted: Counted, completed: float | None) -> UserFaults:
    """The faults of one dialogue's user; `completed` is the judges' mean verdict, None where there is none."""
    dialogue = counted.dialogue
    users = [turn for turn in dialogue.turns if turn.role == "user"]
    found: dict[str, list[int]] = {}
    if strays := [mark.turn for mark in counted.of("strays")]:
        found["contradicted"] = strays
    if leaks := [mark.turn for mark in counted.of("leaks") if mark.turn == 0]:
        found["leaked"] = leaks[:1]
    echoes = [turn.index for turn in users if _echoes(counted, turn.index)]
    if echoes:
        found["echoed"] = echoes
    last = users[-1].index if users else 0
    if dialogue.stop == "satisfied" and completed is not None and completed < 0.5:
        found["early"] = [last]
    courtesies = 0
    for turn in reversed(users):
        if not _is_courtesy(turn.text):
            break
        courtesies += 1
    if courtesies >= DRAGGING or (dialogue.stop == "cap" and completed is not None and completed > 0.5):
        found["late"] = [last]
    return UserFaults(found)


def _echoes(counted: Counted, index: int) -> bool:
    turns = counted.dialogue.turns
    if _ROLE.search(turns[index].text):
        return True
    if index == 0:
        return False
    said, before = stems(turns[index].text), set(stems(turns[index - 1].text))
    return len(said) >= ECHO_WORDS and sum(word in before for word in said) >= ECHO_SHARE * len(said)


def _is_courtesy(text: str) -> bool:
    return len(stems(text)) <= 12 and "?" not in text and bool(_COURTESY.search(text))
