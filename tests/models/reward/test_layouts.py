"""Every layout gives the scores and the gradients of one text at a time, for every family of models."""

from typing import Any

import numpy as np
import pytest

from personafit import UserError
from personafit.models.reward import Layout
from tests.helpers import Later, needs
from tests.tiny_models import FAMILIES, tiny_model, trees

pytestmark = needs("torch")
torch: Any = Later("torch")
attention: Any = Later("personafit.models.reward.attention")
scoring: Any = Later("personafit.models.reward.scoring")
LAYOUTS: list[tuple[Layout, int]] = [
    ("tree", 4000),
    ("tree", 150),
    ("sequence", 4000),
    ("sequence", 150),
    ("none", 4000),
]
SEQUENCES = [*trees(), trees()[0][:20], trees()[0]]  # a beginning of another, and one twice


def one_by_one(model: Any, sequences: list[list[int]]) -> Any:
    """Plain transformers, a text at a time, scored at its last token."""
    return torch.stack(
        [model.score(model.base_model(torch.tensor([one])).last_hidden_state[0, -1])[0] for one in sequences]
    )


def padded(model: Any, sequences: list[list[int]], side: str, pad: int) -> Any:
    """Plain transformers, all at once, through its own classification head."""
    model.config.pad_token_id = pad
    width = max(map(len, sequences))
    fill = [[pad] * (width - len(one)) for one in sequences]
    ones = [[1] * len(one) for one in sequences]
    none = [[0] * len(one) for one in fill]
    ahead = side == "left"
    tokens = [f + s if ahead else s + f for s, f in zip(sequences, fill, strict=True)]
    mask = [n + o if ahead else o + n for o, n in zip(ones, none, strict=True)]
    return model(input_ids=torch.tensor(tokens), attention_mask=torch.tensor(mask)).logits[:, 0]


@pytest.mark.parametrize("family", FAMILIES)
def test_all_layouts_score_alike(family: str) -> None:
    model = tiny_model(family)
    with torch.no_grad():
        alone = one_by_one(model, SEQUENCES).numpy()
        for side in ("left", "right"):
            assert np.abs(padded(model, SEQUENCES, side, 0).numpy() - alone).max() < 1e-5
    assert alone.std() > 0.01
    for layout, capacity in LAYOUTS:
        found = scoring.RewardScorer(tiny_model(family), layout, capacity).scores(SEQUENCES)
        assert np.abs(found - alone).max() < 1e-5, (layout, capacity)


@pytest.mark.parametrize("family", FAMILIES)
def test_all_layouts_have_the_same_gradients(family: str) -> None:
    weights = torch.linspace(-1, 1, len(SEQUENCES))
    model = tiny_model(family)
    (one_by_one(model, SEQUENCES) * weights).sum().backward()
    expected = {name: parameter.grad for name, parameter in model.named_parameters()}
    for layout, capacity in LAYOUTS:
        model = tiny_model(family)
        scorer = scoring.RewardScorer(model, layout, capacity)
        for row in scorer.rows(SEQUENCES):
            (scorer.score_row(row) * weights[row.owners]).sum().backward()
        for name, parameter in model.named_parameters():
            scale = max(1.0, float(expected[name].abs().max()))
            assert float((parameter.grad - expected[name]).abs().max()) / scale < 1e-4, (layout, name)


def test_scores_do_not_depend_on_company_order_or_the_padding_token() -> None:
    random = np.random.default_rng(0)
    model = tiny_model()
    reference = scoring.RewardScorer(model, "tree").scores(SEQUENCES)
    for number in range(3):
        order = random.permutation(len(SEQUENCES))
        shuffled = scoring.RewardScorer(model, "tree", 200 + 300 * number).scores(
            [SEQUENCES[place] for place in order]
        )
        assert np.abs(shuffled - reference[order]).max() < 1e-5
    for one, score in zip(SEQUENCES, reference, strict=True):
        assert abs(scoring.RewardScorer(model, "tree").scores([one])[0] - score) < 1e-5
    ending = [[*one, 1] for one in SEQUENCES]  # ends in the token that also pads
    model.config.pad_token_id = model.config.eos_token_id = 1
    for layout in ("tree", "sequence", "none"):
        found = scoring.RewardScorer(tiny_model(), layout).scores(ending)
        with torch.no_grad():
            assert np.abs(found - one_by_one(tiny_model(), ending).numpy()).max() < 1e-5


@pytest.mark.parametrize("family", ["llama", "qwen2", "mistral", "gemma2", "gemma3"])
def test_block_masks_as_on_a_gpu_score_alike(family: str) -> None:
    """The GPU's masks, through the same function without compiling it: windows, caps and padding of rows included."""
    scorer = scoring.RewardScorer(model := tiny_model(family), "tree", scoring.LEAST)
    expected = scorer.scores(SEQUENCES)
    attention.register()
    model.set_attn_implementation(attention.BLOCKS)
    scorer.blocks = True
    scorer.resize(scoring.LEAST)
    assert np.abs(scorer.scores(SEQUENCES) - expected).max() < 1e-5


def test_a_model_whose_attention_cannot_be_replaced_is_refused_unless_padded() -> None:
    from transformers import AutoModelForSequenceClassification, BloomConfig

    config = BloomConfig(vocab_size=300, hidden_size=32, n_layer=2, n_head=4, num_labels=1, pad_token_id=0)
    model = AutoModelForSequenceClassification.from_config(config, dtype=torch.float32).eval()
    with pytest.raises(UserError, match="--pack none"):
        scoring.RewardScorer(model, "tree")
    with torch.no_grad():
        alone = [
            model(torch.tensor([one]), attention_mask=torch.ones(1, len(one))).logits.item()
            for one in SEQUENCES
        ]
    assert np.abs(scoring.RewardScorer(model, "none").scores(SEQUENCES) - alone).max() < 1e-5


def test_memory_that_runs_out_halves_the_rows_and_loses_nothing() -> None:
    class Cramped(scoring.RewardScorer):  # type: ignore[misc]
        """A device on which longer rows do not fit."""

        def __init__(self, model: Any, layout: Layout, capacity: int, memory: int) -> None:
            super().__init__(model, layout, capacity)
            self._memory = memory

        def inputs(self, row: Any) -> Any:
            if len(row) > self._memory:
                raise torch.OutOfMemoryError("no memory left")
            return super().inputs(row)

    expected = scoring.RewardScorer(tiny_model(), "tree", 2000).scores(SEQUENCES)
    scorer = Cramped(tiny_model(), "tree", 2000, memory=300)
    said: list[str] = []
    scorer.say = said.append
    assert np.abs(scorer.scores(SEQUENCES) - expected).max() < 1e-5
    assert scorer.capacity == 250
    assert "500 tokens instead of 1,000" in said[1]
    with pytest.raises(UserError, match="--max-length"):
        Cramped(tiny_model(), "tree", 2000, memory=10).scores(SEQUENCES)
