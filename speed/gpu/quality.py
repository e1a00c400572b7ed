"""What a reward model learns from human pairs, in cross-validation by person: `python -m speed.gpu.quality PAIRS MODEL --out FILE`.

PAIRS is a JSON-lines file of tokenised pairs (id, person, chosen_ids, rejected_ids); what comes out is the margin of every pair by a
model that saw nobody's pairs of that person, after each epoch. `--together` says how many pairs of a person stand side by side in a
batch of 32: 32 is person after person, 1 is shuffled. PLAIN holds pairs of the same layout without a person in their tokens (`person`
says whose split they follow): they are scored at the end, and with `--mix` some are trained on too, so many for each personal pair.
`--offsets` names what `offsets.py` made: the model then learns only what the fitted surface rater does not say. `--swap` adds pairs of
one answer before two people, its own and another, so many for each personal pair: length says nothing there. `--seed` changes the
order of the pairs, the new head and which people are swapped; the folds stay.
"""

import argparse
import gzip
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from personafit.models.reward.scoring import RewardScorer
from personafit.train.pairs import grouped_order
from personafit.train.reward.trainer import PairTrainer

FOLDS = 5
BATCH = 32
END_OF_TURN = 151645  # Qwen's


def margins(scorer: RewardScorer, pairs: list[dict[str, Any]]) -> list[float]:
    """Chosen minus rejected."""
    sequences = [pair[side] for pair in pairs for side in ("chosen_ids", "rejected_ids")]
    scorer.model.eval()
    with torch.autocast("cuda", torch.bfloat16):
        scores = scorer.scores(sequences)
    return [float(value) for value in scores[0::2] - scores[1::2]]


def swapped(pairs: list[dict[str, Any]], many: int, seed: int) -> list[dict[str, Any]]:
    """So many pairs of one chosen answer, before its own person (chosen) and before another one (rejected)."""
    draw = np.random.default_rng(2 + seed)
    answers = list({tuple(pair["chosen_ids"]): pair for pair in pairs}.values())
    found: list[dict[str, Any]] = []
    while len(found) < many:
        own, other = (answers[index] for index in draw.integers(0, len(answers), 2))
        if own["person"] == other["person"]:
            continue
        _, rest = _parts(own["chosen_ids"])
        profile, _ = _parts(other["chosen_ids"])
        found.append(
            {"id": f"swap/{len(found)}", "chosen_ids": own["chosen_ids"], "rejected_ids": profile + rest}
        )
    return found


def _parts(tokens: list[int]) -> tuple[list[int], list[int]]:
    """The person, which is the first turn of the chat, and what follows."""
    after = tokens.index(END_OF_TURN) + 1
    return tokens[:after], tokens[after:]


def fold(
    base: Any,
    pairs: list[dict[str, Any]],
    plain: list[dict[str, Any]],
    held: set[str],
    rate: float,
    epochs: int,
    together: int,
    mix: float,
    swap: float,
    seed: int,
) -> dict[str, Any]:
    """Train without the held-out people and score theirs after each epoch."""
    from transformers import TrainerCallback, TrainingArguments

    torch.manual_seed(seed)
    model = base()
    scorer = RewardScorer(model, "tree", 16_384)
    train = [pair for pair in pairs if pair["person"] not in held]
    general = [pair for pair in plain if pair["person"] not in held]
    chosen = np.random.default_rng(1).permutation(len(general))[: round(mix * len(train))]
    others = swapped(train, round(swap * len(train)), seed)
    train += [general[index] for index in chosen] + others
    # A plain or swapped pair shares its beginning with nobody's.
    owners = [pair["person"] if pair.get("personal") else pair["id"] for pair in train]
    left_out = [pair for pair in plain if pair["person"] in held]
    test = [pair for pair in pairs if pair["person"] in held]
    steps = len(train) // BATCH
    found: list[list[float]] = []

    class AfterEpoch(TrainerCallback):
        def on_step_end(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            if state.global_step % steps == 0:
                found.append(margins(scorer, test))
                model.train()

    settings = TrainingArguments(
        output_dir="/tmp/quality",
        per_device_train_batch_size=BATCH,
        max_steps=steps * epochs,
        learning_rate=rate,
        lr_scheduler_type="linear",
        warmup_steps=steps // 5,
        bf16=True,
        logging_steps=20,
        save_strategy="no",
        report_to="none",
        remove_unused_columns=False,
    )

    class InOrder(PairTrainer):
        def _get_train_sampler(self, *_: Any) -> Any:
            return torch.utils.data.SequentialSampler(self.train_dataset)

    trainer = InOrder(
        scorer,
        args=settings,
        train_dataset=[train[index] for index in grouped_order(owners, BATCH, epochs, seed, together)],
        callbacks=[AfterEpoch()],
    )
    began = time.perf_counter()
    trainer.train()
    return {
        "ids": [pair["id"] for pair in test],
        "margins": found,
        "together": together,
        "trained_on": {
            "personal": len(train) - len(chosen) - len(others),
            "plain": len(chosen),
            "swapped": len(others),
        },
        "plain": margins(scorer, left_out) if left_out else [],
        "seconds": time.perf_counter() - began,
        "losses": [entry["loss"] for entry in trainer.state.log_history if "loss" in entry],
    }


def deal(people: list[str]) -> list[set[str]]:
    """The people held out in each fold."""
    shuffled = np.random.default_rng(0).permutation(people)
    return [set(shuffled[start::FOLDS].tolist()) for start in range(FOLDS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("model", type=Path, help="GGUF file or model folder.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument(
        "--together", type=int, nargs="+", default=[BATCH], help="Pairs of a person side by side."
    )
    parser.add_argument("--plain", type=Path, help="Pairs without a person.")
    parser.add_argument(
        "--mix",
        type=float,
        nargs="+",
        default=[0.0],
        help="So many plain pairs for each personal one.",
    )
    parser.add_argument("--offsets", type=Path, help="The surface rater's margins for each fold.")
    parser.add_argument(
        "--swap", type=float, default=0.0, help="So many swapped pairs for each personal one."
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    pairs = [{**pair, "personal": True} for pair in read_pairs(arguments.pairs)]
    plain = read_pairs(arguments.plain) if arguments.plain else []
    people = sorted({pair["person"] for pair in pairs})
    folds = deal(people)
    offsets = json.loads(arguments.offsets.read_text()) if arguments.offsets else None

    torch.manual_seed(arguments.seed)
    loaded = _load(arguments.model)
    state = {name: tensor.clone() for name, tensor in loaded.state_dict().items()}

    def base() -> Any:
        from transformers import AutoModelForSequenceClassification

        with torch.device("cuda"):
            model = AutoModelForSequenceClassification.from_config(loaded.config, dtype=torch.float32)
        model.load_state_dict(state)
        return model

    result: dict[str, Any] = {
        "rate": arguments.rate,
        "epochs": arguments.epochs,
        "seed": arguments.seed,
        "folds": [],
    }
    for together, mix in itertools.product(arguments.together, arguments.mix):
        for number, held in enumerate(folds[: arguments.folds]):
            given = pairs if offsets is None else _offset(pairs, offsets[number])
            found = fold(
                base,
                given,
                plain,
                held,
                arguments.rate,
                arguments.epochs,
                together,
                mix,
                arguments.swap,
                arguments.seed,
            )
            result["folds"].append({"mix": mix, **found})
            arguments.out.write_text(json.dumps(result))
            _say(found)
            torch.cuda.empty_cache()


def _offset(pairs: list[dict[str, Any]], offsets: dict[str, float]) -> list[dict[str, Any]]:
    """The pairs of a fold with what the surface rater gives them already; nothing for the held out."""
    return [{**pair, "margin": -offsets.get(pair["id"], 0.0)} for pair in pairs]


def _say(found: dict[str, Any]) -> None:
    right = [float(np.mean(np.array(margins) > 0)) for margins in found["margins"]]
    plain = float(np.mean(np.array(found["plain"]) > 0)) if found["plain"] else None
    print(
        f"together {found['together']}, {found['trained_on']}: {right}, plain {plain}, in {found['seconds']:.0f} s; "
        f"losses {found['losses']}",
        flush=True,
    )


def read_pairs(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def _load(path: Path) -> Any:
    from transformers import AutoModelForSequenceClassification

    if path.suffix == ".gguf":
        return AutoModelForSequenceClassification.from_pretrained(
            path.parent, gguf_file=path.name, num_labels=1, dtype=torch.float32
        ).cuda()
    return AutoModelForSequenceClassification.from_pretrained(path, num_labels=1, dtype=torch.float32).cuda()


if __name__ == "__main__":
    main()
