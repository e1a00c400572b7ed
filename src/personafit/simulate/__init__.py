"""Systems at work: answering people's questions, and talking with simulated users until they have what they want."""

from personafit.simulate.answering import Answering
from personafit.simulate.dialogue import Simulation
from personafit.simulate.reading import dialogues, read_dialogues, task_items
from personafit.simulate.records import Dialogue, DialogueTurn, Role, StopReason
from personafit.simulate.stored_replies import dialogue_recording
from personafit.simulate.systems import make_assistant, make_user

__all__ = [
    "Answering",
    "Dialogue",
    "DialogueTurn",
    "Role",
    "Simulation",
    "StopReason",
    "dialogue_recording",
    "dialogues",
    "make_assistant",
    "make_user",
    "read_dialogues",
    "task_items",
]
