"""Dialogues judged by models, and what can be counted in them without one."""

from personafit._errors import UserError
from personafit.items.dialogue_questions import INSTRUMENT, ShownDialogue
from personafit.models import Model, Spec, make_model, parse_spec
from personafit.raters.dialogues.judging import DialogueJudge, DialogueJudging, dialogue_job, dialogue_lanes
from personafit.raters.prompted import PromptedRater


def dialogue_judge(model: Model, samples: int = 1) -> DialogueJudge:
    """Asks a model for its marks, each question about a dialogue `samples` times."""
    settings = {"questions": INSTRUMENT, "reading": "dialogue-1"}
    return PromptedRater[ShownDialogue](model, None, settings, samples=samples)


def make_dialogue_judge(text: str) -> DialogueJudge:
    """The judge a spec names; `samples=K` has it asked everything K times."""
    spec = parse_spec(text)
    samples = spec.number("samples", 1, least=1)
    if samples != int(samples):
        raise UserError(f"{text}: samples must be a whole number.")
    options = {name: value for name, value in spec.options.items() if name != "samples"}
    model = make_model(Spec(spec.text, spec.kind, spec.name, spec.url, options))
    return dialogue_judge(model, int(samples))


__all__ = [
    "DialogueJudge",
    "DialogueJudging",
    "dialogue_job",
    "dialogue_judge",
    "dialogue_lanes",
    "make_dialogue_judge",
]
