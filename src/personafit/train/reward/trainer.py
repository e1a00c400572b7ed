"""Bradley–Terry training on rows of packed pairs, by the standard trainer.

A batch of pairs becomes rows; the two answers of a pair are always in one row, so each row has a loss of its own and only
one row's activations are held at a time. Everything else (optimiser, schedule, mixed precision, checkpoints, resuming,
logging, several processes) is the transformers library's.
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
    """A batch of pairs laid out: pair k is sequences 2k (chosen) and 2k+1 (rejected)."""

    rows: list[TokenRow]
    sequences: list[list[int]]
    margins: list[float]

    @property
    def pairs(self) -> int:
        return len(self.margins)


class PairTrainer(Trainer):
    """The standard trainer with rows of packed pairs for batches, in the order of the data."""

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
        """`model` is what is trained when it is not the scorer's own, `largest` the tokens of the largest pair.

        `measure` makes figures of a function from pairs to margins; `shrunk` is told the new length of rows after memory ran out.
        """
        self.scorer = scorer
        self._largest = largest
        self._measure = measure
        self._shrunk = shrunk
        trained = scorer.model if model is None else model
        # Whatever wraps the model (for several processes, for mixed precision) calls this and sees all that is computed.
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
        model.train()
        batch: Rows = inputs["rows"]
        while True:
            if max(map(len, batch.rows)) > self.scorer.capacity:  # laid out before memory ran out
                rows = list(self.scorer.rows(batch.sequences, together=2))
                batch = Rows(rows, batch.sequences, batch.margins)
            try:
                total = self._rows_backward(model, batch)
                break
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
            # Outside of the handler, so that what the failed row held is free again.
            model.zero_grad()  # a step is one batch, so nothing of others is lost
            self._shrink()
        self._refuse_infinite("loss", total)
        return total

    def _get_grad_norm(self, model: Any, grad_norm: Any = None) -> Any:
        norm = super()._get_grad_norm(model, grad_norm=grad_norm)
        self._refuse_infinite("gradient", torch.as_tensor(norm))  # else the next checkpoint would hold it
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
            # Where processes wait for each other in every forward, those with fewer rows repeat one for nothing.
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
        counts = torch.tensor(count, device=self.args.device)
        torch.distributed.all_reduce(counts, op=torch.distributed.ReduceOp.MAX)
        return int(counts)

    def _shrink(self) -> None:
        if self.args.world_size > 1:  # the others are waiting in the middle of a step
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
        """Chosen minus rejected of each pair, computed by all processes together."""
        sequences = [pair[side] for pair in pairs for side in ("chosen_ids", "rejected_ids")]
        model = self.model_wrapped
        was_training, world = model.training, self.args.world_size
        model.eval()
        scores = torch.zeros(len(sequences), device=self.args.device)
        # Half precision also where nothing was trained, so nothing has wrapped the model yet.
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
        """The figures of the people held out, logged like the loss."""
        figures = {} if self._measure is None else self._measure(self.margins)
        self.log(dict(figures))
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, figures)
        return figures

    def floating_point_ops(self, inputs: Any) -> int:
        """Not counted: the standard estimate knows no shared beginnings."""
        return 0


def pair_loss(scores: torch.Tensor, row: TokenRow, margins: Sequence[float] | None = None) -> torch.Tensor:
    """The sum over the pairs of a row of how surprising it is that the chosen answer won, by its margin."""
    at = {int(owner): place for place, owner in enumerate(row.owners)}
    winners = [owner for owner in at if owner % 2 == 0]
    lead = (
        scores[[at[owner] for owner in winners]].float()
        - scores[[at[owner + 1] for owner in winners]].float()
    )
    if margins is not None and any(margins):
        lead = lead - torch.tensor([margins[owner // 2] for owner in winners], device=lead.device)
    return -logsigmoid(lead).sum()
