"""Chats between participants and a model; every message is stored before it is acknowledged.

A chat is stored as one row for the consent, one for each message and one for the end, in turn order. A message sent twice under the same
key is stored once. A reply being written has a row too: the process that adds it calls the model, and other processes serving the same
store wait, so that each message costs one call. When the chat ends it becomes a dialogue like any simulated one, which judges can rate.
"""

import asyncio
import time
import uuid
from typing import Literal, NamedTuple

from sqlalchemy import ColumnElement, Update, delete, select, update

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
LINK_AGAIN = "Please open the link of your invitation again."
Ended = Literal["satisfied", "gave-up"]
CONSENT, END, WRITING = "consent", "end", "writing"
SIGN_EVERY, GIVEN_UP_AFTER = 5.0, 30.0
"""Seconds between heartbeats of the process writing a reply, and without a heartbeat until another process may take over."""
LOOK_EVERY = 0.2  # seconds between checks whether another process has written the reply


class ChatTurn(NamedTuple):
    """One stored turn of a chat."""

    turn: int
    role: str
    text: str
    key: str
    at: float


class NotNow(Exception):
    """An action that is not possible at this point of a chat; the message is shown to the participant."""


class Chat:
    """One participant's chat on one page."""

    def __init__(self, store: Store, study: Study, seat: Seat, assigned: PageAssignment) -> None:
        self._store, self._engine = store, store.engine
        self._study, self._seat = study, seat
        self._page, self._dialogue = assigned.page, assigned.arrangement.own

    def rows(self) -> list[ChatTurn]:
        return [row for row in self._all() if row.role != WRITING]

    def _all(self) -> list[ChatTurn]:
        query = select(t.c.turn, t.c.role, t.c.text, t.c.key, t.c.at).where(*self._mine).order_by(t.c.turn)
        return [ChatTurn(**row._mapping) for row in self._store.rows_now(query)]

    @property
    def _mine(self) -> tuple[ColumnElement[bool], ...]:
        return t.c.study == self._study.name, t.c.seat == self._seat.seat, t.c.page == self._page

    def begin(self, key: str) -> None:
        """Record the participant's consent to the chat being kept."""
        if not self.rows():
            self._add(0, CONSENT, "", key)

    def say(self, text: str, key: str) -> None:
        rows = self.rows()
        if any(row.key == key for row in rows):
            return
        if not rows:
            raise NotNow("Please agree first; nothing is stored before that.")
        if rows[-1].role == END:
            raise NotNow("This chat has ended.")
        if rows[-1].role == "user":
            raise NotNow("The assistant has not answered your last message yet.")
        if len(rows) > MOST_MESSAGES:
            raise NotNow("This chat has reached its maximum length; please end it.")
        added = self._add(rows[-1].turn + 1, "user", storable(text), key)
        if not added and all(row.key != key for row in self.rows()):  # another tab sent a message first
            raise NotNow("The assistant has not answered your last message yet.")

    async def answer(self, model: Model) -> None:
        """Ask the model for its turn and store it, unless it is already stored or being written by another process."""
        rows = await asyncio.to_thread(self.rows)
        if not awaits_reply(rows):
            return
        turn, mine = rows[-1].turn + 1, f"{rows[-1].key}|{uuid.uuid4()}"
        if not await asyncio.to_thread(self._claim, turn, mine):
            await self._written_elsewhere(turn)
            return
        said = None
        try:
            said = storable(await self._ask(model, rows, mine))
        finally:
            await asyncio.to_thread(self._finish, mine, said, rows[-1].key)

    async def _ask(self, model: Model, rows: list[ChatTurn], claim: str) -> str:
        """Return the model's reply, sending heartbeats while it is being written."""
        messages: tuple[Message, ...] = (
            {"role": "system", "content": PROMPT},
            *({"role": row.role, "content": row.text} for row in messages_of(rows)),
        )
        request = ChatRequest(messages, REPLY_TOKENS, temperature=0.7, key=f"{self._page}|{rows[-1].turn}")
        asking = asyncio.ensure_future(model.chat(request))
        try:
            while not (await asyncio.wait({asking}, timeout=SIGN_EVERY))[0]:
                await asyncio.to_thread(self._change, self._claimed(claim).values(at=time.time()))
        finally:
            asking.cancel()
        text = asking.result().text.strip()
        if not text:
            raise NotNow("The assistant said nothing.")
        return text

    def _claim(self, turn: int, claim: str) -> bool:
        """Claim the reply for this process; return False if another process holds it and has sent a recent heartbeat."""
        if self._add(turn, WRITING, "", claim):
            return True
        old = time.time() - GIVEN_UP_AFTER
        stale = update(t).where(*self._mine, t.c.turn == turn, t.c.role == WRITING, t.c.at < old)
        return self._change(stale.values(key=claim, at=time.time()))

    async def _written_elsewhere(self, turn: int) -> None:
        """Wait for the reply that another process is writing; raise `NotNow` if it gives up."""
        while True:
            found = next((row for row in await asyncio.to_thread(self._all) if row.turn == turn), None)
            if found is None or (found.role == WRITING and found.at < time.time() - GIVEN_UP_AFTER):
                raise NotNow("The assistant did not answer.")
            if found.role != WRITING:
                return
            await asyncio.sleep(LOOK_EVERY)

    def _finish(self, claim: str, said: str | None, key: str) -> None:
        """Store the reply in the claimed row, or delete the row if there is no reply."""
        if said is None:
            with self._engine.begin() as connection:
                connection.execute(delete(t).where(*self._mine, t.c.key == claim, t.c.role == WRITING))
            return
        reply = {"role": "assistant", "text": said, "key": key, "at": time.time()}
        if not self._change(self._claimed(claim).values(**reply)) and not self.rows():
            raise NotNow(LINK_AGAIN)  # the participant was erased while the model was writing

    def _claimed(self, claim: str) -> Update:
        return update(t).where(*self._mine, t.c.key == claim, t.c.role == WRITING)

    def _change(self, statement: Update) -> bool:
        with self._engine.begin() as connection:
            return bool(connection.execute(statement).rowcount)

    def end(self, how: Ended, key: str, model: Model) -> None:
        """End the chat and store it as a dialogue; for a chat that has already ended, storing again changes nothing."""
        rows = self.rows()
        said = messages_of(rows)
        if not any(row.role == "assistant" for row in said):
            raise NotNow("There is nothing to rate before the assistant has answered.")
        if not has_ended(rows):
            turn = rows[-1].turn + 1
            unwritten = update(t).where(*self._mine, t.c.turn == turn, t.c.role == WRITING)
            ended = self._change(unwritten.values(role=END, text=how, key=key, at=time.time()))
            if not ended and not self._add(turn, END, how, key):
                self.end(how, key, model)  # the assistant's reply was stored just before the end
                return
        self._keep(said, StopReason(rows[-1].text if has_ended(rows) else how), model)

    def _add(self, turn: int, role: str, text: str, key: str) -> bool:
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
                raise NotNow(LINK_AGAIN)
            added = connection.execute(insert_new(t, connection.dialect).values(row))
        return bool(added.rowcount)

    def _keep(self, said: list[ChatTurn], stop: StopReason, model: Model) -> None:
        """Store the dialogue with its turns and its task; a last message without a reply becomes its closing."""
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
            system_context="none",
            system_context_id="",
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
        store.begin_dataset(dataset, "chat", BenchmarkInfo(name="chat", version="1", gold="").stored())
        store.finish_dataset(dataset)
        store.add_people(dataset, [Person(id=code, language=self._study.config.language)])
        store.add_products([about, *products, dialogue_product(dialogue, about.id, Status.OK)])
        store.add_items(dataset, [(self._seat.seat, dialogue.item)])


def messages_of(rows: list[ChatTurn]) -> list[ChatTurn]:
    """Return the messages, without consent and end."""
    return [row for row in rows if row.role in ("user", "assistant")]


def awaits_reply(rows: list[ChatTurn]) -> bool:
    """Return whether the last row is a participant's message without a reply."""
    return bool(rows) and rows[-1].role == "user"


def has_ended(rows: list[ChatTurn]) -> bool:
    """Return whether the chat has ended and can be rated."""
    return bool(rows) and rows[-1].role == END


def _role(row: ChatTurn) -> Role:
    return "user" if row.role == "user" else "assistant"
