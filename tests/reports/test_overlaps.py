"""Many answers at once are counted as the rule counts them one by one."""

import random

import pytest

from personafit.contexts import Context
from personafit.items.reading import Unit
from personafit.raters.rules import overlap
from personafit.reports import answer_pairs as module
from personafit.reports.answer_pairs import overlaps

# Beside letters that recur: those that need two units, a break that is none, half a pair, the last character there is.
LETTERS = "aaabbc 的一是\n\x00é𠀀😀\ud800\U0010ffff"


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_the_rule(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TOGETHER", 3)
    draw = random.Random(seed)

    def text(most: int) -> str:
        return "".join(draw.choices(LETTERS, k=draw.randint(0, most)))

    counted = 0.0
    for _ in range(60):
        known = Context("", "", tuple(text(12) for _ in range(draw.randint(0, 4))), None)
        answers = [text(40) for _ in range(draw.randint(0, 8))]
        prompts = [text(9) for _ in answers]
        wanted = [
            overlap(Unit(answer, prompt, known)) for answer, prompt in zip(answers, prompts, strict=True)
        ]
        assert overlaps(" ".join(known.values), answers, prompts).tolist() == wanted
        counted += sum(wanted)
    assert counted > 100
