"""Vectors from an ONNX model: the only file that imports its engine, and only when it is loaded.

Each text goes through the model by itself, unpadded and on one thread, so that nothing it is asked
with, and no number of threads, can move its vector. Batches would be no faster: they are padded.
"""

from __future__ import annotations

import importlib
import math
from typing import Any

from perdure.base.errors import UsageError
from perdure.base.text import one_line, storable
from perdure.base.vectors import Vector, rounded
from perdure.inference.local.vector_files import VectorFiles
from perdure.records.record import Record

# What the model was trained to read, both ends' marks included.
TOKENS_MAX = 256
# Far more than so many tokens are made of; the tokenizer need not see the rest.
_READ_MAX = 50_000


class Embedded(Record):
    """A text's vector, of length 1 in 32-bit floats. `tokens` were read, `beyond` were not."""

    vector: Vector
    tokens: int
    beyond: int = 0


class OnnxVectors:
    """A model of vectors on the CPU. It may be used by several threads at once."""

    def __init__(self, files: VectorFiles) -> None:
        """Load the model.

        Raises:
            UsageError: the engine cannot load these files.

        """
        # Heavy, untyped, and an extra: imported by name when a model is loaded, not before.
        self._numpy: Any = importlib.import_module("numpy")
        onnxruntime: Any = importlib.import_module("onnxruntime")
        tokenizers: Any = importlib.import_module("tokenizers")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                files.model, options, providers=["CPUExecutionProvider"]
            )
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(files.vocabulary)
        except Exception as fault:  # native code reports a bad file by any of many types
            raise UsageError(
                f"The local model of vectors cannot be loaded: {one_line(str(fault), 300)}",
                where=one_line(files.model),
                remedy="Install the versions of onnxruntime and tokenizers that perdure asks for.",
            ) from fault
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # A text that spells out a mark, such as the end of a text, is nothing but a text.
        self._tokenizer.encode_special_tokens = True

    def embed(self, text: str) -> Embedded:
        """Give the vector of one text. What is beyond `TOKENS_MAX` tokens is not read."""
        encoding = self._tokenizer.encode(storable(text[:_READ_MAX]))
        ids = list(encoding.ids)
        beyond = max(0, len(ids) - TOKENS_MAX)
        if beyond:
            ids = [*ids[: TOKENS_MAX - 1], ids[-1]]
        tokens = self._numpy.array([ids], dtype=self._numpy.int64)
        hidden = self._session.run(
            None,
            {
                "input_ids": tokens,
                "attention_mask": self._numpy.ones_like(tokens),
                "token_type_ids": self._numpy.zeros_like(tokens),
            },
        )[0][0]
        # The mean of the tokens. Its length is 1 afterwards, so the sum has the same direction.
        total = hidden.astype(self._numpy.float64).sum(axis=0).tolist()
        length = math.sqrt(math.fsum(number * number for number in total))
        if not 0 < length < math.inf:
            raise ArithmeticError("the model gave a vector without a direction")
        (vector,) = rounded([[number / length for number in total]])
        return Embedded(vector=vector, tokens=len(ids), beyond=beyond)
