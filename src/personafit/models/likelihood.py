"""Log-probabilities of a given reply under a GGUF model, token by token.

The wheel's Python interface scores only generated tokens, but its library also exports llama.cpp's C interface, which is used
here. Only two layouts are relied on, the first numbers of the context's settings and the batch; the first is checked when a model is
loaded, so that a library with a different layout is rejected and not misread.
"""

import ctypes
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from personafit.models.chat import Message, Unanswerable, Unusable

SEQUENCES = 2  # prompts with and without a person alternate: each keeps its own cached prefix
CONTEXT_TOKENS = 4096  # of each sequence
BATCH = 256


class _Settings(ctypes.Structure):
    """An opaque structure passed by value, at least as large as the library's own."""

    _fields_ = (("numbers", ctypes.c_uint32 * 256),)


class _Batch(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.c_void_p),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    )


class _Message(ctypes.Structure):
    _fields_ = (("role", ctypes.c_char_p), ("content", ctypes.c_char_p))


# Discards the library's log output; the name keeps the callback alive.
_SILENCE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
    lambda _level, _text, _data: None
)


class LikelihoodModel:
    """A GGUF model that scores texts; prefixes shared with earlier prompts are cached."""

    def __init__(self, path: Path, threads: int) -> None:
        self._lib = lib = _library()
        lib.llama_log_set(_SILENCE, None)
        lib.llama_backend_init()
        self._model = lib.llama_model_load_from_file(str(path).encode(), lib.llama_model_default_params())
        if not self._model:
            raise Unusable(f"{path} is not a model that llama.cpp can load.")
        settings = lib.llama_context_default_params()
        wanted = (SEQUENCES * CONTEXT_TOKENS, BATCH, BATCH, SEQUENCES)
        settings.numbers[:4] = wanted
        self._context = lib.llama_init_from_model(self._model, settings)
        got = self._context and tuple(
            getattr(lib, name)(self._context)
            for name in ("llama_n_ctx", "llama_n_batch", "llama_n_ubatch", "llama_n_seq_max")
        )
        if got != wanted:
            raise Unusable(f"{path}: this version of xllamacpp cannot give likelihoods; 2026.10.11549 can.")
        if threads:
            lib.llama_set_n_threads(self._context, threads, threads)
        self._vocabulary = lib.llama_model_get_vocab(self._model)
        self._words = lib.llama_vocab_n_tokens(self._vocabulary)
        self._memory = lib.llama_get_memory(self._context)
        self._batch = lib.llama_batch_init(BATCH, 0, 1)
        self._held: list[list[int]] = [[] for _ in range(SEQUENCES)]
        self._used = list(range(SEQUENCES))  # sequences, the most recently used last

    def scores(self, messages: Sequence[Message], reply: str) -> list[float]:
        """Return the log-probability of each token of a reply to the messages."""
        prompt = self._tokens(self._templated(messages), special=True)
        answer = self._tokens(reply, special=False)
        if not answer:
            raise Unanswerable("an empty text has no likelihood.")
        if len(prompt) + len(answer) > CONTEXT_TOKENS:
            raise Unanswerable(
                f"the text has {len(prompt) + len(answer):,} tokens and the model reads {CONTEXT_TOKENS:,}."
            )
        # The prompt's last token is read with the reply, since its logits predict the reply's first token.
        head, rest = prompt[:-1], [prompt[-1], *answer[:-1]]
        sequence = self._choose(head)
        shared = _shared(head, self._held[sequence])
        self._lib.llama_memory_seq_rm(self._memory, sequence, shared, -1)
        self._held[sequence] = []  # the cache is invalid if reading fails
        for _ in self._read(head[shared:], shared, sequence, score=False):
            pass
        found = [
            _log_probability(logits, token)
            for logits, token in zip(self._read(rest, len(head), sequence, score=True), answer, strict=True)
        ]
        self._held[sequence] = head
        return found

    def close(self) -> None:
        self._lib.llama_batch_free(self._batch)
        self._lib.llama_free(self._context)
        self._lib.llama_model_free(self._model)

    def _choose(self, head: list[int]) -> int:
        """Pick the cached sequence that shares most with the prompt; break ties by least recent use."""

        def worth(sequence: int) -> int:
            held = self._held[sequence]
            return 2 * _shared(head, held) - len(held)

        best = max(self._used, key=worth)
        self._used.remove(best)
        self._used.append(best)
        return best

    def _read(self, tokens: list[int], place: int, sequence: int, score: bool) -> Iterator[Any]:
        batch = self._batch
        for start in range(0, len(tokens), BATCH):
            part = tokens[start : start + BATCH]
            batch.count = len(part)
            for index, token in enumerate(part):
                batch.token[index] = token
                batch.pos[index] = place + start + index
                batch.n_seq_id[index] = 1
                batch.seq_id[index][0] = sequence
                batch.logits[index] = score
            if code := self._lib.llama_decode(self._context, batch):
                raise Unanswerable(f"llama.cpp could not read the text (code {code}).")
            for index in range(len(part) if score else 0):
                logits = self._lib.llama_get_logits_ith(self._context, index)
                yield np.ctypeslib.as_array(logits, (self._words,))

    def _templated(self, messages: Sequence[Message]) -> str:
        """Render the messages with the model's own chat template, up to the start of its reply."""
        lines = (_Message * len(messages))(
            *(_Message(line["role"].encode(), _plain(line["content"]).encode()) for line in messages)
        )
        template = self._lib.llama_model_chat_template(self._model, None)
        room = 4096 + 4 * sum(len(line["content"]) for line in messages)
        text = ctypes.create_string_buffer(room)
        size = self._lib.llama_chat_apply_template(template, lines, len(messages), True, text, room)
        if not 0 < size <= room:
            raise Unusable("the model has no chat template that llama.cpp knows, so it gives no likelihoods.")
        return text.raw[:size].decode()

    def _tokens(self, text: str, special: bool) -> list[int]:
        data = text.encode()
        found = (ctypes.c_int32 * (len(data) + 16))()
        count = self._lib.llama_tokenize(
            self._vocabulary, data, len(data), found, len(found), special, special
        )
        return list(found[:count])


def _library() -> ctypes.CDLL:
    """Load llama.cpp's shared library and declare the functions used here."""
    try:
        import xllamacpp
    except ImportError:
        raise Unusable("likelihoods need the embedded engine: pip install 'personafit[embedded]'.") from None
    (path,) = Path(xllamacpp.__file__).parent.glob("xllamacpp*.so")
    lib = ctypes.CDLL(str(path))
    pointer, integer, text, flag = ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p, ctypes.c_bool
    natural, messages, tokens = ctypes.c_uint32, ctypes.POINTER(_Message), ctypes.POINTER(integer)
    for name, result, arguments in (
        ("llama_log_set", None, [pointer, pointer]),
        ("llama_backend_init", None, []),
        ("llama_model_default_params", _Settings, []),
        ("llama_context_default_params", _Settings, []),
        ("llama_model_load_from_file", pointer, [text, _Settings]),
        ("llama_init_from_model", pointer, [pointer, _Settings]),
        ("llama_n_ctx", natural, [pointer]),
        ("llama_n_batch", natural, [pointer]),
        ("llama_n_ubatch", natural, [pointer]),
        ("llama_n_seq_max", natural, [pointer]),
        ("llama_set_n_threads", None, [pointer, integer, integer]),
        ("llama_model_get_vocab", pointer, [pointer]),
        ("llama_vocab_n_tokens", integer, [pointer]),
        ("llama_get_memory", pointer, [pointer]),
        ("llama_memory_seq_rm", flag, [pointer, integer, integer, integer]),
        ("llama_batch_init", _Batch, [integer, integer, integer]),
        ("llama_batch_free", None, [_Batch]),
        ("llama_decode", integer, [pointer, _Batch]),
        ("llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), [pointer, integer]),
        ("llama_model_chat_template", text, [pointer, text]),
        ("llama_chat_apply_template", integer, [text, messages, ctypes.c_size_t, flag, text, integer]),
        ("llama_tokenize", integer, [pointer, text, integer, tokens, integer, flag, flag]),
        ("llama_free", None, [pointer]),
        ("llama_model_free", None, [pointer]),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common prefix."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))


def _log_probability(logits: Any, token: int) -> float:
    highest = logits.max()
    return float(logits[token] - highest) - float(np.log(np.exp(logits - highest).sum(dtype=np.float64)))


def _plain(text: str) -> str:
    """Escape text that the template would read as its special tokens, or the library as the end of the text."""
    return text.replace("<|", "< |").replace("\0", "\ufffd")
