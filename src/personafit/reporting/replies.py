"""What raters said word for word, as the pages of the smaller kinds of run show it: long texts cut, and none beyond what a page can hold."""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from sqlalchemy import or_, select

from personafit.store import RunRecord, Store
from personafit.store import tables as t

MAX_REPLY = 4_000  # characters of one raw reply or reasoning
MAX_REPLIES = 20_000_000  # characters of all of them: beyond this browsers struggle to open the page
ROWS = 2_000  # read at a time: those of a long run fill more memory than there is
LEFT_OUT = "left out: the page would grow too large"


@dataclass(frozen=True)
class RawReply:
    """One ask about an item or a list, and what came of it."""

    item: str
    rater: str
    view: str
    order: str
    status: str
    detail: str | None
    reply: str | None
    reasoning: str | None


def raw_replies(store: Store, run: RunRecord, about: Container[str]) -> Iterator[RawReply]:
    """Every ask about these items or lists of a run in which something was said, by item and rater."""
    ask = t.asks
    texts = (ask.c.detail, ask.c.reply, ask.c.reasoning)
    query = (
        select(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.status, *texts)
        .select_from(t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run.id, or_(*(column.is_not(None) for column in texts)))
        .order_by(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.sample, ask.c.at)
    )
    left = MAX_REPLIES
    for row in (row for part in store.stream(query, ROWS) for row in part if row.item in about):
        short = [_cut(text) for text in (row.detail, row.reply, row.reasoning)]
        left -= sum(len(text or "") for text in short)
        if left < 0:
            short = [LEFT_OUT, None, None]
        yield RawReply(row.item, row.rater, row.view, row.order, row.status, *short)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_REPLY:
        return text
    return f"{text[:MAX_REPLY]} … ({len(text) - MAX_REPLY:,} more characters in the store)"
