"""Weights of the transformers library, from a folder or the hub: finding and hashing them, and a queue that batches requests."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError  # nosec B403 # raised for a .bin file that holds more than tensors
from typing import Generic, TypeVar

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.chat import Unusable, one_line
from personafit.models.spec import Spec

NEEDS = "PyTorch and transformers are not installed; they come with pip install 'personafit[train]'"
ENDS = 1 << 20  # bytes sampled at each end of a file
# Samples in between, and bytes in each: any layer may have been fine-tuned.
PLACES, PLACE = 1024, 4096
TEXTS = (
    "adapter_config.json",
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
)
WEIGHTS = (".safetensors", ".bin", ".pt")


def source_of(spec: Spec) -> str:
    """Return the folder or hub name of a spec."""
    if not spec.name:
        raise UserError(f"{spec.text}: name a folder, or OWNER/NAME on the hub.")
    folder = Path(spec.name).expanduser()
    if folder.is_dir():
        if not any((folder / name).is_file() for name in ("config.json", "adapter_config.json")):
            raise UserError(
                f"{spec.text}: the folder holds no config.json, so no model of the transformers library."
            )
        return str(folder)
    if folder.is_absolute() or spec.name.count("/") != 1 or folder.exists():
        raise UserError(f"{spec.text}: there is no such folder, and it is no OWNER/NAME on the hub either.")
    return spec.name


def weights_hash(source: str, revision: str | None = None) -> str:
    """Return a hash of the weights, settings and tokenizer in a folder; on the hub, of the name and the revision."""
    folder = Path(source)
    if not folder.is_dir():
        return hash_text("hub", source, revision or "")
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.name in TEXTS or path.suffix in WEIGHTS:
            digest.update(f"{path.name}:{path.stat().st_size}:".encode())
            for part in telling_parts(path):
                digest.update(part)
    return digest.hexdigest()[:32]


def telling_parts(path: Path) -> Iterator[bytes]:
    """Yield samples from all over a file: enough to identify weights without reading gigabytes at every start."""
    size = path.stat().st_size
    with path.open("rb") as file:
        yield file.read(ENDS)
        if size > 2 * ENDS:
            for place in range(PLACES):
                file.seek(ENDS + place * (size - 2 * ENDS) // PLACES)
                yield file.read(PLACE)
        file.seek(max(0, size - ENDS))
        yield file.read(ENDS)


@contextmanager
def loading(name: str) -> Iterator[None]:
    """Turn errors of loading weights into an `Unusable` of one sentence."""
    try:
        yield
    except UnpicklingError as error:
        raise Unusable(f"{name}: the weights cannot be loaded (they hold more than numbers).") from error
    except (OSError, ValueError, RuntimeError, ImportError, KeyError, AttributeError) as error:
        raise Unusable(f"{name}: the weights cannot be loaded ({one_line(error)}).") from error


def switch(spec: Spec, option: str, default: str = "no") -> bool:
    """Return an option whose value is yes or no."""
    value = spec.options.get(option, default)
    if value not in ("yes", "no"):
        raise UserError(f"{spec.text}: {option} is yes or no, not '{value}'.")
    return value == "yes"


T = TypeVar("T")
R = TypeVar("R")


class Batcher(Generic[T, R]):
    """Collects requests and passes them in batches to a function on a thread of its own."""

    def __init__(
        self,
        work: Callable[[Sequence[T]], Sequence[R | Exception]],
        most: int,
        alike: Callable[[T], object] = lambda _: None,
    ) -> None:
        self._work = work
        self._most = most
        self._alike = alike
        """Returns what must be equal for requests to share a batch."""
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches")
        self._drain: asyncio.Task[None] | None = None

    async def submit(self, one: T) -> R:
        """Return the result for one request; if its batch failed, raise the batch's error."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append((one, future))
        if self._drain is None or self._drain.done():
            self._drain = loop.create_task(self._run())
        return await future

    async def close(self) -> None:
        """Wait for the current batch and cancel what is still queued."""
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        if self._drain is not None:
            await asyncio.gather(self._drain, return_exceptions=True)
        self._worker.shutdown(wait=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(0)  # lets other tasks submit requests first
            batch = self._next()
            if not batch:
                continue
            results: Sequence[R | Exception]
            try:
                results = await loop.run_in_executor(self._worker, self._work, [one for one, _ in batch])
            except Exception as error:
                results = [error] * len(batch)
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, Exception):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    def _next(self) -> list[tuple[T, "asyncio.Future[R]"]]:
        """Take the next batch of alike requests off the queue, skipping cancelled ones."""
        waiting = [one for one in self._waiting if not one[1].done()]
        kinds = [self._alike(request) for request, _ in waiting]
        chosen = [place for place, kind in enumerate(kinds) if kind == kinds[0]][: self._most]
        taken = set(chosen)
        self._waiting = [one for place, one in enumerate(waiting) if place not in taken]
        return [waiting[place] for place in chosen]
