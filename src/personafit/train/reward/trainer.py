"""Bradley–Terry training on rows of packed pairs, with the transformers trainer.

A batch of pairs is laid out in rows; the two answers of a pair are always in one row, so each row has a loss of its own and only one row's
activations are held at a time. Everything else (optimiser, schedule, mixed precision, checkpoints, resuming, logging, several processes) is
the transformers library's.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any

import torch
from torch.nn.functional import logsigmoid
from transformers import Trainer

from personafit._errors import UserError
from personafit.models.reward.packing import TokenRow
from personafit.models.reward.scoring import RewardScorer, out_of_memory


@dataclass(frozen=True)
class Rows:
    """A batch laid out in rows: pair k is sequences 2k (chosen) and 2k+1 (rejected)."""

    rows: list[TokenRow]
    sequences: list[list[int]]
    margins: list[float]

    @property
    def pairs(self) -> int:
        """Number of pairs in the batch."""
        return len(self.margins)


class PairTrainer(Trainer):
    """The transformers trainer with rows of packed pairs as batches, in the order of the data."""

    control: Any

    def __init__(
        self,
        scorer: RewardScorer,
        model: Any = None,
        largest: int = 1,
        measure: Callable[[Callable[[Sequence[Any]], Any]], dict[str, float]] | None = None,
        shrunk: Callable[[int], None] | None = None,
        **settings: Any,
    ) -> None:
        """Set up the trainer; `model` is trained instead of the scorer's own, `largest` is the largest pair in tokens.

        `measure` computes metrics from a function that maps pairs to margins; `shrunk` is called with the new row length after memory ran
        out.
        """
        self.scorer = scorer
        self._largest = largest
        self._measure = measure
        self._shrunk = shrunk
        trained = scorer.model if model is None else model
        # Wrappers of the model (several processes, mixed precision) call this, and so cover the whole computation.
        trained.forward = MethodType(lambda _model, **inputs: scorer.forward(**inputs), trained)
        super().__init__(model=trained, data_collator=self._lay_out, **settings)

    def _lay_out(self, pairs: Sequence[dict[str, Any]]) -> dict[str, Rows]:
        sequences = [pair[side] for pair in pairs for side in ("chosen_ids", "rejected_ids")]
        margins = [float(pair.get("margin") or 0.0) for pair in pairs]
        return {"rows": Rows(list(self.scorer.rows(sequences, together=2)), sequences, margins)}

    def _get_train_sampler(self, *_: Any) -> Any:
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def training_step(
        self, model: Any, inputs: dict[str, Any], num_items_in_batch: Any = None
    ) -> torch.Tensor:
        """Run forward and backward passes row by row, with shorter rows if memory runs out."""
        model.train()
        batch: Rows = inputs["rows"]
        while True:
            if max(map(len, batch.rows)) > self.scorer.capacity:  # laid out before rows were shortened
                rows = list(self.scorer.rows(batch.sequences, together=2))
                batch = Rows(rows, batch.sequences, batch.margins)
            try:
                total = self._rows_backward(model, batch)
                break
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
            # Outside the handler, so that the failed row's memory has been freed.
            model.zero_grad()  # a step is one batch, so no other gradients are lost
            self._shrink()
        self._refuse_infinite("loss", total)
        return total

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        self._refuse_infinite("gradient", torch.as_tensor(norm))  # before a checkpoint contains it
        return norm

    def _refuse_infinite(self, what: str, value: torch.Tensor) -> None:
        if not torch.isfinite(value):
            raise UserError(
                f"The {what} of step {self.state.global_step + 1} is not a finite number, so training stopped; the checkpoints "
                "before it are kept. Try a lower --learning-rate in another --out, or look for damaged weights in --model.",
                code=1,
            )

    def _rows_backward(self, model: Any, batch: Rows) -> torch.Tensor:
        total = torch.zeros((), device=self.args.device)
        count = self._most(len(batch.rows)) if self.is_fsdp_enabled else len(batch.rows)
        for place in range(count):
            # If processes synchronise in every forward pass, those with fewer rows repeat one with weight 0.
            row = batch.rows[min(place, len(batch.rows) - 1)]
            worth = 1.0 if place < len(batch.rows) else 0.0
            sums_up = place < count - 1 and self.args.world_size > 1 and not self.is_fsdp_enabled
            with self.accelerator.no_sync(model) if sums_up else contextlib.nullcontext():
                scores = model(**self.scorer.inputs(row))
                loss = worth * pair_loss(scores, row, batch.margins) / batch.pairs
                self.accelerator.backward(loss)
            total += loss.detach()
        return total

    def _most(self, count: int) -> int:
        """Return the largest count over all processes."""
        counts = torch.tensor(count, device=self.args.device)
        torch.distributed.all_reduce(counts, op=torch.distributed.ReduceOp.MAX)
        return int(counts)

    def _shrink(self) -> None:
        if self.args.world_size > 1:  # the other processes are waiting in the middle of a step
            if self._shrunk is not None:
                self._shrunk(self.scorer.capacity // 2)
            raise UserError(
                f"Memory ran out with rows of {self.scorer.capacity:,} tokens; the same command goes on from the last "
                "checkpoint with rows half as long.",
                code=1,
            )
        self.scorer.shrink(self._largest)
        if self._shrunk is not None:
            self._shrunk(self.scorer.capacity)

    def margins(self, pairs: Sequence[Any]) -> Any:
        """Return the score of chosen minus rejected for each pair, computed by all processes together."""
        sequences = [pair[side] for pair in pairs for side in ("chosen_ids", "rejected_ids")]
        model = self.model_wrapped
        was_training, world = model.training, self.args.world_size
        model.eval()
        scores = torch.zeros(len(sequences), device=self.args.device)
        # Half precision even if nothing was trained and so nothing has wrapped the model yet.
        with torch.no_grad(), self.accelerator.autocast():
            while True:
                try:
                    rows = list(self.scorer.rows(sequences))
                    for start in range(0, len(rows), world):
                        own = start + self.args.process_index
                        row = rows[min(own, len(rows) - 1)]
                        found = model(**self.scorer.inputs(row)).float()
                        if own < len(rows):
                            scores[torch.from_numpy(row.owners).to(scores.device)] = found
                    break
                except (RuntimeError, MemoryError) as error:
                    if not out_of_memory(error):
                        raise
                scores.zero_()
                self._shrink()
        if world > 1:
            torch.distributed.all_reduce(scores)
        model.train(was_training)
        return (scores[0::2] - scores[1::2]).double().cpu().numpy()

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Return the metrics on the held-out pairs, logged like the loss."""
        figures = {} if self._measure is None else self._measure(self.margins)
        self.log(dict(figures))
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, figures)
        return figures

    def floating_point_ops(self, inputs: Any) -> int:
        """Return 0: the library's estimate would ignore shared beginnings."""
        return 0


def pair_loss(scores: torch.Tensor, row: TokenRow, margins: Sequence[float] | None = None) -> torch.Tensor:
    """Return the sum of the Bradley–Terry losses of a row's pairs, with margins if given."""
    at = {int(owner): place for place, owner in enumerate(row.owners)}
    winners = [owner for owner in at if owner % 2 == 0]
    lead = (
        scores[[at[owner] for owner in winners]].float()
        - scores[[at[owner + 1] for owner in winners]].float()
    )
    if margins is not None and any(margins):
        lead = lead - torch.tensor([margins[owner // 2] for owner in winners], device=lead.device)
    return -logsigmoid(lead).sum()
