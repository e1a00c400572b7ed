"""Pairs of one answer before two people: who is swapped with whom, and that a model learns the person from them."""

import json
from pathlib import Path

import pytest

from personafit import UserError
from personafit.models.reward.rendering import PromptRenderer
from personafit.train import PreferencePair, RewardSettings, train_reward
from personafit.train.reward.settings import check
from personafit.train.reward.tokens import swapped
from tests.helpers import needs
from tests.tiny_models import save_tiny, tiny_tokenizer

pytestmark = needs("torch")
LIKES = {"ann": "tea", "bob": "skiing", "eve": "jazz"}


def pair(person: str, number: int = 0) -> PreferencePair:
    likes = LIKES.get(person, "chess")
    return PreferencePair(person, {"Likes": likes}, f"What now, {number}?", f"Go for {likes}.", "As ever.")


PAIRS = [pair(person, number) for person in LIKES for number in range(4)]


def test_the_answer_stays_and_another_person_stands_before_it() -> None:
    renderer = PromptRenderer(tiny_tokenizer(), 512)
    notes: list[str] = []
    found = swapped(PAIRS, 1.0, renderer, 0, notes).tokens
    known = {
        tuple(renderer.render({"Likes": likes}, one.question, one.chosen).tokens): (likes, one)
        for one in PAIRS
        for likes in LIKES.values()
    }
    assert len(found) == len(PAIRS)
    assert not notes
    for made in found:
        (own, mine), (other, theirs) = known[tuple(made["chosen_ids"])], known[tuple(made["rejected_ids"])]
        assert own == LIKES[mine.person] != other
        assert (mine.question, mine.chosen) == (theirs.question, theirs.chosen)
    assert found == swapped(PAIRS, 1.0, renderer, 0, notes).tokens
    assert found != swapped(PAIRS, 1.0, renderer, 1, notes).tokens


def test_people_who_read_alike_make_no_pair_and_that_is_said() -> None:
    renderer = PromptRenderer(tiny_tokenizer(), 512)
    twins = [
        PreferencePair(name, {"Likes": "tea"}, "What now?", f"Go, {name}.", "No.") for name in ("ann", "bob")
    ]
    notes: list[str] = []
    assert not swapped(twins, 2.0, renderer, 0, notes).tokens
    assert notes == ["4 swapped pairs were asked for and 0 could be made."]


def test_what_cannot_be_swapped_is_refused(tmp_path: Path) -> None:
    renderer = PromptRenderer(tiny_tokenizer(), 512)
    with pytest.raises(UserError, match="are one person's"):
        swapped([pair("ann"), pair("ann", 1)], 1.0, renderer, 0, [])
    with pytest.raises(UserError, match="nobody to swap"):
        check(RewardSettings("base", tmp_path, tmp_path, preset="base", swap=1.0))


def test_length_is_unlearned_where_it_misleads(tmp_path: Path) -> None:
    """In the human pairs the longer answer is always chosen; only the swapped ones say that the person matters."""
    save_tiny(tmp_path / "base")
    rows = [
        {
            "person": {"Likes": LIKES[name]},
            "person_id": name,
            "prompt": "What now?",
            "chosen": f"Go for {LIKES[name]} now, {number}.",
            "rejected": "No.",
        }
        for name in LIKES
        for number in range(2, 6)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def lead(swap: float) -> float:
        """By how much an answer scores higher before its own person than before another."""
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        from personafit.models.reward.scoring import RewardScorer

        out = tmp_path / f"out{swap:g}"
        facts = train_reward(
            RewardSettings(
                str(tmp_path / "base"),
                tmp_path / "pairs.jsonl",
                out,
                swap=swap,
                batch=8,
                rate=3e-3,
                epochs=12.0,
                held_out=0.0,
            ),
            lambda _: None,
        ).facts
        assert facts["data"]["swapped"] == round(swap * len(rows))
        assert ("one answer and two people" in (out / "card.md").read_text()) == bool(swap)
        renderer = PromptRenderer(AutoTokenizer.from_pretrained(out), facts["max_tokens"])
        scorer = RewardScorer(AutoModelForSequenceClassification.from_pretrained(out).eval(), "tree")
        texts = [
            renderer.render({"Likes": likes}, "What now?", f"Go for {own} now, 3.").tokens
            for own in LIKES.values()
            for likes in LIKES.values()
        ]
        scores = scorer.scores(texts).reshape(len(LIKES), len(LIKES))
        leads = [
            scores[row, row] - scores[row, other] for row in range(3) for other in range(3) if row != other
        ]
        return float(min(leads))

    assert lead(1.0) > 0.5
    assert lead(0.0) < 0.5
