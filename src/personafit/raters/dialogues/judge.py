"""A prompted model as a judge of dialogues: one call a question, one more if the reply cannot be read, and else unparsed.

Unparsed is unparsed whatever the question: no metric turns an unreadable reply into a failure or drops it from its count.
"""

from personafit._errors import UserError
from personafit.items.dialogue import Dialogue, DialogueTurn
from personafit.items.dialogue_questions import INSTRUMENT, REPLY_TOKENS, DialogueQuestion, ShownDialogue
from personafit.models import ChatReply, ChatRequest, Message, Model, Spec, make_model, parse_spec
from personafit.raters.llm import REASONED_REPLY, replay_key
from personafit.raters.prompting import Prompting
from personafit.raters.rater import Part, Verdict
from personafit.store import Status

READING = "dialogue-1"


class DialogueJudge(Prompting):
    """Asks a model for its marks."""

    def __init__(self, model: Model, samples: int = 1) -> None:
        super().__init__(model, model.name, {"questions": INSTRUMENT, "reading": READING})
        self.samples = samples
        """How often it is asked each question about a dialogue."""

    async def judge(self, shown: ShownDialogue, question: DialogueQuestion) -> Verdict:
        """Ask, and ask once more if the reply cannot be read."""
        verdict = Verdict(calls=0, answers_whole=not question.by_turn)
        request, reply = await self._ask(lambda: self.request(shown, question), verdict)
        marks = self._read(reply, shown, question)
        if marks is None and not reply.refused and not (reply.cut and self._reasons):
            verdict.detail = f"first reply: {reply.text[:500]}"
            again = question.ask_again(request.messages, reply.text, shown.dialogue)
            reply = await self._chat(self._request(again, shown, question), verdict)
            marks = self._read(reply, shown, question)
        verdict.reply, verdict.reasoning = reply.text, reply.reasoning
        if marks is None:
            verdict.status = Status.REFUSED if reply.refused else Status.UNPARSED
        _answer(verdict, marks, shown, question)
        return verdict

    def request(self, shown: ShownDialogue, question: DialogueQuestion) -> ChatRequest:
        """The call to make."""
        return self._request(question.messages(shown), shown, question)

    def _read(self, reply: ChatReply, shown: ShownDialogue, question: DialogueQuestion) -> list[int] | None:
        return None if reply.refused else question.parse(reply.text, shown.dialogue)

    def _request(
        self, messages: tuple[Message, ...], shown: ShownDialogue, question: DialogueQuestion
    ) -> ChatRequest:
        return ChatRequest(
            messages=messages,
            max_tokens=REASONED_REPLY if self._reasons else REPLY_TOKENS,
            seed=None if shown.sample == 0 else shown.sample,
            key=judge_key(shown.dialogue, shown.view, question.name, shown.sample),
        )


def _answer(
    verdict: Verdict, marks: list[int] | None, shown: ShownDialogue, question: DialogueQuestion
) -> None:
    if question.by_turn:
        theirs = [turn for turn in shown.dialogue.turns if turn.role == "assistant"]
        for place, turn in enumerate(theirs):
            label, value = (str(marks[place]), float(marks[place])) if marks else (None, None)
            verdict.parts.append(Part(turn_target(turn), label, value))
    elif marks is not None:
        verdict.label, verdict.value = str(marks[0]), float(marks[0])


def turn_target(turn: DialogueTurn) -> str:
    """What marks of a turn are kept under."""
    return f"turn {turn.index + 1}"


def judge_key(dialogue: Dialogue, view: str, question: str, sample: int) -> str:
    """The name of a request in recordings; what was said is part of it, not who is on record as having said it."""
    item = f"{dialogue.person}/{dialogue.task.id}|{dialogue.given}|{dialogue.sample}|{dialogue.content}"
    return replay_key(item, view, question, sample)


def make_dialogue_judge(text: str) -> DialogueJudge:
    """The judge a spec names; `samples=K` has it asked everything K times."""
    spec = parse_spec(text)
    samples = spec.number("samples", 1, least=1)
    if samples != int(samples):
        raise UserError(f"{text}: samples must be a whole number.")
    options = {name: value for name, value in spec.options.items() if name != "samples"}
    model = make_model(Spec(spec.text, spec.kind, spec.name, spec.url, options))
    return DialogueJudge(model, int(samples))
