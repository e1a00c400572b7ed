"""A training run from settings to folder: read, render, train or resume, evaluate on held-out people, write.

The same command resumes from the last checkpoint; once the result is written it does nothing. Under a launcher each process runs all of
this, and the first one writes.
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from personafit import __version__
from personafit._errors import UserError
from personafit.build.pairs import NOT_PERSONAL
from personafit.models.reward.rendering import PromptRenderer
from personafit.raters.fitted.model import Floats
from personafit.raters.rater import fitted_mark
from personafit.train.cards import Say, render_card
from personafit.train.pairs import (
    PreferencePair,
    fingerprint,
    grouped_order,
    held_out,
    limited,
    read_helpsteer,
    read_pairs,
    sampled,
    without_ties,
)
from personafit.train.pairwise import QualityReport, accuracy_table, quality
from personafit.train.reward.folder import (
    TrainedModel,
    carry_on,
    claim,
    explained,
    write_facts,
    write_whole,
)
from personafit.train.reward.settings import (
    RECIPES,
    RewardSettings,
    check,
    is_first,
    processes,
    training_arguments,
)
from personafit.train.reward.tokens import PairTokens, TokenPair, swapped, tokenise
from personafit.train.reward.weights import load_base, refuse_unreadable, save_weights, with_adapter

FORMAT = 1
CHECKPOINTS, ROWS = "checkpoints", "rows.json"


def train_reward(settings: RewardSettings, say: Say) -> TrainedModel:
    """Train, or resume training, the model that the settings describe."""
    check(settings)
    say = say if is_first() else lambda _: None
    notes: list[str] = []
    train, test = _divided(settings, notes)
    known = fingerprint([*train, *test])
    done = claim(settings.out, {**settings.as_dict(), "pairs": known, "processes": processes()})
    if done is not None:
        say(f"{settings.out} holds the result of this command already.")
        return done
    say(f"Loading {settings.base}.")
    model, tokenizer = load_base(settings.base, settings.seed)
    run = _Run(settings, PromptRenderer(tokenizer, settings.max_tokens), notes, say)
    if not getattr(tokenizer, "chat_template", None):
        notes.append(f"{settings.base} has no chat template: person, question and answer are joined plainly.")
    run.read(train, test, known)
    refuse_unreadable(
        model, max(part.longest for part in run.parts), max(part.highest for part in run.parts), settings
    )
    with explained(settings.out, settings.out / CHECKPOINTS):
        return run.train(model, tokenizer)


def _divided(settings: RewardSettings, notes: list[str]) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """Return the pairs to train on and those to evaluate on, by recipe; people and general prompts are held out alike."""
    pairs = limited(without_ties(read_pairs(settings.data), notes), settings.limit, settings.seed)
    if not pairs:
        raise UserError(f"{settings.data} holds no pairs. {' '.join(notes)}".rstrip())
    recipe = RECIPES[settings.preset]
    train, test = ([], pairs) if not recipe.personal else held_out(pairs, settings.held_out, settings.seed)
    if settings.mix is not None and recipe.general:
        general = without_ties(read_helpsteer(settings.mix.path), notes)
        learn, check_on = held_out(general, settings.held_out, settings.seed)
        if settings.mix.ratio is not None:
            wanted = round(settings.mix.ratio * (len(train) or len(pairs)))
            if wanted > len(learn):
                notes.append(
                    f"{settings.mix.path} has {len(learn):,} pairs to train on; {wanted:,} were asked for."
                )
            learn = sampled(learn, wanted, settings.seed)
        train, test = [*train, *learn], [*test, *check_on]
    return train, test


def figures(pairs: Sequence[PreferencePair], margins: Floats) -> dict[str, float]:
    """Return loss and accuracy by tier from margins, a tie counting half, under the names used by loggers."""
    won = np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))
    tiers = np.array([pair.tier for pair in pairs])
    personal = tiers != NOT_PERSONAL
    found = {}
    if personal.any():
        found["eval_loss"] = float(np.logaddexp(0, -margins[personal]).mean())
        found["eval_accuracy"] = float(won[personal].mean())
    for tier in sorted({str(tier) for tier in tiers if tier}):
        found[f"eval_accuracy_{tier.replace(' ', '_')}"] = float(won[tiers == tier].mean())
    return found


class _Run:
    """One training run with its data."""

    _train: PairTokens
    _test: PairTokens
    _swapped: PairTokens
    _sizes: dict[str, Any]

    def __init__(
        self, settings: RewardSettings, renderer: PromptRenderer, notes: list[str], say: Say
    ) -> None:
        self._settings, self._renderer, self._notes, self._say = settings, renderer, notes, say
        self._checkpoints = settings.out / CHECKPOINTS

    @property
    def parts(self) -> tuple[PairTokens, ...]:
        """All tokenised pairs."""
        return self._train, self._test, self._swapped

    def read(self, train: list[PreferencePair], test: list[PreferencePair], known: str) -> None:
        """Tokenise the pairs, and make swapped pairs from the training pairs."""
        settings, renderer, notes = self._settings, self._renderer, self._notes
        self._train = tokenise(train, renderer, notes, "pairs to train on")
        self._test = tokenise(test, renderer, notes, "pairs held out")
        if not self._train.pairs and settings.preset != "base":
            raise UserError(f"{settings.data}: no pair is left to train on. {' '.join(notes)}".rstrip())
        self._swapped = swapped(self._train.pairs, settings.swap, renderer, settings.seed, notes)
        personal = [pair for pair in self._train.pairs if pair.person]
        self._sizes = {
            "fingerprint": known,
            "personal": len(personal),
            "people": len({pair.person for pair in personal}),
            "general": len(self._train.pairs) - len(personal),
            "swapped": len(self._swapped.tokens),
            "held_out": len(self._test.pairs),
            "people_held_out": len({pair.person for pair in self._test.pairs if pair.person}),
        }

    def train(self, model: Any, tokenizer: Any) -> TrainedModel:
        """Train, evaluate and write."""
        from transformers import PrinterCallback

        from personafit.models.reward.scoring import RewardScorer
        from personafit.train.reward.callbacks import Curves, Progress, SparingCheckpoints, StopOnSignal
        from personafit.train.reward.trainer import PairTrainer

        settings, test, order = self._settings, self._test, self._all_epochs()
        arguments = training_arguments(
            settings, self._checkpoints, len(order), evaluate=bool(self._test.tokens)
        )
        for note in [*self._notes, self._plan(len(order), arguments.device.type)]:
            self._say(note)
        rows = self._checkpoints / ROWS  # row length that fitted into memory before
        before = int(json.loads(rows.read_text(encoding="utf-8"))) if rows.is_file() else None
        scorer = RewardScorer(model.to(arguments.device), settings.pack, before)
        scorer.say = self._say
        trainer = PairTrainer(
            scorer,
            with_adapter(model) if settings.lora else None,
            largest=self._largest(scorer.capacity),
            measure=lambda margins: figures(test.pairs, margins(test.tokens)),
            shrunk=self._keep_rows,
            args=arguments,
            train_dataset=order,
            eval_dataset=test.tokens or None,
            processing_class=tokenizer,
            callbacks=[
                Curves(settings.out),
                Progress(self._say),
                SparingCheckpoints(),
                StopOnSignal(self._say),  # last, so that no other callback cancels its checkpoint
            ],
        )
        trainer.remove_callback(PrinterCallback)  # replaced by our own progress messages
        if order:
            carry_on(trainer, self._checkpoints, self._say)
        return self._written(trainer, tokenizer)

    def _plan(self, pairs: int, device: str) -> str:
        """Return a message that describes the run."""
        sizes, settings = self._sizes, self._settings
        held = f"only measured on {sizes['held_out']:,}"
        if not pairs:
            return f"Nothing is trained. Pairs: {held}."
        what = "an adapter" if settings.lora else "all weights"
        swaps = f"{sizes['swapped']:,} swapped, " if sizes["swapped"] else ""
        return (
            f"Training {what} on {device}. Pairs: {sizes['personal']:,} personal (people: {sizes['people']:,}), "
            f"{sizes['general']:,} general, {swaps}{held}. Steps: {-(-pairs // settings.batch):,}, each of {settings.batch} pairs."
        )

    def _all_epochs(self) -> list[TokenPair]:
        """Return the pairs of all epochs in sequence, which the trainer treats as one epoch that can be resumed."""
        if not self._train.tokens:
            return []
        settings, batch = self._settings, max(1, self._settings.batch // processes())
        owners = [pair.owner for pair in self._train.pairs]
        # A swapped pair starts with two people, so it shares its beginning with no other pair.
        owners += [f"!{number}" for number in range(len(self._swapped.tokens))]
        tokens = [*self._train.tokens, *self._swapped.tokens]
        order = grouped_order(owners, batch, settings.epochs, settings.seed, settings.together)
        return [tokens[index] for index in order]

    def _largest(self, capacity: int) -> int:
        largest = max(part.largest(self._settings.pack == "tree") for part in self.parts)
        if largest > capacity:
            raise UserError(
                f"A pair takes {largest:,} tokens and a row holds {capacity:,}; allow fewer with --max-length."
            )
        return largest

    def _written(self, trainer: Any, tokenizer: Any) -> TrainedModel:
        settings = self._settings
        reports = self._quality(trainer.margins(self._test.tokens)) if self._test.pairs else {}
        facts: dict[str, Any] = {
            "kind": "reward",
            "format": FORMAT,
            "personafit": __version__,
            "base": settings.base,
            "rendering": self._renderer.fingerprint,
            "max_tokens": settings.max_tokens,
            "seed": settings.seed,
            "settings": settings.as_dict(),
            "data": self._sizes,
            # Lets a run report when the rater judges for people it was trained on.
            "fitted_on": sorted({fitted_mark(pair.person) for pair in self._train.pairs if pair.person}),
            "steps": trainer.state.global_step,
            "metrics": {kind: asdict(report) for kind, report in reports.items()},
            "notes": self._notes,
        }
        card = render_card("reward", **facts, reports=reports, accuracy_table=accuracy_table)
        save_weights(trainer, tokenizer, settings)
        if trainer.args.process_index == 0:
            write_facts(settings.out, facts, card)
            shutil.rmtree(self._checkpoints, ignore_errors=True)
        trainer.accelerator.wait_for_everyone()
        return TrainedModel(settings.out, facts, card)

    def _quality(self, margins: Floats) -> dict[str, QualityReport]:
        """Evaluate personal and general pairs separately, with intervals over people or prompts."""
        pairs = self._test.pairs
        kinds = {
            kind: [row for row, pair in enumerate(pairs) if bool(pair.person) == personal]
            for kind, personal in (("personal", True), ("general", False))
        }
        return {
            kind: quality([pairs[n] for n in rows], margins[rows]) for kind, rows in kinds.items() if rows
        }

    def _keep_rows(self, capacity: int) -> None:
        """Save a row length that fits into memory, for when the run is resumed."""
        self._checkpoints.mkdir(exist_ok=True)
        write_whole(self._checkpoints / ROWS, capacity)
