"""Who can take part in a dialogue: any model; for the assistant also `canned`, a control that knows nothing."""

import re
from typing import Any

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.models import ChatReply, ChatRequest, Model, Spec, make_model, parse_spec
from personafit.simulate.speakers import Assistant, UserAgent

STYLES = ("vanilla", "cot")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
CANNED = {
    "en": (
        "Gladly. Could you tell me a little more about what matters to you here?",
        "Thank you, that helps. I have picked an option that most people are happy with. Shall I go ahead with it?",
        "Done, everything is set up for you. Is there anything else I can do?",
        "All right. I have noted that and changed it accordingly. Is it good like this?",
    ),
    "zh": (
        "好的,很乐意帮忙。您能再多告诉我一点您看重什么吗?",
        "谢谢,这很有帮助。我选了一个大多数人都满意的方案,要按这个办吗?",
        "办好了,一切都已安排妥当。还有什么我可以做的吗?",
        "好的,我已经记下并作了修改。这样可以吗?",
    ),
}


class CannedAssistant:
    """Says the same polite things to everybody: what a score is worth shows beside it."""

    name = endpoint = "canned"
    max_concurrency = 64
    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        self.settings: dict[str, Any] = {"kind": "canned", "says": content_hash(CANNED)}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The next sentence of the sequence; its last ones come back again and again."""
        said = sum(message["role"] == "assistant" for message in request.messages)
        last = request.messages[-1]["content"]
        lines = CANNED["zh" if _CHINESE.search(last) else "en"]
        return ChatReply(text=lines[said] if said < len(lines) else lines[2 + said % 2])

    async def close(self) -> None:
        """Nothing to release."""


def make_assistant(text: str) -> Assistant:
    """The assistant a spec names."""
    spec = parse_spec(text)
    model: Model = CannedAssistant(spec) if spec.kind == "canned" else make_model(spec)
    return Assistant(model)


def make_user(text: str) -> UserAgent:
    """The user agent a spec names; `style=cot` makes it think before it speaks."""
    spec = parse_spec(text)
    options = dict(spec.options)
    style = options.pop("style", STYLES[0])
    if style not in STYLES:
        raise UserError(f"{text}: unknown style '{style}'; there are {', '.join(STYLES)}.")
    return UserAgent(make_model(Spec(spec.text, spec.kind, spec.name, spec.url, options)), style)
