"""A training run from its settings to a folder: read, render, train or go on, measure on people held out, write.

The same command goes on from the last checkpoint; once the result is written it does nothing. Under a launcher each process
runs all of this, and the first one writes.
"""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from personafit import __version__
from personafit._errors import UserError
from personafit.models.reward.rendering import PromptRenderer
from personafit.raters.fitted.rater import fitted_mark
from personafit.training.reward.base import load_base, refuse_unreadable, with_adapter
from personafit.training.reward.pairs import divided, fingerprint, grouped_order, read
from personafit.training.reward.result import (
    FORMAT,
    TrainedReward,
    card_of,
    claim,
    figures,
    held_out_quality,
    write_facts,
)
from personafit.training.reward.saving import explained, last_checkpoint, save_weights
from personafit.training.reward.settings import (
    RewardSettings,
    check,
    refuse_unusable_logger,
    training_arguments,
)
from personafit.training.reward.tokens import PairTokens, TokenPair, swapped, tokenise

CHECKPOINTS = "checkpoints"
ROWS = "rows.json"


@dataclass(frozen=True)
class _Data:
    train: PairTokens
    test: PairTokens
    swapped: PairTokens
    fingerprint: str

    @property
    def sizes(self) -> dict[str, Any]:
        """How much there is of what."""
        personal = [pair for pair in self.train.pairs if pair.person]
        return {
            "fingerprint": self.fingerprint,
            "personal": len(personal),
            "people": len({pair.person for pair in personal}),
            "general": len(self.train.pairs) - len(personal),
            "swapped": len(self.swapped.tokens),
            "held_out": len(self.test.pairs),
            "people_held_out": len({pair.person for pair in self.test.pairs if pair.person}),
        }

    @property
    def parts(self) -> tuple[PairTokens, ...]:
        """All that the model reads."""
        return self.train, self.test, self.swapped

    @property
    def fitted_on(self) -> list[str]:
        """Marks of the people trained on, so that a run can say when the rater meets them again."""
        return sorted({fitted_mark(pair.person) for pair in self.train.pairs if pair.person})


def train_reward(settings: RewardSettings, say: Callable[[str], None]) -> TrainedReward:
    """Train, or go on with, the model the settings ask for."""
    check(settings)
    refuse_unusable_logger(settings.report_to)
    say = say if os.environ.get("RANK", "0") == "0" else lambda _: None
    notes: list[str] = []
    train, test = divided(settings, read(settings, notes), notes)
    known = fingerprint([*train, *test])
    asked = {**settings.as_dict(), "pairs": known, "processes": int(os.environ.get("WORLD_SIZE", "1"))}
    done = claim(settings.out, asked)
    if done is not None:
        say(f"{settings.out} holds the result of this command already.")
        return done
    say(f"Loading {settings.base}.")
    model, tokenizer = load_base(settings.base, settings.seed)
    renderer = PromptRenderer(tokenizer, settings.max_tokens)
    if not getattr(tokenizer, "chat_template", None):
        notes.append(f"{settings.base} has no chat template: person, question and answer are joined plainly.")
    learned = tokenise(train, renderer, notes, "pairs to train on")
    data = _Data(
        learned,
        tokenise(test, renderer, notes, "pairs held out"),
        swapped(learned.pairs, settings.swap, renderer, settings.seed, notes),
        known,
    )
    if not data.train.pairs and settings.preset != "base":
        raise UserError(f"{settings.data}: no pair is left to train on. {' '.join(notes)}".rstrip())
    refuse_unreadable(
        model, max(part.longest for part in data.parts), max(part.highest for part in data.parts), settings
    )
    run = _Run(settings, data, renderer, notes, say)
    with explained(settings.out, settings.out / CHECKPOINTS):
        return run.train(model, tokenizer)


class _Run:
    """One run with its data at hand."""

    def __init__(
        self,
        settings: RewardSettings,
        data: _Data,
        renderer: PromptRenderer,
        notes: list[str],
        say: Callable[[str], None],
    ) -> None:
        self.settings, self.data, self.renderer, self.notes = settings, data, renderer, notes
        self._checkpoints = settings.out / CHECKPOINTS
        self._order = self._all_epochs()
        self._arguments = training_arguments(
            settings, self._checkpoints, len(self._order), evaluate=bool(data.test.tokens)
        )
        self._say = say

    def train(self, model: Any, tokenizer: Any) -> TrainedReward:
        """Train, measure and write."""
        from transformers import PrinterCallback

        from personafit.models.reward.scoring import RewardScorer
        from personafit.training.reward.callbacks import Curves, Progress, SparingCheckpoints, StopOnSignal
        from personafit.training.reward.trainer import PairTrainer

        for note in [*self.notes, self._plan()]:
            self._say(note)
        scorer = RewardScorer(model.to(self._arguments.device), self.settings.pack, self._rows_before())
        scorer.say = self._say
        trainer = PairTrainer(
            scorer,
            with_adapter(model) if self.settings.lora else None,
            largest=self._largest(scorer.capacity),
            measure=lambda margins: figures(self.data.test.pairs, margins(self.data.test.tokens)),
            shrunk=self._keep_rows,
            args=self._arguments,
            train_dataset=self._order,
            eval_dataset=self.data.test.tokens or None,
            processing_class=tokenizer,
            callbacks=[
                Curves(self.settings.out),
                Progress(self._say),
                SparingCheckpoints(),
                StopOnSignal(self._say),  # last: what it keeps is kept
            ],
        )
        trainer.remove_callback(PrinterCallback)  # our own lines are for people
        if self._order:
            found = last_checkpoint(self._checkpoints)
            if found is not None:
                self._say(f"Going on from {found}.")
            trainer.train(resume_from_checkpoint=None if found is None else str(found))
            if trainer.state.global_step < trainer.state.max_steps:
                raise UserError(
                    f"Interrupted after step {trainer.state.global_step}; the same command goes on from there.",
                    code=130,
                )
        return self._written(trainer, tokenizer)

    def _plan(self) -> str:
        """What is about to be done, for people."""
        sizes, settings = self.data.sizes, self.settings
        held = f"only measured on {sizes['held_out']:,}"
        if not self._order:
            return f"Nothing is trained. Pairs: {held}."
        steps = -(-len(self._order) // settings.batch)
        swaps = f"{sizes['swapped']:,} swapped, " if sizes["swapped"] else ""
        what = "an adapter" if settings.lora else "all weights"
        return (
            f"Training {what} on {self._arguments.device.type}. Pairs: {sizes['personal']:,} personal (people: {sizes['people']:,}), "
            f"{sizes['general']:,} general, {swaps}{held}. Steps: {steps:,}, each of {settings.batch} pairs."
        )

    def _all_epochs(self) -> list[TokenPair]:
        """The pairs of all epochs, one after the other: to the trainer it is one long epoch, resumed within."""
        if not self.data.train.tokens:
            return []
        batch = max(1, self.settings.batch // int(os.environ.get("WORLD_SIZE", "1")))
        # A swapped pair begins with two people, so it shares a beginning with no other.
        owners = [pair.owner for pair in self.data.train.pairs]
        owners += [f"!{number}" for number in range(len(self.data.swapped.tokens))]
        tokens = [*self.data.train.tokens, *self.data.swapped.tokens]
        order = grouped_order(owners, batch, self.settings.epochs, self.settings.seed, self.settings.together)
        return [tokens[index] for index in order]

    def _largest(self, capacity: int) -> int:
        share = self.settings.pack == "tree"
        largest = max(part.largest(share) for part in self.data.parts)
        if largest > capacity:
            raise UserError(
                f"A pair takes {largest:,} tokens and a row holds {capacity:,}; allow fewer with --max-length."
            )
        return largest

    def _written(self, trainer: Any, tokenizer: Any) -> TrainedReward:
        settings, test = self.settings, self.data.test
        reports = held_out_quality(test.pairs, trainer.margins(test.tokens)) if test.pairs else {}
        facts: dict[str, Any] = {
            "kind": "reward",
            "format": FORMAT,
            "personafit": __version__,
            "base": settings.base,
            "rendering": self.renderer.fingerprint,
            "max_tokens": settings.max_tokens,
            "seed": settings.seed,
            "settings": settings.as_dict(),
            "data": self.data.sizes,
            "fitted_on": self.data.fitted_on,
            "steps": trainer.state.global_step,
            "metrics": {kind: asdict(report) for kind, report in reports.items()},
            "notes": self.notes,
        }
        card = card_of(facts, reports)
        save_weights(trainer, tokenizer, settings)
        if trainer.args.process_index == 0:
            write_facts(settings.out, facts, card)
            shutil.rmtree(self._checkpoints, ignore_errors=True)
        trainer.accelerator.wait_for_everyone()
        return TrainedReward(settings.out, facts, card)

    def _keep_rows(self, capacity: int) -> None:
        """Remember a length of rows that memory allows, for when the run is gone on with."""
        self._checkpoints.mkdir(exist_ok=True)
        partial = self._checkpoints / f".{ROWS}.partial"
        partial.write_text(json.dumps(capacity), encoding="utf-8")
        os.replace(partial, self._checkpoints / ROWS)

    def _rows_before(self) -> int | None:
        path = self._checkpoints / ROWS
        return int(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None
