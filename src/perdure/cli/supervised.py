"""What the words of `perdure supervise` mean: a subject and its settings, or all that is wrong."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.base.errors import HeldError, TakenError, UsageError
from perdure.base.text import one_line
from perdure.cli.reading import Reading

if TYPE_CHECKING:
    from perdure.supervise.command import Command
    from perdure.supervise.ends import Kind
    from perdure.supervise.general import Runs
    from perdure.supervise.settings import Check, Settings
    from perdure.supervise.subject import Subject

Make = Callable[["Runs"], "Subject"]

# Options of `perdure run` that `perdure resume` has too, and whether each has a value.
_OF_RESUME = {
    "--workers": True,
    "--step-limit": True,
    "--worker-memory": True,
    "--network-fs": False,
    "--quiet": False,
    "-q": False,
}
_NOT_PASSED = {
    "--out": "Give it before the `--`.",
    "--json": "It belongs to the supervisor: give it before the `--`.",
    "--only": "A run is accepted whole; drive single cells with `perdure run --only`.",
    "--force": "Force it once by hand, with `perdure resume`; that is recorded. Then supervise it.",
}
_FOLDER = ".supervise"
_CODE_MAX = 255
_CODE_DIGITS = 3
# What asks for an end, what cannot be caught, and what only a terminal has a use for.
_ENDING = frozenset(
    {
        signal.SIGKILL,
        signal.SIGSTOP,
        signal.SIGTERM,
        signal.SIGINT,
        signal.SIGHUP,
        signal.SIGTSTP,
    }
)


@dataclass(frozen=True, kw_only=True)
class Words:
    """What the command line says of the run."""

    study: str = ""
    rest: tuple[str, ...] = ()
    out: str = ""
    start: str = ""
    resume: str = ""
    exists: str = ""
    progress: str = ""
    artifact: str = ""
    target: str = ""
    distinct: bool = False
    steps: str = ""
    busy: str = ""
    store_head: str = ""
    artifact_head: str = ""
    artifact_files: tuple[str, ...] = ()
    shell: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Meant:
    """What the words mean: a subject, and where it is.

    `home` is the supervisor's folder if no other one is given, and `named_by` the option that it
    follows from; `store` is the run's, if it is known, and `written` are the folders that the run
    writes to, its own first.
    """

    make: Make
    home: Path
    named_by: str
    store: Path | None
    written: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the command line says of the supervisor."""

    attempts: str
    attempts_first: str
    patience_time: str
    pause: str
    pause_max: str
    stall: str
    heartbeat: str
    heartbeat_time: str
    attempt_limit: str
    total_limit: str
    grace: str
    stop_grace: str
    poll: str
    predicate_time: str
    predicate_errors: str
    ends: tuple[str, ...]
    guard: str
    dump_signal: str
    hooks: Mapping[str, str] = field(default_factory=dict)
    health: tuple[str, ...]
    arm: tuple[str, ...]
    warn: tuple[str, ...]
    log_size: str
    logs: str
    mask_env: tuple[str, ...]
    disk_floor: str
    disk_wait: str


def native(words: Words, reading: Reading) -> Meant:
    """Give what makes a study of ours a subject, and its places.

    Something may be missing, or not go with a study or with `perdure run`.
    """
    from perdure.supervise.book import FOLDER_NAME  # noqa: PLC0415 - heavy
    from perdure.supervise.native import REGISTRY, Native  # noqa: PLC0415 - heavy

    theirs = {
        "--start": words.start,
        "--resume": words.resume,
        "--exists": words.exists,
        "--progress": words.progress,
        "--artifact": words.artifact,
        "--target": words.target,
        "--steps": words.steps,
        "--busy": words.busy,
        "--store-head": words.store_head,
        "--artifact-head": words.artifact_head,
        "--artifact-file": words.artifact_files,
        "--distinct": words.distinct,
    }
    if named := [name for name, value in theirs.items() if value not in ("", (), False)]:
        reading.refuse(
            f"{', '.join(named)} and a study (or --out) do not go together.",
            remedy="A study needs only `perdure supervise STUDY --out DIR`; another runner needs "
            "neither STUDY nor --out.",
        )
    if not words.study or not words.out:
        reading.refuse(
            "A study needs --out, and --out a study.",
            remedy="Write `perdure supervise STUDY --out DIR`.",
        )
    for_run = not reading.take(lambda: _resume_takes(words.rest), instead=True)
    folder = Path(words.out)
    if words.study and words.out:
        reading.take(lambda: _require_words(words), None)

    def make(run: Runs) -> Subject:
        return Native(words.study, folder, run, words=words.rest, for_run=for_run)

    return Meant(
        make=make,
        home=folder / FOLDER_NAME,
        named_by="--out",
        store=folder / REGISTRY,
        written=(folder,),
    )


def general(words: Words, reading: Reading) -> Meant:
    """Give what makes any runner a subject, and its places.

    Something may be missing, or be no command.
    """
    from perdure.supervise.command import Command, is_path, parse  # noqa: PLC0415 - heavy
    from perdure.supervise.general import Asked, General  # noqa: PLC0415 - heavy
    from perdure.supervise.quantity import number  # noqa: PLC0415 - heavy

    reading.take(lambda: _require_all(words), None)
    nothing = Command(words=(), text="")

    def command(text: str, option: str) -> Command:
        # What is missing is told already.
        if not text:
            return nothing
        return reading.take(lambda: parse(text, option, shell=words.shell), nothing)

    def optional(text: str, option: str) -> Command | None:
        return command(text, option) if text else None

    at_path = is_path(words.exists)
    store = Path(parse(words.exists, "--exists").words[0]) if at_path else None
    if bool(words.store_head) is not bool(words.artifact_head):
        reading.refuse(
            "--store-head and --artifact-head are compared with each other.", remedy="Give both."
        )
    asked = Asked(
        start=command(words.start, "--start"),
        resume=command(words.resume, "--resume"),
        exists=store if store is not None else command(words.exists, "--exists"),
        progress=command(words.progress, "--progress"),
        artifact=command(words.artifact, "--artifact"),
        target=reading.take(lambda: number(words.target, "--target"), 1) if words.target else 1,
        distinct=words.distinct,
        steps=optional(words.steps, "--steps"),
        busy=optional(words.busy, "--busy"),
        store_head=optional(words.store_head, "--store-head"),
        artifact_head=optional(words.artifact_head, "--artifact-head"),
        files=tuple(Path(file) for file in words.artifact_files),
    )
    # Whoever supervises the same run from here finds the same folder.
    run = str(store.absolute()) if store is not None else words.exists
    key = hashlib.sha256(run.encode()).hexdigest()[:12]
    return Meant(
        make=lambda runs: General(asked, runs),
        home=Path(_FOLDER) / key,
        named_by="--dir",
        store=store,
        written=(
            store.parent if store is not None else Path(),
            *(file.parent for file in asked.files),
        ),
    )


def settings_of(
    limits: Limits, meant: Meant, folder: str, shell: tuple[str, ...], reading: Reading
) -> Settings:
    """Read the limits. `folder` is the one that is given for the supervisor's own files, if any."""
    from perdure.supervise.backoff import Backoff  # noqa: PLC0415 - heavy
    from perdure.supervise.command import parse  # noqa: PLC0415 - heavy
    from perdure.supervise.escalation import Graces  # noqa: PLC0415 - heavy
    from perdure.supervise.liveness import Deadlines  # noqa: PLC0415 - heavy
    from perdure.supervise.patience import Allowance  # noqa: PLC0415 - heavy
    from perdure.supervise.quantity import number, seconds, size  # noqa: PLC0415 - heavy
    from perdure.supervise.settings import Event, Settings  # noqa: PLC0415 - heavy

    def time(text: str, option: str) -> float:
        return reading.take(lambda: seconds(text, option), 1.0)

    def bytes_(text: str, option: str) -> int:
        return reading.take(lambda: size(text, option), 1)

    def count(text: str, option: str) -> int:
        return reading.take(lambda: number(text, option), 1)

    def command(text: str, option: str) -> Command | None:
        return reading.take(lambda: parse(text, option, shell=shell) if text else None, None)

    home = Path(folder) if folder else meant.home
    poll_s = time(limits.poll, "--poll")
    if not poll_s:
        reading.refuse("--poll must be more than 0.")
    backoff = Backoff(
        first_s=time(limits.pause, "--pause"), cap_s=time(limits.pause_max, "--pause-max")
    )
    if backoff.first_s > backoff.cap_s:
        reading.refuse(
            f"--pause ({limits.pause}) is longer than --pause-max ({limits.pause_max}).",
            remedy="Give a longer --pause-max, too.",
        )
    attempts = count(limits.attempts, "--patience")
    hooks = {Event(name): command(text, f"--on-{name}") for name, text in limits.hooks.items()}
    predicate_s, grace_s = (
        time(limits.predicate_time, "--predicate-time"),
        time(limits.grace, "--grace"),
    )
    return Settings(
        folder=home,
        option="--dir" if folder else meant.named_by,
        store=meant.store,
        watched=(*meant.written, home),
        allowance=Allowance(
            attempts=attempts,
            seconds=time(limits.patience_time, "--patience-time"),
            before_first=count(limits.attempts_first, "--patience-first")
            if limits.attempts_first
            else attempts,
        ),
        backoff=backoff,
        deadlines=Deadlines(
            stall_s=time(limits.stall, "--stall"),
            heartbeat_s=time(limits.heartbeat_time, "--heartbeat-time"),
            attempt_s=time(limits.attempt_limit, "--attempt-limit"),
            total_s=time(limits.total_limit, "--total-limit"),
        ),
        graces=Graces(grace_s=grace_s, stop_s=time(limits.stop_grace, "--stop-grace")),
        table=_table(limits.ends, reading),
        hooks={event: hook for event, hook in hooks.items() if hook is not None},
        checks=_checks(limits, shell, reading),
        heartbeat=Path(limits.heartbeat) if limits.heartbeat else None,
        guard=command(limits.guard, "--guard"),
        dump_signal=reading.take(lambda: _signal(limits.dump_signal), None),
        secret_names=limits.mask_env,
        poll_s=poll_s,
        look_s=min(0.5, poll_s),
        predicate_s=predicate_s,
        hook_s=min(60.0, predicate_s),
        leave_s=min(5.0, grace_s),
        errors_max=count(limits.predicate_errors, "--predicate-errors"),
        log_bytes=bytes_(limits.log_size, "--log-size"),
        logs_max=count(limits.logs, "--logs"),
        disk_floor=bytes_(limits.disk_floor, "--disk-floor"),
        disk_wait_s=time(limits.disk_wait, "--disk-wait"),
    )


def _require_words(words: Words) -> None:
    """Refuse what `perdure run` would not take, before anything is made."""
    from perdure.cli.entry import commands, usage_of  # noqa: PLC0415 - it has this command too

    given = [words.study, "--out", words.out, *words.rest]
    try:
        commands().commands["run"].make_context("perdure run", given).close()
    except Exception as error:
        usage = usage_of(error)
        if usage is None:
            raise
        raise usage from error


def require_place(folder: Path) -> None:
    """Refuse a folder that no run can have, before anything is made in it.

    Raises:
        TakenError: it is none, or holds something else.

    """
    from perdure.runner import place  # noqa: PLC0415 - heavy

    try:
        place.require_place(folder)
    except TakenError:
        raise
    except (HeldError, OSError):
        # Who begins a run there may be gone in a moment: that is for an attempt to find out.
        return


def _require_all(words: Words) -> None:
    needed = {
        "--start": words.start,
        "--resume": words.resume,
        "--exists": words.exists,
        "--progress": words.progress,
        "--artifact": words.artifact,
        "--target": words.target,
    }
    missing = [name for name, value in needed.items() if not value]
    if not missing:
        return
    remedy = f"Add {', '.join(missing)}."
    if "--exists" in missing:
        remedy = (
            f"{remedy} Whether there is a run decides between start and resume; progress does not. "
            "Add a line that names its store, such as\n"
            '  --exists "$OUT/run.db" \\'
        )
    if len(missing) == len(needed):
        remedy = "Write `perdure supervise STUDY --out DIR`, or see `perdure supervise --help`."
    raise UsageError(f"Nothing says {_what(missing)}.", remedy=remedy)


def _what(missing: list[str]) -> str:
    meanings = {
        "--start": "how a run is started",
        "--resume": "how it is resumed",
        "--exists": "whether there is a run",
        "--progress": "how far it is",
        "--artifact": "what its artifact holds",
        "--target": "what it has to hold",
    }
    return ", ".join(f"{meanings[name]} ({name})" for name in missing)


def _resume_takes(rest: tuple[str, ...]) -> bool:
    """Say whether `perdure resume` takes all of these words for `perdure run` too."""
    takes_all, has_value = True, False
    for word in rest:
        name, mark, _ = word.partition("=")
        if has_value:
            has_value = False
        elif name in _NOT_PASSED:
            raise UsageError(f"{name} cannot be passed on to the run.", remedy=_NOT_PASSED[name])
        elif name in _OF_RESUME:
            has_value = _OF_RESUME[name] and not mark
        else:
            takes_all = False
    return takes_all


def _table(ends: tuple[str, ...], reading: Reading) -> dict[int, Kind]:
    from perdure.supervise.ends import USUAL, Kind  # noqa: PLC0415 - heavy

    table, said = dict(USUAL), dict[int, str]()
    for text in ends:
        code, _, kind = text.partition("=")
        if not (code.isascii() and code.isdigit() and len(code) <= _CODE_DIGITS) or (
            int(code) > _CODE_MAX or kind not in set(Kind)
        ):
            reading.refuse(
                f"--end {one_line(text)!r} says nothing.",
                remedy=f"Write --end CODE={'|'.join(Kind)}, with a code up to {_CODE_MAX}.",
            )
        elif (int(code) == 0) is not (kind == Kind.DONE):
            reading.refuse(f"--end {text}: Exit status 0 is done, and no other one is.")
        elif said.setdefault(int(code), kind) != kind:
            reading.refuse(f"--end says of {code} that it is {said[int(code)]}, and {kind}.")
        else:
            table[int(code)] = Kind(kind)
    return table


def _checks(limits: Limits, shell: tuple[str, ...], reading: Reading) -> tuple[Check, ...]:
    from perdure.supervise.command import Command, parse  # noqa: PLC0415 - heavy
    from perdure.supervise.health import Arming  # noqa: PLC0415 - heavy
    from perdure.supervise.quantity import seconds  # noqa: PLC0415 - heavy
    from perdure.supervise.settings import Check  # noqa: PLC0415 - heavy

    commands: dict[str, Command] = {}
    nothing = Command(words=(), text="")
    for name, text in _all_named(limits.health, "--health", reading):
        if name in commands:
            reading.refuse(f"There are two health checks {name!r}.", remedy="Name one otherwise.")
        commands[name] = reading.take(lambda: parse(text, "--health", shell=shell), nothing)  # noqa: B023 - called at once
    after_s: dict[str, float] = {}
    from_units: dict[str, int] = {}
    for name, when in _all_named(limits.arm, "--arm", reading):
        if when.isascii() and when.isdigit():
            from_units[name] = int(when)
        else:
            after_s[name] = reading.take(lambda: seconds(when, "--arm"), 0.0)  # noqa: B023 - at once
    for name in sorted({*after_s, *from_units, *limits.warn} - set(commands)):
        reading.refuse(f"There is no health check {name!r}.", remedy="Name one of --health.")
    return tuple(
        Check(
            name=name,
            command=command,
            arming=Arming(after_s=after_s.get(name, 0.0), from_units=from_units.get(name, 0)),
            only_warns=name in limits.warn,
        )
        for name, command in commands.items()
    )


def _all_named(texts: tuple[str, ...], option: str, reading: Reading) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, rest = reading.take(lambda: _named(text, option), ("", ""))  # noqa: B023 - at once
        if name:
            yield name, rest


def _named(text: str, option: str) -> tuple[str, str]:
    name, mark, rest = text.partition("=")
    if not mark or not name.strip() or not rest.strip():
        raise UsageError(f"{option} {text!r} says nothing.", remedy=f"Write {option} NAME=...")
    return name.strip(), rest.strip()


def _signal(name: str) -> int | None:
    if not name:
        return None
    try:
        found = signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"]
    except KeyError as error:
        raise UsageError(
            f"There is no signal {name!r}.", remedy="Write --dump-signal USR1, or another name."
        ) from error
    if found in _ENDING:
        raise UsageError(
            f"--dump-signal {name} ends a run, or stops it, and asks it for nothing.",
            remedy="Name the signal at which it writes its stacks, such as USR1.",
        )
    return int(found)
