"""Dialogues judged by models, and what can be counted in them without one."""

from personafit.raters.dialogues.judge import DialogueJudge, make_dialogue_judge
from personafit.raters.dialogues.judging import DialogueJudging, dialogue_job, dialogue_lanes

__all__ = ["DialogueJudge", "DialogueJudging", "dialogue_job", "dialogue_lanes", "make_dialogue_judge"]
