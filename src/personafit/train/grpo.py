"""Train a language model to judge which attributes are relevant, by group-relative policy optimisation (GRPO) with TRL.

The model is asked the same yes-or-no question as raters, several times each; a reply is rewarded for agreeing with the majority of people.
Whole prompts are held out, and the model is evaluated on them as `--rater hf:DIR` would be, beside the base model.

The reward. Few attributes are relevant, so a model that always says no agrees with people most of the time. A label is therefore weighted
by `w` = half of all pairs over the pairs with that label: a right reply earns +w, a wrong one −w, and one that cannot be parsed −2w. Over
the training pairs a constant answer then earns 0, whichever it is, and the majority label itself 1. Rewards are compared within the replies
to one question and not divided by their standard deviation, which would cancel the weights.
"""

import asyncio
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from personafit import __version__
from personafit._errors import UserError, writing
from personafit._hashing import content_hash
from personafit.benchmarks.recentering import open_relevance
from personafit.items.reading import Part, Shown
from personafit.items.relevance import ATTRIBUTES, NO, PAIR, YES
from personafit.models import ChatReply, Unanswerable, Unusable, one_line, parse_spec
from personafit.models.weights import source_of
from personafit.raters import make_rater
from personafit.raters.fitted.model import Floats, Rows
from personafit.statistics.detection import detection_difference
from personafit.train.cards import (
    QualityMetric,
    Say,
    TrainedRater,
    by_place,
    detection_figures,
    figure_table,
    render_card,
    write_figures,
)
from personafit.train.cross_fitting import Bools
from personafit.train.matcher import BY_PROMPT, METRICS, JudgedPairs, load_judged_pairs
from personafit.train.reward.folder import carry_on, claim, write_facts
from personafit.train.reward.settings import processes
from personafit.train.reward.weights import lora_config

HELD_OUT = 0.2  # share of the prompts
UNREADABLE = -2.0
CHECKPOINTS = "checkpoints"
SAVES = 10
BASE, GAIN = "base", "f1_gain_over_base"


@dataclass(frozen=True)
class GrpoSettings:
    """The settings that affect the result."""

    base: str
    steps: int = 200
    batch: int = 16
    """Questions per step, over all processes."""
    generations: int = 8
    """Replies per question."""
    rate: float | None = None
    lora: bool = False
    seed: int = 0

    @property
    def learning_rate(self) -> float:
        """The given rate, or a default: adapters take a higher one than full weights."""
        return (1e-5 if self.lora else 1e-6) if self.rate is None else self.rate


class AgreementReward:
    """The reward function for TRL: returns one number for each completion of a batch."""

    __name__ = "agreement"  # the name in TRL's logs

    def __init__(self, relevant: Bools) -> None:
        self.weights = {
            yes: len(relevant) / (2 * max(1, int((relevant == yes).sum()))) for yes in (True, False)
        }

    def __call__(
        self, completions: Sequence[Sequence[dict[str, str]]], relevant: Sequence[bool], **_: Any
    ) -> list[float]:
        """Return the rewards of replies to questions whose majority label is `relevant`."""
        return [
            self.of(said[-1]["content"], label) for said, label in zip(completions, relevant, strict=True)
        ]

    def of(self, reply: str, relevant: bool) -> float:
        """Return the reward of one reply."""
        read = PAIR.parse(ChatReply(text=reply), _shown("", "", "", ""))
        if read is None:
            return UNREADABLE * self.weights[relevant]
        right = read[0][0] == (YES if relevant else NO)
        return self.weights[relevant] if right else -self.weights[relevant]


def split_prompts(judged: JudgedPairs, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and the rows of the held-out prompts."""
    prompts = sorted(set(judged.prompts))
    count = max(1, round(HELD_OUT * len(prompts)))
    drawn = np.random.default_rng(seed).permutation(len(prompts))[:count]
    held = {prompts[int(place)] for place in drawn}
    out = np.array([prompt in held for prompt in judged.prompts])
    return np.flatnonzero(~out), np.flatnonzero(out)


def train_grpo(data: Path, out: Path, settings: GrpoSettings, say: Say) -> TrainedRater:
    """Train a model, or resume training, and write it with its card; if it is finished, only return the card."""
    import torch

    if settings.batch % processes():
        raise UserError(
            f"The default of {settings.batch} a step cannot be divided evenly among {processes()} processes; give --per-device-batch-size."
        )
    benchmark = open_relevance(data)
    source = benchmark.info.name
    judged = load_judged_pairs(benchmark, say, most=None)
    train, test = split_prompts(judged, settings.seed)
    labels = judged.relevant[train]
    if labels.all() or not labels.any():
        raise UserError(
            f"{source}: without the prompts held out only one label is left; give more prompts or another --seed."
        )
    done = claim(out, {**asdict(settings), "pairs": content_hash([judged.texts, judged.relevant.tolist()])})
    if done is not None:
        say(f"{out} holds the result of this command already.")
        return TrainedRater(done.facts["rater"], source, done.card, done.facts["fingerprint"])
    trainer = _trainer(judged, train, settings, out, say)
    try:
        carry_on(trainer, out / CHECKPOINTS, say)
    except torch.OutOfMemoryError as error:
        raise UserError(
            "The device ran out of memory; try --lora, fewer --num-generations or a smaller --model, with another --out."
        ) from error
    option = ",think=no" if _thinks(trainer.processing_class) else ""
    rater = f"hf:{out}{option}"
    if not trainer.accelerator.is_main_process:
        return TrainedRater(rater, source, "", "")
    facts: dict[str, Any] = {
        "kind": "relevance",
        "personafit": __version__,
        "rater": rater,
        "question": PAIR.fingerprint,
        "source": source,
        "settings": {**asdict(settings), "rate": settings.learning_rate},
        "weights": {label: AgreementReward(labels).weights[label == YES] for label in (YES, NO)},
        "pairs": len(train),
        "prompts": len({judged.prompts[row] for row in train}),
    }
    with writing(out):
        trained = trainer.accelerator.unwrap_model(trainer.model)
        (trained.merge_and_unload() if settings.lora else trained).save_pretrained(out)
        trainer.processing_class.save_pretrained(out)
        del trainer, trained  # frees memory for the evaluation
        say(f"Measuring on {len(test):,} pairs of prompts held out ...")
        figures = _measure(judged, test, rater, f"hf:{settings.base}{option}")
        facts["fingerprint"] = make_rater(rater, ATTRIBUTES).record.fingerprint
        write_figures(out, figures)
        text = _card(facts, figures)
        write_facts(out, facts, text)
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)
    return TrainedRater(rater, source, text, facts["fingerprint"], figures)


def _load(base: str) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    source = source_of(parse_spec(f"hf:{base}"))
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
        model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise UserError(
            f"--model {base}: it cannot be loaded as a language model ({one_line(error)})."
        ) from error
    if not tokenizer.chat_template:
        raise UserError(
            f"--model {base}: its tokenizer has no chat template, so it cannot be asked anything."
        )
    return model, tokenizer


def _trainer(judged: JudgedPairs, train: Rows, settings: GrpoSettings, out: Path, say: Say) -> Any:
    import torch
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import GRPOConfig, GRPOTrainer

    from personafit.train.reward.callbacks import Progress, StopOnSignal

    model, tokenizer = _load(settings.base)
    half = torch.cuda.is_available() and torch.cuda.is_bf16_supported()
    arguments = GRPOConfig(
        output_dir=str(out / CHECKPOINTS),
        max_steps=settings.steps,
        # One question's replies at a time on each device; a step covers all questions of the batch.
        per_device_train_batch_size=settings.generations,
        gradient_accumulation_steps=settings.batch // processes(),
        num_generations=settings.generations,
        max_completion_length=PAIR.reply_tokens(_shown("", "", "", "")),
        chat_template_kwargs={"enable_thinking": False} if _thinks(tokenizer) else None,
        scale_rewards="none",
        learning_rate=settings.learning_rate,
        bf16=half,
        gradient_checkpointing=torch.cuda.is_available(),
        seed=settings.seed,
        logging_steps=max(1, settings.steps // 100),
        save_steps=max(1, settings.steps // SAVES),
        save_total_limit=1,
        report_to="none",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=[AgreementReward(judged.relevant[train])],
        args=arguments,
        train_dataset=Dataset.from_list([_question(judged, int(row)) for row in train]),
        processing_class=tokenizer,
        peft_config=lora_config("CAUSAL_LM") if settings.lora else None,
        callbacks=[Progress(say), StopOnSignal(say)],
    )
    trainer.remove_callback(PrinterCallback)  # replaced by our own progress messages
    return trainer


def _thinks(tokenizer: Any) -> bool:
    """Return whether the model reasons before it replies unless its chat template disables it."""
    return "enable_thinking" in str(tokenizer.chat_template)


def _question(judged: JudgedPairs, row: int) -> dict[str, Any]:
    messages = PAIR.messages(_shown("", judged.people[row], *judged.texts[row]))
    return {"prompt": [dict(message) for message in messages], "relevant": bool(judged.relevant[row])}


def _shown(name: str, person: str, prompt: str, attribute: str) -> Shown:
    return Shown(PAIR, name, "", person, prompt, (Part(name, "", attribute),))


def _measure(judged: JudgedPairs, rows: Rows, trained: str, base: str) -> list[QualityMetric]:
    """Evaluate the trained model and its base on the held-out pairs, as raters in a run."""
    pairs = [_shown(str(row), judged.people[row], *judged.texts[row]) for row in map(int, rows)]
    own, before = (asyncio.run(_ask(spec, pairs)) for spec in (trained, base))
    truth = judged.relevant[rows]
    people, prompts = (np.array(names)[rows] for names in (judged.people, judged.prompts))
    who = people.tolist(), prompts.tolist()
    figures = detection_figures(own, truth, *who, METRICS, BY_PROMPT)
    figures += detection_figures(before, truth, *who, METRICS, BY_PROMPT, BASE)
    both = np.isfinite(own) & np.isfinite(before)
    gain = detection_difference(
        own[both] == 1, before[both] == 1, truth[both], "f1", people[both], prompts[both]
    )
    return [*figures, QualityMetric(GAIN, BY_PROMPT, gain)]


async def _ask(spec: str, pairs: Sequence[Shown]) -> Floats:
    """Return 1 for yes, 0 for no, and nan if the reply could not be parsed."""
    rater = make_rater(spec, ATTRIBUTES)
    worth = {YES: 1.0, NO: 0.0, None: np.nan}
    said = np.full(len(pairs), np.nan)
    try:
        for place, pair in enumerate(pairs):
            with suppress(Unanswerable):
                said[place] = worth[(await rater.rate(pair)).answers[0].label]
    except Unusable as error:
        raise UserError(str(error)) from error
    finally:
        await rater.close()
    return said


def _card(facts: dict[str, Any], figures: Sequence[QualityMetric]) -> str:
    found = by_place(figures)
    rows = [("trained", BY_PROMPT, None), ("its base", BY_PROMPT, BASE)]
    table = figure_table(found, rows, (*METRICS, "coverage"))
    held, gain = found[BY_PROMPT, None, "coverage"], found[BY_PROMPT, None, GAIN]
    return render_card("grpo", **facts, figures=table, held=held, gain=gain)
