import asyncio

from personafit.items.relevance import ALONE, GRADED, LIST, PAIR, Candidate, Listing, RelevanceQuestion
from personafit.models import ChatReply
from personafit.raters.prompted import PromptedRater
from personafit.raters.rater import Verdict
from personafit.raters.relevance import asking_rater
from personafit.store import Status
from tests.scripted import ScriptedModel

TWO = Listing(
    "group",
    "ann",
    "What shall I drink?",
    (Candidate("i0", "h0", "likes tea"), Candidate("i1", "h1", "has a dog")),
)
ONE = Listing("group", "ann", "What shall I drink?", (Candidate("i0", "h0", "likes tea"),))


def judged(
    question: RelevanceQuestion, shown: Listing, *replies: ChatReply
) -> tuple[Verdict, ScriptedModel, PromptedRater[Listing]]:
    model = ScriptedModel(list(replies))
    rater = asking_rater("scripted", model, question)
    return asyncio.run(rater.rate(shown)), model, rater


def labels(verdict: Verdict) -> list[str | None]:
    return [part.label for part in verdict.parts]


def test_an_unreadable_reply_is_asked_for_once_more() -> None:
    verdict, model, _ = judged(
        LIST, TWO, ChatReply("tea, of course", tokens_in=5), ChatReply("[1]", tokens_in=7)
    )
    assert labels(verdict) == ["yes", "no"]
    assert (verdict.calls, verdict.tokens_in) == (2, 12)
    assert "tea, of course" in str(verdict.detail)
    assert model.asked[1].messages[-2]["content"] == "tea, of course"


def test_unreadable_twice_is_unparsed_for_every_attribute() -> None:
    verdict, model, _ = judged(LIST, TWO, ChatReply("[9]"), ChatReply("[8]"))
    assert verdict.status == Status.UNPARSED
    assert [(part.item, part.label) for part in verdict.parts] == [("i0", None), ("i1", None)]
    assert verdict.reply == "[8]"
    assert len(model.asked) == 2


def test_a_refusal_is_no_answer_and_not_asked_again() -> None:
    verdict, model, _ = judged(PAIR, ONE, ChatReply("no", refused=True))
    assert verdict.status == Status.REFUSED
    assert labels(verdict) == [None]
    assert len(model.asked) == 1


def test_a_model_that_thinks_first_gets_room() -> None:
    thinking = ChatReply("", reasoning="hm", cut=True)
    verdict, model, _ = judged(PAIR, ONE, thinking, ChatReply("yes", reasoning="hm, tea"))
    assert labels(verdict) == ["yes"]
    assert verdict.reasoning == "hm, tea"
    assert model.asked[1].max_tokens > model.asked[0].max_tokens
    assert model.asked[1].letters == ()


def test_without_the_prompt_one_answer_holds_for_all_places_of_an_attribute() -> None:
    same = Listing(
        "i0", "ann", "", (Candidate("i0", "h", "likes tea"), Candidate("i7", "h", "likes tea")), ALONE
    )
    verdict, _, _ = judged(PAIR, same, ChatReply("yes"))
    assert [(part.item, part.label) for part in verdict.parts] == [("i0", "yes"), ("i7", "yes")]


def test_fingerprints_tell_the_ways_of_asking_apart() -> None:
    raters = [asking_rater("m", ScriptedModel([]), question) for question in (PAIR, LIST, GRADED)]
    assert len({rater.record.fingerprint for rater in raters}) == 3
    assert [rater.by_list for rater in raters] == [False, True, False]
