"""ROUGE-1 and ROUGE-L: values that rouge-score 0.1.2 gives, and the same on drawn texts where that package is there."""

import random

import pytest

from personafit.statistics.rouge import longest_common, rouge

# Text, reference, then rouge1 and rougeL (F1) of rouge_scorer.RougeScorer(["rouge1", "rougeL"]).
KNOWN = [
    ("Spelt is back", "Spelt is back", 1.0, 1.0),
    ("back is spelt", "Spelt is back!", 1.0, 1 / 3),
    ("the rye the rye", "the rye", 2 / 3, 2 / 3),
    ("“Rye”: it's back", "rye it s back again", 8 / 9, 8 / 9),
    ("Bäcker", "b cker", 1.0, 1.0),
    ("黑麦", "黑麦", 0.0, 0.0),
    ("", "anything", 0.0, 0.0),
]


@pytest.mark.parametrize(("text", "reference", "first", "longest"), KNOWN)
def test_known_values(text: str, reference: str, first: float, longest: float) -> None:
    score = rouge(text, reference)
    assert score.rouge_1 == pytest.approx(first)
    assert score.rouge_l == pytest.approx(longest)


def test_the_longest_common_sequence_may_have_gaps() -> None:
    assert longest_common("a b c d e".split(), "b x d y e a".split()) == 3
    assert longest_common([], ["a"]) == 0


def test_it_counts_as_rouge_score_counts() -> None:
    package = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is not installed")
    scorer = package.RougeScorer(["rouge1", "rougeL"])
    drawn = random.Random(7)
    vocabulary = "a b c the The cat's don't 3.5 naïve 中文 x-y Ünder …".split()
    for _ in range(500):
        text, reference = (" ".join(drawn.choices(vocabulary, k=drawn.randint(0, 14))) for _ in range(2))
        expected = scorer.score(reference, text)
        ours = rouge(text, reference)
        assert ours.rouge_1 == pytest.approx(expected["rouge1"].fmeasure)
        assert ours.rouge_l == pytest.approx(expected["rougeL"].fmeasure)
