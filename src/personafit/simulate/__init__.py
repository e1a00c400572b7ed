"""Systems in use: answering people's questions, and conversing with simulated users until the task is done."""

from personafit.items.dialogue import Dialogue, DialogueTurn, Role, StopReason
from personafit.simulate.answering import Answering
from personafit.simulate.dialogue import Simulation, make_assistant, make_user
from personafit.simulate.records import dialogues, read_dialogues, task_items

__all__ = [
    "Answering",
    "Dialogue",
    "DialogueTurn",
    "Role",
    "Simulation",
    "StopReason",
    "dialogues",
    "make_assistant",
    "make_user",
    "read_dialogues",
    "task_items",
]
