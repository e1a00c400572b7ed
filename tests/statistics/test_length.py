"""Length taken out of scores."""

import numpy as np
import pytest

from personafit.statistics.length import LEAST_PROMPTS, length_controlled


def made(
    slope: float, prompts: int = 200, each: int = 4
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    codes = np.repeat(np.arange(prompts), each)
    lengths = random.integers(50, 2000, prompts * each)
    quality = random.normal(size=prompts * each)
    level = random.normal(scale=50, size=prompts)[codes]  # some questions score higher, whatever the answer
    return quality + level + slope * np.log2(1 + lengths), lengths, codes, quality


def test_what_length_adds_is_found_and_taken_out() -> None:
    scores, lengths, prompts, quality = made(slope=3.0)
    control = length_controlled(scores, lengths, prompts)
    assert control.slope == pytest.approx(3.0, abs=0.15)
    assert control.explained is not None
    assert 0.8 < control.explained < 1.0
    best = control.adjusted.reshape(-1, 4).argmax(axis=1)
    assert np.mean(best == quality.reshape(-1, 4).argmax(axis=1)) > 0.95
    assert np.mean(scores.reshape(-1, 4).argmax(axis=1) == lengths.reshape(-1, 4).argmax(axis=1)) > 0.7
    by_prompt = control.adjusted - control.adjusted.reshape(-1, 4).mean(axis=1).repeat(4)
    size = np.log2(1 + lengths)
    assert abs(by_prompt @ (size - size.reshape(-1, 4).mean(axis=1).repeat(4))) < 1e-6


def test_levels_of_prompts_are_no_bias() -> None:
    """Long questions that score high, with no slope within any of them, leave the scores as they are."""
    random = np.random.default_rng(1)
    prompts = np.repeat(np.arange(300), 3)
    lengths = 100 * (1 + prompts) + random.integers(0, 50, 900)
    scores = prompts + random.normal(size=900)
    control = length_controlled(scores, lengths, prompts)
    assert control.explained is not None
    assert control.explained < 0.02


def test_too_few_prompts_tell_nothing() -> None:
    scores, lengths, prompts, _ = made(slope=3.0, prompts=LEAST_PROMPTS - 1)
    control = length_controlled(scores, lengths, prompts)
    assert (control.slope, control.explained) == (None, None)
    assert (control.adjusted == scores).all()


def test_nothing_to_explain() -> None:
    prompts = np.repeat(np.arange(20), 2)
    same = length_controlled(np.arange(40.0), np.full(40, 7), prompts)
    assert (same.slope, same.explained) == (0.0, 0.0)
    flat = length_controlled(np.ones(40), np.arange(40), prompts)
    assert (flat.slope, flat.explained) == (0.0, 0.0)
