"""What is asked of an agent that is driven alone: written once, into its ledger's head."""

from __future__ import annotations

from perdure.records.drive import PlacePolicy, RunPolicy
from perdure.records.record import Record
from perdure.records.study import ModelSpec


class Bounds(Record):
    """What a drive may take at most: turns, tokens, nano-units, seconds; None is no bound."""

    turns: int | None = None
    tokens: int | None = None
    money: int | None = None
    seconds: float | None = None


class Furnishing(Record):
    """The tools of an agent, and what it may do with them.

    `servers` are MCP servers by name: a command line, or an address. Those in `trusted` are taken
    at their word about which of their tools only read. With `commands` it can run commands of a
    shell, in a sandbox unless they are `unsandboxed`.
    """

    servers: dict[str, str] = {}
    trusted: tuple[str, ...] = ()
    commands: bool = False
    unsandboxed: bool = False
    hands_down: bool = False


class Branch(Record):
    """Where a drive branches off: of which drive in which folder, after which of its lines."""

    folder: str
    mother: str
    at: int
    asked: int
    chain: str


class Asked(Record):
    """Everything that a drive alone was asked for, where its endpoint is included.

    `room` is the folder that it works in, absolute where it is not in the drive's own folder.
    `rules` are the documents that it is told first, by name. Who answers is a `model`, or a
    `program` by its command line, which drives its own turns and `speaks` `acp` or `lines`.
    """

    format: int
    task: str
    goal: str
    model: ModelSpec | None = None
    program: str = ""
    speaks: str = ""
    room: str = "room"
    rules: dict[str, str] = {}
    policy: RunPolicy = RunPolicy()
    place: PlacePolicy = PlacePolicy()
    tools: Furnishing = Furnishing()
    bounds: Bounds = Bounds()
    tokens_max: int = 4096
    temperature: float = 0.0
    window: int = 0
    second_threshold: int = 65
    retries: int | None = None
    branch: Branch | None = None
