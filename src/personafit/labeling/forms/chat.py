"""Chat collection: a participant talks with a model about a matter of their own or a given task, and rates their own dialogue."""

from collections.abc import Iterator
from typing import Any

from personafit.labeling.forms.dialogue import ASKED, dialogue_fields
from personafit.labeling.forms.form import LabelForm, LabelValue
from personafit.labeling.records import Arrangement, Field, Page
from personafit.labeling.sources import StudySource
from personafit.simulate.records import DIALOGUE

NOT_OF_ONESELF = "coherence.user"


class ChatForm(LabelForm):
    """A chat, then the judges' questions about it; of their own side people are asked how natural it was, not how coherent."""

    name = "chat"
    kinds = ("task",)
    view = "self"
    perspective = "self"

    def pages(self, source: StudySource) -> Iterator[Page]:
        """One page for each task; every participant has a dialogue of their own on it."""
        for name, task in source.chat_tasks():
            yield Page(id=name, items=[name], makes=DIALOGUE, content={"task": task})

    def fields(self, page: Page, arrangement: Arrangement) -> list[Field]:
        """The questions about the rater's own dialogue."""
        asked = [question for question in ASKED if question.name != NOT_OF_ONESELF]
        fields = dialogue_fields(arrangement.own or page.items[0], asked)
        fields[0].hint = "self.completion.hint"
        return [field.model_copy(update={"text": f"self.{field.question}"}) for field in fields]

    def shown(self, page: Page, arrangement: Arrangement) -> dict[str, Any]:
        """What to talk about; empty for a matter of one's own."""
        return {"task": page.content["task"]}

    def answered(self, page: Page, arrangement: Arrangement, field: Field, value: str) -> LabelValue:
        """The mark."""
        return LabelValue(value, float(value))
