"""What raters said word for word, as the pages of the smaller kinds of run show it: long texts cut, and none beyond what a page can hold."""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import or_, select

from personafit.store import RunRecord, Store
from personafit.store import tables as t

MAX_REPLY = 4_000  # characters of one raw reply or reasoning
MAX_REPLIES = 20_000_000  # characters of all of them: beyond this browsers struggle to open the page
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


def raw_replies(store: Store, run: RunRecord) -> Iterator[RawReply]:
    """Every ask of a run in which something was said, by item and rater."""
    ask = t.asks
    texts = (ask.c.detail, ask.c.reply, ask.c.reasoning)
    frame = store.frame(
        select(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.status, *texts)
        .select_from(t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run.id, or_(*(column.is_not(None) for column in texts)))
        .order_by(ask.c.item, ask.c.rater, ask.c.view, ask.c.order, ask.c.sample, ask.c.at)
    )
    left = MAX_REPLIES
    for item, rater, view, order, status, *said in frame.iter_rows():
        short = [_cut(text) for text in said]
        left -= sum(len(text or "") for text in short)
        if left < 0:
            short = [LEFT_OUT, None, None]
        yield RawReply(item, rater, view, order, status, *short)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_REPLY:
        return text
    return f"{text[:MAX_REPLY]} … ({len(text) - MAX_REPLY:,} more characters in the store)"
