"""Chats of participants with a model: every message stored before it is acknowledged, and a dialogue in the store at the end.

A chat is a row for the consent, one for each message and one for the end, in the order of their turns. A message that is sent
twice under one key is one message. When the chat ends it becomes a dialogue like any simulated one, so judges can be asked about it.
"""

import asyncio
import time
from typing import Literal, NamedTuple

from sqlalchemy import select

from personafit._hashing import content_hash, hash_text
from personafit.benchmarks import BenchmarkInfo
from personafit.items.dialogue import Dialogue, DialogueTurn, Role, StopReason
from personafit.label.records import RaterState
from personafit.label.studies import PageAssignment, Seat, Study
from personafit.models import ChatRequest, Message, Model
from personafit.people import Person, Task
from personafit.simulate.records import dialogue_product
from personafit.store import Product, Status, Store
from personafit.store.inserting import insert_new
from personafit.store.records import storable
from personafit.store.tables import study_chats as t
from personafit.store.tables import study_raters

PROMPT = (
    "You are an assistant in a chat with one person. Help with whatever they bring up, in their language, in short messages that are "
    "easy to read. Take in what they tell you about themselves and let it shape your help where that serves them. You know "
    "nothing about them but what they write. You can look nothing up and carry nothing out; say so where it matters."
)
REPLY_TOKENS = 700
MOST_MESSAGES = 60
Ended = Literal["satisfied", "gave-up"]
CONSENT, END = "consent", "end"


class ChatTurn(NamedTuple):
    """One stored turn of a chat."""

    turn: int
    role: str
    text: str
    key: str


class NotNow(Exception):
    """Something that cannot be done at this point of a chat; a sentence."""


class Chat:
    """One participant's chat on one page."""

    def __init__(self, store: Store, study: Study, seat: Seat, assigned: PageAssignment) -> None:
        self._store, self._engine = store, store.engine
        self._study, self._seat = study, seat
        self._page, self._dialogue = assigned.page, assigned.arrangement.own

    def rows(self) -> list[ChatTurn]:
        """Everything so far, in order."""
        query = (
            select(t.c.turn, t.c.role, t.c.text, t.c.key)
            .where(t.c.study == self._study.name, t.c.seat == self._seat.seat, t.c.page == self._page)
            .order_by(t.c.turn)
        )
        return [ChatTurn(**row._mapping) for row in self._store.rows_now(query)]

    def begin(self, key: str) -> None:
        """Note that the participant wants the chat to be kept."""
        if not self.rows():
            self._add(0, CONSENT, "", key)

    def say(self, text: str, key: str) -> None:
        """Store a message of the participant's."""
        rows = self.rows()
        if any(row.key == key for row in rows):
            return
        if not rows:
            raise NotNow("Nothing is kept before you have agreed to it.")
        if rows[-1].role == END:
            raise NotNow("This chat has ended.")
        if rows[-1].role == "user":
            raise NotNow("The assistant has not answered your last message yet.")
        if len(rows) > MOST_MESSAGES:
            raise NotNow("This chat is as long as it can be; please end it.")
        added = self._add(rows[-1].turn + 1, "user", storable(text), key)
        if not added and all(row.key != key for row in self.rows()):  # another tab was faster
            raise NotNow("The assistant has not answered your last message yet.")

    async def answer(self, model: Model) -> None:
        """Ask the model for its turn and store it; what was answered already is not asked again."""
        rows = await asyncio.to_thread(self.rows)
        if not awaits_reply(rows):
            return
        messages: tuple[Message, ...] = (
            {"role": "system", "content": PROMPT},
            *({"role": row.role, "content": row.text} for row in messages_of(rows)),
        )
        request = ChatRequest(messages, REPLY_TOKENS, temperature=0.7, key=f"{self._page}|{rows[-1].turn}")
        reply = await model.chat(request)
        if not reply.text.strip():
            raise NotNow("The assistant said nothing.")
        said = storable(reply.text.strip())
        await asyncio.to_thread(self._add, rows[-1].turn + 1, "assistant", said, rows[-1].key)

    def end(self, how: Ended, key: str, model: Model) -> None:
        """End the chat and keep it as a dialogue; one that has ended is kept again, which changes nothing."""
        rows = self.rows()
        said = messages_of(rows)
        if not any(row.role == "assistant" for row in said):
            raise NotNow("There is nothing to rate before the assistant has answered.")
        if not has_ended(rows) and not self._add(rows[-1].turn + 1, END, how, key):
            self.end(how, key, model)  # the assistant's answer came just before, and belongs to it
            return
        self._keep(said, StopReason(rows[-1].text if has_ended(rows) else how), model)

    def _add(self, turn: int, role: str, text: str, key: str) -> bool:
        """Add a row; False when there is one of that turn already."""
        row = {
            "study": self._study.name,
            "seat": self._seat.seat,
            "page": self._page,
            "turn": turn,
            "role": role,
            "text": text,
            "key": key,
            "at": time.time(),
        }
        seats = study_raters.c
        mine = select(seats.state).where(seats.study == self._study.name, seats.seat == self._seat.seat)
        with self._engine.begin() as connection:
            if connection.execute(mine.with_for_update()).scalar() == RaterState.ERASED:
                raise NotNow("Please open the link of your invitation again.")  # erased while a model wrote
            added = connection.execute(insert_new(t, connection.dialect).values(row))
        return bool(added.rowcount)

    def _keep(self, said: list[ChatTurn], stop: StopReason, model: Model) -> None:
        """The dialogue with its turns and its task; a last message that nobody answered is its closing."""
        store, dataset, code = self._store, self._study.dataset, self._seat.code
        name = self._dialogue
        closing = said.pop().text if said[-1].role == "user" else ""
        system = content_hash([model.settings, PROMPT, REPLY_TOKENS])
        turns = tuple(
            DialogueTurn(_role(row), row.text, place, row.key, hash_text(name, str(place)))
            for place, row in enumerate(said)
        )
        task = Task(
            id=self._page,
            person=code,
            domains=["chat"],
            description="A chat of a participant's.",
            intent=said[0].text,
            goal="The participant has what they came for, as they say themselves.",
        )
        about = Product(kind="task", text=task.model_dump_json(), maker=self._study.name, about=code)
        dialogue = Dialogue(
            id=name,
            slot=f"{self._page}|{code}",
            dataset=dataset,
            person=code,
            task=task,
            system=system,
            system_name=model.name,
            user=self._seat.rater,
            user_name=f"human:{code}",
            given="none",
            context="",
            brief="",
            seed=0,
            sample=0,
            turns=turns,
            stop=stop,
            closing=closing,
        )
        makers = {"user": self._seat.rater, "assistant": system}
        products = [
            Product(id=turn.product, kind="turn", text=turn.text, maker=makers[turn.role], about=code)
            for turn in turns
        ]
        store.begin_dataset(dataset, "chat", BenchmarkInfo(name="chat", version="1", gold="").model_dump())
        store.finish_dataset(dataset)
        store.add_people(dataset, [Person(id=code, language=self._study.config.language)])
        store.add_products([about, *products, dialogue_product(dialogue, about.id, Status.OK)])
        store.add_items(dataset, [(self._seat.seat, dialogue.item)])


def messages_of(rows: list[ChatTurn]) -> list[ChatTurn]:
    """What was said, without consent and end."""
    return [row for row in rows if row.role in ("user", "assistant")]


def awaits_reply(rows: list[ChatTurn]) -> bool:
    """Whether the last thing said is a message that nobody has answered."""
    return bool(rows) and rows[-1].role == "user"


def has_ended(rows: list[ChatTurn]) -> bool:
    """Whether the chat is over and may be rated."""
    return bool(rows) and rows[-1].role == END


def _role(row: ChatTurn) -> Role:
    return "user" if row.role == "user" else "assistant"
