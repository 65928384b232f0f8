"""A real model of vectors on this machine, with no network: the `local` provider of `embed`."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

from perdure.base.errors import InternalError
from perdure.inference.local.onnx_vectors import Embedded, OnnxVectors
from perdure.inference.local.vector_files import NAME, SHA256, check_vectors
from perdure.inference.running_clock import RunningClock
from perdure.records.request import ChatRequest, EmbedRequest, Failure, FailureCause, Reply, Vectors
from perdure.records.usage import Usage

_LOG = logging.getLogger(__name__)

# More threads than this only take memory from each other.
_THREADS_MAX = 4


class Embedder(Protocol):
    """What gives a text's vector; called by several threads at once."""

    def embed(self, text: str) -> Embedded:
        """Give the vector of one text."""
        ...


class LocalVectorProvider:
    """Answers with vectors from weights on this machine.

    Making one checks that engine and files are here, and raises `UsageError` if not, before
    anything is created. `open` loads the model; `close` ends its threads. How many threads there
    are decides no vector.
    """

    def __init__(self, sha256: str = SHA256, *, load: Callable[[], Embedder] | None = None) -> None:
        """Check what is needed. `load` stands in for the real model in tests."""
        self._load = load if load is not None else partial(OnnxVectors, check_vectors(sha256))
        self._clock = RunningClock()
        self._threads: ThreadPoolExecutor | None = None
        self._model: Embedder | None = None
        self._was_cut = False

    @property
    def name(self) -> str:
        """What this provider is called in a study file."""
        return "local"

    async def open(self) -> None:
        """Load the model, in a thread."""
        if self._threads is not None:
            raise InternalError("A local model of vectors was opened twice.")
        self._threads = ThreadPoolExecutor(
            max(1, min(_THREADS_MAX, os.cpu_count() or 1)), thread_name_prefix="perdure-vectors"
        )
        loop = asyncio.get_running_loop()
        self._model = await loop.run_in_executor(self._threads, self._load)

    async def close(self) -> None:
        """End the threads, each after the text that it is at. May be called again."""
        threads, self._threads, self._model = self._threads, None, None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown, cancel_futures=True)

    async def chat(self, request: ChatRequest, timeout_s: float) -> Reply | Failure:  # noqa: ARG002
        """Fail as unsupported: a model of vectors does not speak."""
        return Failure(cause=FailureCause.UNSUPPORTED)

    async def embed(self, request: EmbedRequest, timeout_s: float) -> Vectors | Failure:
        """Give one vector per text, each the same whatever it is asked for with.

        After `timeout_s` the call fails, and its thread is free after the text that it is at.
        """
        if self._threads is None or self._model is None:
            raise InternalError("A local model of vectors was called before it was opened.")
        given_up = threading.Event()
        work = asyncio.get_running_loop().run_in_executor(
            self._threads, _all_of, self._model, request.texts, given_up
        )
        try:
            done = await self._clock.within(timeout_s, work)
        except TimeoutError:
            return Failure(cause=FailureCause.TIMEOUT)
        except Exception:  # noqa: BLE001 - native code: logged, and the call fails by a named cause
            _LOG.exception("The local model of vectors failed.")
            return Failure(cause=FailureCause.SERVER_ERROR)
        finally:
            given_up.set()
        self._say_cut(done)
        return Vectors(
            vectors=tuple(one.vector for one in done),
            served=NAME,
            usage=Usage(input_fresh=sum(one.tokens for one in done)),
        )

    def _say_cut(self, done: list[Embedded]) -> None:
        """Say once that a text is longer than what the model reads of it."""
        cut = next((one for one in done if one.beyond), None)
        if cut is not None and not self._was_cut:
            self._was_cut = True
            _LOG.warning(
                "A text has %d tokens more than the %d that %s reads; its vector is of its "
                "beginning. Later ones are not mentioned.",
                cut.beyond,
                cut.tokens,
                NAME,
            )


def _all_of(model: Embedder, texts: tuple[str, ...], given_up: threading.Event) -> list[Embedded]:
    done = []
    for text in texts:
        if given_up.is_set():
            break
        done.append(model.embed(text))
    return done
