"""`perdure supervise`: keep a run alive, ours or any other, and accept it on what it left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.arguments import Json
from perdure.cli.command import PlainCommand
from perdure.cli.reading import Reading
from perdure.cli.supervised import Limits, Words, general, native, require_place, settings_of

if TYPE_CHECKING:
    from perdure.supervise.settings import Settings
    from perdure.supervise.verdict import Verdict

HELP = """\
Keep a run alive for hours or days, and accept it on what it left.

A run is started if there is none and resumed if there is one. An attempt that dies is
followed by another one, after a pause that grows. The run is given up (exit code 3)
after three attempts AND 30 minutes in a row without progress, and accepted only when
its artifact holds the target AND its process ended with exit status 0. A pause of the
run (budget, disk, request) ends the supervisor with the run's own code, and so does an
end that no attempt would mend. Ctrl-C is passed on, waited for, and never followed by
a resume; a second one kills.

With a study, the run is `perdure run STUDY --out DIR`; words after `--` go to it. A run
that was begun with other words is refused, and named is what differs.
Without one, it is any program: --start, --resume, --exists, --progress, --artifact
and --target say how it is begun, found and counted. Commands run without a shell,
unless --shell is given. docs/supervising.md explains every option.

\b
Exit codes:
  0   accepted, or accepted before
  3   given up: no progress, or a health check found it useless
  4   a predicate does not work, or a check gave no answer
  5   it came to its end, and the artifact cannot be accepted
  73  another supervisor looks after this run, or DIR holds something else
  74  its files or processes fail, or the run that is there is damaged
  78  the study or its words moved since the run began
  else the run's own, or that of --guard

\b
Example:
  perdure supervise study.yaml --out runs/first
  perdure supervise study.yaml --out runs/first -- --workers 4
  perdure supervise --start "python run.py start --out out" \\
      --resume "python run.py resume --out out" --exists out/run.db \\
      --distinct --progress "grep -o ^day-[0-9]*, out/log.csv" \\
      --artifact "grep -o ^day-[0-9]*, out/days.csv" --target 130
"""


def _option(*names: str, metavar: str, text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, metavar=metavar, help=text, show_default=False
    )
    return option


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("supervise", help=HELP, cls=PlainCommand)(supervise)


Given = Annotated[
    list[str] | None,
    typer.Argument(metavar="[STUDY] [-- OPTION...]", help="A study, and words for `perdure run`."),
]
Out = Annotated[str, _option("--out", metavar="DIR", text="Folder of a study's run.")]
Start = Annotated[str, _option("--start", metavar="CMD", text="Starts a run.")]
Resume = Annotated[str, _option("--resume", metavar="CMD", text="Resumes a run.")]
Exists = Annotated[
    str,
    _option(
        "--exists",
        metavar="PATH|CMD",
        text="The run's store; or a command: 0 there is a run, 1 there is none, 74 a damaged one.",
    ),
]
Progress = Annotated[
    str, _option("--progress", metavar="CMD", text="Prints how many units are logged.")
]
ArtifactCommand = Annotated[
    str, _option("--artifact", metavar="CMD", text="Prints how many units the artifact holds.")
]
Target = Annotated[str, _option("--target", metavar="N", text="Units the artifact must hold.")]
Dir = Annotated[str, _option("--dir", metavar="DIR", text="Folder of the supervisor's own files.")]
Shell = Annotated[bool, typer.Option("--shell", help="Run the commands by a shell.")]
Distinct = Annotated[
    bool,
    typer.Option(
        "--distinct", help="--progress and --artifact print names of units: different ones count."
    ),
]
Steps = Annotated[
    str, _option("--steps", metavar="CMD", text="Prints a finer count, for patience and stalls.")
]
Busy = Annotated[
    str, _option("--busy", metavar="CMD", text="Ends with 0 while the run waits for a call.")
]
StoreHead = Annotated[
    str, _option("--store-head", metavar="CMD", text="Prints where the store ends.")
]
ArtifactHead = Annotated[
    str, _option("--artifact-head", metavar="CMD", text="Prints where the artifact ends.")
]
ArtifactFile = Annotated[
    list[str] | None,
    _option("--artifact-file", metavar="PATH", text="A file of the artifact; repeatable."),
]
Attempts = Annotated[
    str, typer.Option("--patience", metavar="N", help="Attempts in a row without progress.")
]
AttemptsFirst = Annotated[
    str,
    _option("--patience-first", metavar="N", text="The same, before the first unit of all."),
]
PatienceTime = Annotated[
    str, typer.Option("--patience-time", metavar="TIME", help="Time without progress; 0: any.")
]
Pause = Annotated[
    str, typer.Option("--pause", metavar="TIME", help="First wait before another attempt.")
]
PauseMax = Annotated[str, typer.Option("--pause-max", metavar="TIME", help="Longest such wait.")]
Stall = Annotated[
    str,
    _option(
        "--stall",
        metavar="TIME",
        text="An attempt without progress for so long is ended (1h; a study: 30m; 0: never).",
    ),
]
Heartbeat = Annotated[
    str, _option("--heartbeat", metavar="PATH", text="A file that the run touches.")
]
HeartbeatTime = Annotated[
    str,
    _option("--heartbeat-time", metavar="TIME", text="An attempt without it is ended (10m)."),
]
AttemptLimit = Annotated[
    str, _option("--attempt-limit", metavar="TIME", text="Longest time of one attempt.")
]
TotalLimit = Annotated[
    str, _option("--total-limit", metavar="TIME", text="Longest time of all attempts.")
]
Grace = Annotated[str, typer.Option("--grace", metavar="TIME", help="Time to end after a signal.")]
StopGrace = Annotated[
    str, typer.Option("--stop-grace", metavar="TIME", help="The same, after your own stop.")
]
Poll = Annotated[str, typer.Option("--poll", metavar="TIME", help="Time between two looks.")]
PredicateTime = Annotated[
    str, typer.Option("--predicate-time", metavar="TIME", help="Deadline of a predicate.")
]
PredicateErrors = Annotated[
    str,
    typer.Option("--predicate-errors", metavar="N", help="Broken answers in a row that end all."),
]
Ends = Annotated[
    list[str] | None,
    _option(
        "--end",
        metavar="CODE=KIND",
        text="What an exit status means: done, transient, permanent, paused, operator.",
    ),
]
Guard = Annotated[
    str,
    _option("--guard", metavar="CMD", text="Must end with 0 before an attempt after the first."),
]
DumpSignal = Annotated[
    str, _option("--dump-signal", metavar="NAME", text="Asks a stalled run for stacks.")
]
OnStart = Annotated[str, _option("--on-start", metavar="CMD", text="Runs when an attempt began.")]
OnStall = Annotated[str, _option("--on-stall", metavar="CMD", text="Runs at a stall.")]
OnPause = Annotated[str, _option("--on-pause", metavar="CMD", text="Runs at a pause.")]
OnGiveUp = Annotated[
    str, _option("--on-give-up", metavar="CMD", text="Runs when the run is given up.")
]
OnDone = Annotated[str, _option("--on-done", metavar="CMD", text="Runs when it is accepted.")]
HealthChecks = Annotated[
    list[str] | None,
    _option("--health", metavar="NAME=CMD", text="Ends with 1 if the run is useless; repeatable."),
]
Arm = Annotated[
    list[str] | None,
    _option(
        "--arm", metavar="NAME=TIME|N", text="The check counts after a time, or from N units on."
    ),
]
Warn = Annotated[list[str] | None, _option("--warn", metavar="NAME", text="The check only warns.")]
LogSize = Annotated[
    str, typer.Option("--log-size", metavar="SIZE", help="Size of an attempt's log.")
]
Logs = Annotated[str, typer.Option("--logs", metavar="N", help="Logs that are kept.")]
MaskEnv = Annotated[
    list[str] | None,
    _option("--mask-env", metavar="NAME", text="A variable with a secret; repeatable."),
]
DiskFloor = Annotated[
    str, typer.Option("--disk-floor", metavar="SIZE", help="Free space below which all waits.")
]
DiskWait = Annotated[
    str, typer.Option("--disk-wait", metavar="TIME", help="How long free space is waited for.")
]


def supervise(
    given: Given = None,
    *,
    out: Out = "",
    start: Start = "",
    resume: Resume = "",
    exists: Exists = "",
    progress: Progress = "",
    artifact: ArtifactCommand = "",
    target: Target = "",
    folder: Dir = "",
    shell: Shell = False,
    distinct: Distinct = False,
    steps: Steps = "",
    busy: Busy = "",
    store_head: StoreHead = "",
    artifact_head: ArtifactHead = "",
    artifact_file: ArtifactFile = None,
    attempts: Attempts = "3",
    attempts_first: AttemptsFirst = "",
    patience_time: PatienceTime = "30m",
    pause: Pause = "10s",
    pause_max: PauseMax = "5m",
    stall: Stall = "",
    heartbeat: Heartbeat = "",
    heartbeat_time: HeartbeatTime = "",
    attempt_limit: AttemptLimit = "0",
    total_limit: TotalLimit = "0",
    grace: Grace = "1m",
    stop_grace: StopGrace = "10m",
    poll: Poll = "5s",
    predicate_time: PredicateTime = "1m",
    predicate_errors: PredicateErrors = "3",
    end: Ends = None,
    guard: Guard = "",
    dump_signal: DumpSignal = "",
    on_start: OnStart = "",
    on_stall: OnStall = "",
    on_pause: OnPause = "",
    on_give_up: OnGiveUp = "",
    on_done: OnDone = "",
    health: HealthChecks = None,
    arm: Arm = None,
    warn: Warn = None,
    log_size: LogSize = "64MB",
    logs: Logs = "20",
    mask_env: MaskEnv = None,
    disk_floor: DiskFloor = "64MB",
    disk_wait: DiskWait = "1d",
    json: Json = False,
) -> int:
    """Supervise a run; the exit status says what came of it.

    Raises:
        UsageError: options are missing, or cannot be read; names all of them.
        HeldError: another supervisor looks after the run, or its folder holds something else.
        StorageError: the supervisor's folder cannot be used.

    """
    from perdure.supervise.command import shell_words  # noqa: PLC0415 - heavy

    study, *rest = given or [""]
    words = Words(
        study=study,
        rest=tuple(rest),
        out=out,
        start=start,
        resume=resume,
        exists=exists,
        progress=progress,
        artifact=artifact,
        target=target,
        distinct=distinct,
        steps=steps,
        busy=busy,
        store_head=store_head,
        artifact_head=artifact_head,
        artifact_files=tuple(artifact_file or ()),
        shell=shell_words(_which) if shell else (),
    )
    reading = Reading()
    meant = native(words, reading) if study or out else general(words, reading)
    limits = Limits(
        attempts=attempts,
        attempts_first=attempts_first,
        patience_time=patience_time,
        pause=pause,
        pause_max=pause_max,
        stall=stall or ("30m" if study else "1h"),
        heartbeat=heartbeat,
        # The status file of our own run changes every second.
        heartbeat_time=heartbeat_time or ("10m" if heartbeat or study else "0"),
        attempt_limit=attempt_limit,
        total_limit=total_limit,
        grace=grace,
        stop_grace=stop_grace,
        poll=poll,
        # To verify and export a long record takes its time.
        predicate_time=predicate_time if not study or predicate_time != "1m" else "1h",
        predicate_errors=predicate_errors,
        ends=tuple(end or ()),
        guard=guard,
        dump_signal=dump_signal or ("USR1" if study else ""),
        hooks={
            "start": on_start,
            "stall": on_stall,
            "pause": on_pause,
            "give-up": on_give_up,
            "done": on_done,
        },
        health=tuple(health or ()),
        arm=tuple(arm or ()),
        warn=tuple(warn or ()),
        log_size=log_size,
        logs=logs,
        mask_env=tuple(mask_env or ()),
        disk_floor=disk_floor,
        disk_wait=disk_wait,
    )
    settings = settings_of(limits, meant, folder, words.shell, reading)
    reading.require()
    if study:
        require_place(Path(out))
    from perdure.cli.output import write_error  # noqa: PLC0415 - heavy
    from perdure.supervise.assembly import supervise as keep_alive  # noqa: PLC0415 - heavy

    if not json:
        write_error(f"perdure: the supervisor's files are in {settings.folder}")
    from perdure.supervise.held import signals_held  # noqa: PLC0415 - heavy

    with signals_held():
        found = keep_alive(meant.make, settings, tell=lambda text: write_error(f"perdure: {text}"))
    if json:
        _tell(found, settings)
    return found.code


def _tell(found: Verdict, settings: Settings) -> None:
    from perdure.cli.output import write_json  # noqa: PLC0415 - heavy
    from perdure.supervise.book import standing_in  # noqa: PLC0415 - heavy

    write_json(
        {
            "state": found.state,
            "exit_status": found.code,
            "why": found.why,
            "folder": str(settings.folder),
            "supervisor": standing_in(settings.folder),
        }
    )


def _which(name: str) -> str | None:
    import shutil  # noqa: PLC0415 - only this needs it

    return shutil.which(name)
