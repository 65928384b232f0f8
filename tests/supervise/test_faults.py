"""Every fault that ends long runs is survived or told, with a runner that is not ours.

Real processes: kills at each place of a run and of its supervisor, runs and predicates that hang,
fail, lie or leave somebody behind, artifacts that cannot be accepted. The runner is
`foreign.py`, thirty lines with a store of its own.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.supervise.tool import HERE, PYTHON, Tool, until

from perdure.cli.entry import execute
from perdure.supervise import processes
from perdure.supervise.running import left_alone


def test_the_runner_is_thirty_lines_and_knows_nothing_of_us():
    """What is supervised here is as small, and as foreign, as it is said to be."""
    text = (HERE / "foreign.py").read_text()
    code = [line for line in text.partition('"""\n\n')[2].splitlines() if line.strip()]
    assert len(code) <= 30
    assert "perdure" not in text


# -- kills of the run ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "action"),
    [
        ("born", "kill"),  # before the first commit
        ("committed:1", "kill"),  # between the commit and the progress log
        ("logged:2", "kill"),
        ("exporting", "halve"),  # during the export
        ("exported", "kill"),  # after it, with everything there and no exit status 0
    ],
)
def test_a_run_that_is_killed_is_resumed_and_accepted(tool: Tool, place: str, action: str):
    """Killed anywhere, it is started once, resumed once, and accepted whole with one receipt."""
    ended = tool.run({f"1 {place}": action})
    assert ended.status == 0, ended.err
    assert tool.verbs() == ["start", "resume"]
    assert tool.ends() == ["killed by SIGKILL", "exit status 0"]
    assert tool.is_whole()
    assert tool.receipt()["attempt"] == 2


def test_a_unit_that_the_log_lost_is_told_and_does_not_hold_the_run_up(tool: Tool):
    """A kill between commit and log: the artifact is complete, and the difference is reported."""
    ended = tool.run({"1 committed:1": "kill"})
    assert ended.status == 0
    assert "the progress log says 3, the artifact holds 4" in ended.err
    assert [event["told"] for event in tool.events("drift")] == [
        "the progress log says 3, the artifact holds 4"
    ]


def test_a_complete_artifact_is_not_accepted_before_an_exit_status_of_0(tool: Tool):
    """Both counts are at the target and every run ends with 1: that is never accepted."""
    ended = tool.run({"* exported": "exit 1"}, patience="1")
    assert ended.status == 3
    assert tool.receipt() == {}
    # Neither does another supervisor accept it on the counts alone.
    assert tool.run({"* exported": "exit 1"}, patience="1").status == 3
    assert tool.run().status == 0
    assert tool.verbs()[-1] == "resume"


# -- kills of the supervisor --------------------------------------------------------------------


def once(tool: Tool, command: str) -> str:
    """Make a command that kills its supervisor the first time."""
    return f"{PYTHON} {HERE / 'kill_once.py'} {tool.folder / 'flag'} {command}"


@pytest.mark.parametrize("phase", ["before", "begun", "watching", "judging", "accepted"])
def test_a_supervisor_killed_in_any_phase_is_replaced(tool: Tool, phase: str):
    """The next one attaches to a run that lives, judges one that ended, and begins no second."""
    exists = f"test -e {tool.out}/store.txt"
    count = f"grep -c day {tool.out}/telemetry.jsonl"
    held = f"grep -c day.ended {tool.out}/world.jsonl"
    changed = {
        "before": {"exists": once(tool, exists)},
        "begun": {"on_start": once(tool, "true")},
        "watching": {"busy": once(tool, "false"), "progress": count},
        "judging": {"artifact": once(tool, held)},
        "accepted": {"on_done": once(tool, "true")},
    }[phase]
    lives_on = phase in {"begun", "watching"}
    mischief = {"1 committed:1": "pause 4"} if lives_on else {}
    with tool.begun(mischief, **changed) as first:
        assert until(lambda: first.poll() is not None)
        assert first.returncode == -signal.SIGKILL
        ended = tool.run(mischief, **changed)
    assert ended.status == 0, ended.err
    assert tool.verbs() == ["start"]
    assert tool.is_whole()
    assert bool(tool.events("attached")) == lives_on
    assert len(tool.events("accepted")) == 1
    assert tool.receipt()["attempt"] == 1


def test_patience_outlives_a_supervisor(tool: Tool):
    """Killed while it waits between two attempts: the next supervisor counts on from there."""
    mischief = {"* born": "exit 1"}
    with tool.begun(mischief, pause="1h", pause_max="1h", patience="2") as first:
        until(lambda: tool.events("waiting") or first.poll() is not None)
        first.kill()
        first.wait()
    ended = tool.run(mischief, patience="2")
    assert ended.status == 3
    assert tool.verbs() == ["start", "resume"]


def test_a_killed_keeper_takes_its_run_along(tool: Tool):
    """Whoever kills the process between supervisor and run gets no orphan, and the run resumes."""
    with tool.begun({"1 committed:1": "hang deaf"}) as supervisor:
        run = until(lambda: tool.home.exists() and run_of(tool))
        keeper = int(Path(f"/proc/{run}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(keeper, signal.SIGKILL)
        supervisor.wait(60)
        assert supervisor.returncode == 0
    assert tool.ends() == ["nobody saw how it ended", "exit status 0"]
    assert tool.is_whole()


def run_of(tool: Tool) -> int:
    """Give the number of the run's process, once it has said something; 0 before."""
    try:
        standing = json.loads((tool.home / "attempt.json").read_text())
        is_there = "hanging" in tool.log(standing["number"])
    except (FileNotFoundError, json.JSONDecodeError):
        return 0
    return int(standing["run"]["pid"]) if is_there and "run" in standing else 0


# -- one supervisor -----------------------------------------------------------------------------


def test_a_second_supervisor_is_refused_and_told_who_is_there(tool: Tool):
    """Two at once never both run; the refusal has a code of its own."""
    with tool.begun({"1 committed:1": "hang polite"}) as first:
        until(lambda: tool.home.exists() and run_of(tool))
        second = tool_refused(tool)
        assert second.returncode == 73
        assert f"process {first.pid} on" in second.stderr
        first.terminate()
        first.wait(60)


def test_a_second_supervisor_from_another_folder_is_refused(tool: Tool):
    """However the store is written, and after a kill of the first as long as its run lives."""
    elsewhere = {"dir": str(tool.folder / "elsewhere")}
    (tool.folder / "link").symlink_to(tool.folder)
    linked = {**elsewhere, "exists": str(tool.folder / "link" / "out" / "store.txt")}
    with tool.begun({"1 committed:1": "hang polite"}) as first:
        until(lambda: tool.home.exists() and run_of(tool))
        for changed in (elsewhere, linked):
            second = tool_refused(tool, **changed)
            assert second.returncode == 73, second.stderr
            assert f"process {first.pid}" in second.stderr
            assert "--dir" in second.stderr
        first.kill()
        first.wait(60)
        assert tool_refused(tool, **elsewhere).returncode == 73
        assert tool.verbs() == ["start"]
        assert not (tool.folder / "elsewhere" / "history.jsonl").exists()
        # The first one's own folder has the run, and ends it.
        with tool.begun() as again:
            until(lambda: tool.events("attached"))
            again.terminate()
            again.wait(60)
    assert tool.run(**elsewhere).status == 0
    assert tool.is_whole()


def test_a_supervisor_that_found_its_run_alive_is_the_only_one_too(tool: Tool):
    """Between the end of that run and the next attempt, nobody else takes it over."""
    with tool.begun({"1 born": "hang"}) as first:
        run = until(lambda: tool.home.exists() and run_of(tool))
        first.kill()
        first.wait(60)
        with tool.begun(pause="1m", pause_max="1m") as second:
            until(lambda: tool.events("attached"))
            os.kill(run, signal.SIGKILL)
            until(lambda: tool.events("waiting"))
            refused = tool_refused(tool, dir=str(tool.folder / "elsewhere"))
            assert refused.returncode == 73, refused.stderr
            second.terminate()
            assert second.wait(60) == 75
    assert tool.verbs() == ["start"]
    assert tool.run().status == 0
    assert tool.is_whole()


def tool_refused(tool: Tool, **changed: str) -> subprocess.CompletedProcess[str]:
    """Supervise it a second time."""
    return subprocess.run(
        [sys.executable, "-m", "perdure.cli", *tool.words(**changed)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# -- signals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "whom"), [(2, "group"), (2, "supervisor"), (1, "supervisor")])
def test_a_stop_is_passed_on_waited_for_and_never_resumed(tool: Tool, number: int, whom: str):
    """A run that handles the signal and ends with 0, short of its target, is not taken up again."""
    with tool.begun({"1 logged:1": "hang polite"}) as supervisor:
        until(lambda: tool.home.exists() and run_of(tool))
        (os.killpg if whom == "group" else os.kill)(supervisor.pid, number)
        assert supervisor.wait(60) == 75
    assert tool.verbs() == ["start"]
    assert tool.standing()["state"] == "stopped"
    assert [event["step"] for event in tool.events("signal")] == ["INT" if number == 2 else "TERM"]
    assert tool.left() == []


def test_a_run_that_dies_of_the_signal_was_stopped(tool: Tool):
    """One that does not handle it has no code of its own: it is that of a stop."""
    with tool.begun({"1 logged:1": "hang"}) as supervisor:
        until(lambda: tool.home.exists() and run_of(tool))
        supervisor.terminate()
        assert supervisor.wait(60) == 75
    assert tool.ends() == ["killed by SIGTERM; ended by the supervisor (asked to stop)"]
    assert tool.verbs() == ["start"]


def test_a_signal_to_the_run_alone_is_an_operators_too(tool: Tool):
    """Somebody ended the run by hand: it is not resumed against his will."""
    with tool.begun({"1 logged:1": "hang"}) as supervisor:
        os.kill(until(lambda: tool.home.exists() and run_of(tool)), signal.SIGINT)
        assert supervisor.wait(60) == 75
    assert tool.verbs() == ["start"]
    assert tool.events("attempt-ended")[0]["kind"] == "operator"


def test_a_second_signal_kills(tool: Tool):
    """A run that is deaf to the first one is ended by the second."""
    with tool.begun({"1 logged:1": "hang deaf"}, stop_grace="1h") as supervisor:
        until(lambda: tool.home.exists() and run_of(tool))
        supervisor.terminate()
        until(lambda: tool.events("signal"))
        supervisor.terminate()
        assert supervisor.wait(60) == 75
    assert [event["step"] for event in tool.events("signal")] == ["TERM", "KILL"]


def test_a_stop_file_is_a_stop(tool: Tool):
    """Another terminal, or another machine, leaves a file."""
    with tool.begun({"1 logged:1": "hang polite"}) as supervisor:
        until(lambda: tool.home.exists() and run_of(tool))
        (tool.home / "stop").touch()
        assert supervisor.wait(60) == 75
    assert not (tool.home / "stop").exists()
    assert tool.verbs() == ["start"]
    # Whoever wants it to go on says so, and then it does.
    assert tool.run().status == 0


def test_a_stop_in_the_first_instants_is_heard(tool: Tool):
    """Whatever it is doing then, it ends as one that was asked to stop; nothing is begun."""
    with tool.begun({"1 born": "hang"}) as supervisor:
        held = f"/proc/{supervisor.pid}/status"
        until(lambda: "SigBlk:\t0000000000000000" not in Path(held).read_text())
        supervisor.terminate()
        assert supervisor.wait(60) == 75
    assert tool.left() == []


def test_what_says_nothing_to_a_supervisor_does_not_end_it(tool: Tool):
    """USR1 and USR2 are heard and mean nothing; QUIT is a stop."""
    with tool.begun({"1 logged:1": "hang"}) as supervisor:
        until(lambda: tool.home.exists() and run_of(tool))
        supervisor.send_signal(signal.SIGUSR1)
        supervisor.send_signal(signal.SIGUSR2)
        before = tool.standing()["written_s"]
        until(lambda: tool.standing()["written_s"] > before)
        assert supervisor.poll() is None
        supervisor.send_signal(signal.SIGQUIT)
        assert supervisor.wait(60) == 75


def test_a_run_whose_supervisor_was_killed_is_shown_and_stopped(tool: Tool, capsys: Any):
    """It is told from one that nobody works on, and `perdure stop` reaches it."""
    with tool.begun({"1 logged:1": "hang"}) as supervisor:
        run = until(lambda: tool.home.exists() and run_of(tool))
        supervisor.kill()
        supervisor.wait(60)
        assert execute(["status", str(tool.home)]) == 0
        assert f"the run lives on (process {run})" in " ".join(capsys.readouterr().out.split())
        assert execute(["stop", str(tool.home)]) == 0
        assert "asked to stop (SIGINT)" in capsys.readouterr().out
        until(lambda: left_alone(tool.home) is None)
    assert execute(["stop", str(tool.home)]) == 0
    assert "nothing to stop" in capsys.readouterr().out
    assert tool.run().status == 75


# -- runs that do not end -----------------------------------------------------------------------


def test_a_run_that_hangs_is_asked_for_stacks_then_ended_then_resumed(tool: Tool):
    """Each step is recorded, and the log has the stacks."""
    ended = tool.run({"1 logged:1": "hang dumps"}, stall="2s", patience="50", dump_signal="USR1")
    assert ended.status == 0
    assert tool.steps(1) == ["ask for stacks", "INT"]
    assert "most recent call first" in tool.log(1)
    assert "no progress" in tool.ends()[0]
    assert tool.is_whole()


def test_a_run_without_a_handler_for_stacks_is_not_ended_by_the_question(tool: Tool):
    """The request for stacks would end it, so it is not made; INT ends it in order."""
    ended = tool.run({"1 logged:1": "hang polite"}, stall="2s", patience="50", dump_signal="USR1")
    assert ended.status == 0
    assert tool.ends()[0].startswith("exit status 0")


def test_a_run_that_is_deaf_is_killed(tool: Tool):
    """One that ignores INT and TERM does not hold its supervisor up."""
    ended = tool.run({"1 logged:1": "hang deaf"}, stall="2s", patience="50")
    assert ended.status == 0
    assert tool.steps(1) == ["ask for stacks", "INT", "TERM", "KILL"]
    assert all(event["why"] == "stall" for event in tool.events("signal"))


def test_a_run_that_was_stopped_is_a_stall(tool: Tool):
    """SIGSTOP: nothing reaches it but KILL."""
    ended = tool.run({"1 logged:1": "stop"}, stall="2s", patience="50", grace="100ms")
    assert ended.status == 0
    assert tool.ends()[0].startswith("killed by SIGKILL")


def test_a_run_that_says_it_waits_for_a_call_does_not_stall(tool: Tool):
    """A call in flight is no stall, however long it takes."""
    assert tool.run({"1 logged:1": "pause 2"}, stall="1s", patience="50", busy="true").status == 0
    assert tool.events("signal") == []
    assert tool.verbs() == ["start"]


def test_a_heartbeat_that_stops_ends_the_attempt(tool: Tool):
    """The run touches a file; when it no longer does, it is ended."""
    beat = str(tool.out / "telemetry.jsonl")
    ended = tool.run(
        {"1 logged:2": "hang"}, stall="0", patience="50", heartbeat=beat, heartbeat_time="2s"
    )
    assert ended.status == 0
    assert {event["why"] for event in tool.events("signal")} == {"heartbeat"}


def test_an_attempt_has_a_time_and_so_have_all_of_them(tool: Tool):
    """The first limit is followed by a resume, the second by an end that is a pause."""
    ended = tool.run({"1 logged:1": "hang"}, attempt_limit="2s", patience="50")
    assert ended.status == 0
    assert tool.events("ending")[0]["why"] == "attempt-limit"
    other = Tool(tool.folder / "other")
    other.folder.mkdir()
    assert other.run({"* logged:1": "hang polite"}, total_limit="1s").status == 75
    assert other.verbs() == ["start"]


def test_whoever_a_run_leaves_behind_is_ended_with_it(tool: Tool):
    """A run that forks into a session of its own and goes: nobody of it meets the next attempt."""
    ended = tool.run({"1 logged:1": "fork 1", "2 logged:2": "fork 0"}, grace="100ms")
    assert ended.status == 0, ended.err
    left = [int(line) for line in (tool.out / "left.txt").read_text().split()]
    assert len(left) == 4
    assert not any(processes.lives(processes.identified(pid)) for pid in left)


# -- predicates ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("which", "predicate", "told"),
    [
        ("progress", "sleep 600", "no answer within"),
        ("progress", "no-such-command-at-all", "no command"),
        ("progress", "echo 8 of 10", "not one number"),
        ("artifact", "sleep 600", "no answer within"),
        ("artifact", "echo 1.5", "not one number"),
        ("exists", "sh -c 'exit 2'", "exit status 2"),
    ],
)
def test_a_predicate_that_does_not_work_ends_all_with_4(
    tool: Tool, which: str, predicate: str, told: str
):
    """It hangs, fails or prints junk: it never reads as 0, and spends no patience."""
    ended = tool.run(**{which: predicate, "predicate_time": "300ms"})
    assert ended.status == 4, ended.err
    assert told in ended.err
    assert "attempts" not in tool.standing()["kept"].get("patience", {})
    # What can be tried before anything runs is.
    assert tool.verbs() == (["start"] if which == "artifact" else [])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"artifact": "false"}, "the predicate 'artifact' does not work: It printed no number"),
        ({"store_head": "false", "artifact_head": "echo 3"}, "'false' gave no head"),
    ],
)
def test_a_predicate_that_never_answers_is_broken_once_the_run_is_over(
    tool: Tool, options: dict[str, str], told: str
):
    """Nothing, before the first unit, is *not yet*; of a run that is over it is no answer."""
    ended = tool.run(**options)
    assert ended.status == 4
    assert told in ended.err
    assert ".." not in tool.standing()["why"]
    assert tool.verbs() == ["start"]


def test_a_progress_that_never_counts_is_told(tool: Tool):
    """The artifact decides; but nobody is left to think that progress was watched."""
    ended = tool.run(progress="false")
    assert ended.status == 0
    assert "--progress does not count: It printed no number" in ended.err


def test_an_artifact_that_never_comes_is_to_blame_itself(tool: Tool):
    """A file that is not there is no fault of who looks for it."""
    ended = tool.run(artifact=f"grep -c day {tool.out}/other.jsonl", patience="1")
    assert ended.status == 5
    assert "the artifact holds 0 of 4" in ended.err
    assert "look for the right words" not in ended.err


# -- progress that lies -------------------------------------------------------------------------


def test_progress_that_rewinds_is_told_and_given_up(tool: Tool):
    """Between "back to 1" and "up to 2" nothing is gained: the mark is never passed."""
    ended = tool.run({"* born": "log 0", "1 born": "log 0 1", "3 born": "log 0 1"})
    assert ended.status == 3
    assert len(tool.verbs()) == 4
    assert [(event["progress"], event["mark"]) for event in tool.events("rewound")] == [(1, 2)] * 2
    assert "went back to 1; it was at 2" in ended.err


def test_progress_that_repeats_itself_is_no_progress(tool: Tool):
    """The same unit, again and again: names are counted, and only different ones."""
    days = {f"{attempt} born": "log " + "0 " * attempt for attempt in range(1, 9)}
    names = f"grep -o 'day\": [0-9]*' {tool.out}/telemetry.jsonl"
    tool.flags.append("--distinct")
    assert tool.run(days, progress=names, patience="1").status == 3
    assert len(tool.verbs()) == 2


def test_progress_beyond_the_target_is_none(tool: Tool):
    """A log that jumps over its target, and grows on, earns nothing and accepts nothing."""
    days = {f"{attempt} born": "log " + "0 " * 50 * attempt for attempt in range(1, 9)}
    ended = tool.run(days, patience="1")
    assert ended.status == 3
    assert len(tool.verbs()) == 2
    assert tool.receipt() == {}


# -- artifacts that cannot be accepted ----------------------------------------------------------

ROWS = "".join(f'{{"tag": "day.ended", "day": {day}}}\n' for day in range(4))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ROWS[:-1], "is not whole"),  # torn: the last line is not ended
        (ROWS[:-3] + "\n", "is no JSON"),  # torn: it is ended, in the middle
        (ROWS.replace("3", "2"), "the artifact holds 3 of 4"),  # the same unit twice
    ],
)
def test_a_torn_artifact_is_not_accepted(tool: Tool, text: str, told: str):
    """A count alone would take it; the last line and the names of units say otherwise."""
    tool.flags.append("--distinct")
    ended = tool.run(
        {"* exporting": "world " + json.dumps(text)},
        artifact=f"grep -o 'day\": [0-9]*' {tool.out}/world.jsonl",
        progress=f"grep -o 'day\": [0-9]*' {tool.out}/telemetry.jsonl",
        artifact_file=f"{tool.out}/world.jsonl",
        patience="1",
    )
    assert ended.status == 5
    assert told in ended.err
    assert tool.receipt() == {}


def test_a_stale_artifact_is_not_accepted(tool: Tool):
    """It holds the target, from an earlier segment; the store went on."""
    heads = {
        "store_head": f"tail -n 1 {tool.out}/store.txt",
        "artifact_head": f"sed -n '$s/[^0-9]//gp' {tool.out}/world.jsonl",
    }
    ended = tool.run({"* exporting": "world " + json.dumps(ROWS)}, target="3", **heads)
    assert ended.status == 0
    tool.home.joinpath("receipt.json").unlink()
    stale = {"* exporting": "exit 0"}
    with (tool.out / "store.txt").open("a") as file:
        file.write("4\n")
    ended = tool.run(stale, target="3", patience="1", **heads)
    assert ended.status == 5
    assert "the artifact ends at '3', the store at '4'" in ended.err


def test_an_artifact_over_its_target_is_accepted_and_told(tool: Tool):
    """More than was asked for is there, every unit once: that is no reason to refuse."""
    assert tool.run(target="3").status == 0
    assert tool.receipt()["units"] == 4


@pytest.mark.parametrize(
    ("said", "status", "attempts"),
    [
        (None, 3, 3),  # nobody knows why: tried again, as long as there is patience
        ({"outcome": "permanent", "reason": "quiescent"}, 5, 1),
        ({"outcome": "paused", "reason": "budget"}, 75, 1),
    ],
)
def test_exit_0_short_of_the_target_is_not_done(
    tool: Tool, said: dict[str, str] | None, status: int, attempts: int
):
    """What it means is the run's to say; without a word it is an attempt like any other."""
    action = "exit 0" if said is None else f"outcome 0 {json.dumps(said)}"
    ended = tool.run({"* born": action})
    assert ended.status == status
    assert len(tool.verbs()) == attempts
    assert tool.receipt() == {}


# -- what a receipt is worth --------------------------------------------------------------------


def test_already_done_is_answered_from_the_receipt_and_the_artifact(tool: Tool):
    """The receipt alone is not believed: the artifact has to be that one."""
    tool.options["--artifact-file"] = f"{tool.out}/world.jsonl"
    assert tool.run().status == 0
    receipt = tool.receipt()
    again = tool.run()
    assert again.status == 0
    assert "the receipt holds" in again.err
    assert tool.verbs() == ["start"]
    with (tool.out / "world.jsonl").open("a") as file:
        file.write('{"tag": "day.ended", "day": 3}\n')
    ended = tool.run()
    assert ended.status == 0
    assert "receipt that does not hold" in ended.err
    assert (tool.home / "receipt.contradicted.json").exists()
    # It is resumed once more, to earn an exit status; that writes the artifact anew.
    assert tool.verbs() == ["start", "resume"]
    assert tool.is_whole()
    assert tool.receipt()["proof"] == receipt["proof"]


def test_without_a_receipt_a_run_earns_its_exit_status(tool: Tool):
    """Everything is there, and nobody knows how the run ended: it is resumed once."""
    assert tool.run().status == 0
    (tool.home / "receipt.json").unlink()
    assert tool.run().status == 0
    assert tool.verbs() == ["start", "resume"]


@pytest.mark.parametrize("which", ["artifact", "artifact_head", "guard"])
def test_a_check_that_was_killed_says_nothing_about_the_run(tool: Tool, which: str):
    """It is asked again; if it never answers, that is what does not work, and the receipt stays."""
    good = {
        "artifact": f"grep -c day.ended {tool.out}/world.jsonl",
        "store_head": f"tail -n 1 {tool.out}/store.txt",
        "artifact_head": f"sed -n '$s/[^0-9]//gp' {tool.out}/world.jsonl",
        "guard": "true",
    }
    assert tool.run({"1 logged:1": "exit 1"}, **good).status == 0
    receipt = (tool.home / "receipt.json").read_bytes()
    dies = f"test -e {tool.folder}/flag || {{ touch {tool.folder}/flag; kill -9 $$; }}"
    if which == "guard":
        # Only what goes on with a run asks it.
        (tool.home / "receipt.json").unlink()
    once = {**good, which: f"sh -c {shlex.quote(f'{dies}; {good[which]}')}"}
    ended = tool.run(**once)
    assert ended.status == 0, ended.err
    assert "signal 9" in tool.events("predicate-broken")[0]["fault"]
    assert tool.verbs() == ["start", "resume", *(["resume"] if which == "guard" else [])]
    if which == "guard":
        (tool.home / "receipt.json").unlink()
    begun = len(tool.verbs())
    # As a shell tells of a part that was killed, too.
    for never in ("kill -9 $$", f"{good[which]}; exit 137"):
        ended = tool.run(**{**good, which: f"sh -c {shlex.quote(never)}"})
        assert ended.status == 4, ended.err
        assert "signal 9" in ended.err
    assert len(tool.verbs()) == begun
    assert not (tool.home / "receipt.contradicted.json").exists()
    if which != "guard":
        assert (tool.home / "receipt.json").read_bytes() == receipt


def test_a_part_of_an_artifact_that_cannot_be_read_contradicts_nothing(tool: Tool):
    """A file that is not there is an answer; one that cannot be read is none."""
    tool.options["--artifact-file"] = f"{tool.out}/world.jsonl"
    assert tool.run().status == 0
    real = tool.out / "world.jsonl"
    kept = real.rename(tool.folder / "kept.jsonl")
    # Nobody is kept from reading a file by its mode here; a folder is read by nobody.
    real.mkdir()
    count = f"grep -c day.ended {kept}"
    ended = tool.run(artifact=count)
    assert ended.status == 4, ended.err
    assert "cannot be read" in ended.err
    assert (tool.home / "receipt.json").exists()
    real.rmdir()
    ended = tool.run(artifact=count)
    assert "is not there" in ended.err
    assert tool.verbs() == ["start", "resume"]


# -- stores, disks, logs, code ------------------------------------------------------------------


def test_a_store_without_a_commit_is_resumed(tool: Tool):
    """What a kill before the first commit leaves: start refuses it, so it has to be resumed."""
    tool.out.mkdir()
    (tool.out / "store.txt").touch()
    assert tool.run().status == 0
    assert tool.verbs() == ["resume"]


def test_a_damaged_store_stops_with_instructions(tool: Tool):
    """`--exists` says it: neither a start nor a resume is tried."""
    ended = tool.run(exists="sh -c 'exit 74'")
    assert ended.status == 74
    assert "move it away" in ended.err
    assert tool.verbs() == []


@pytest.mark.parametrize("code", [65, 78])
def test_an_end_that_nothing_would_mend_is_not_tried_again(tool: Tool, code: int):
    """An invalid study, a refused resume: the supervisor ends with the run's own code."""
    ended = tool.run({"1 logged:1": "say 3 why-it-failed", "1 committed:2": f"exit {code}"})
    assert ended.status == code
    assert f"Failed: exit status {code}; trying again would change nothing." in ended.err
    assert tool.verbs() == ["start"]
    assert "why-it-failed\nwhy-it-failed" in ended.err


def test_a_pause_is_not_a_failure(tool: Tool):
    """It is not tried again and spends nothing; whoever mends it goes on."""
    assert tool.run({"1 logged:1": "exit 76"}).status == 76
    assert tool.standing()["state"] == "paused"
    assert "attempts" not in tool.standing()["kept"].get("patience", {})
    assert tool.run().status == 0


def test_what_an_exit_status_means_can_be_said(tool: Tool):
    """A runner with codes of its own."""
    tool.options["--end"] = "42=permanent"
    assert tool.run({"1 logged:1": "exit 42"}).status == 42


def test_a_log_that_cannot_be_written_does_not_hold_the_run_up(tool: Tool):
    """The run begins, runs and is accepted; its last lines are known all the same."""
    tool.home.mkdir()
    (tool.home / "attempts").write_text("in the way")
    ended = tool.run({"1 logged:1": "say 2 hello"})
    assert ended.status == 0
    assert ended.err.count("What attempt 1 prints cannot be written down") == 1
    assert [event["attempt"] for event in tool.events("log-unwritten")] == [1]
    ended = tool.run({"* born": "say 1 why", "* exporting": "exit 9"}, target="9", patience="1")
    assert ended.status == 3
    # No file is named that is not there.
    (last,) = re.findall(r"The last lines of attempt (.*)", ended.err)
    assert "not all is written" in last
    assert ended.err.rstrip().endswith("why")


def test_a_log_that_cannot_be_written_is_told_while_the_run_works(tool: Tool):
    """Days before the end, when something can be done about it."""
    (tool.home / "attempts").mkdir(parents=True)
    (tool.home / "attempts" / "0001.log").symlink_to(tool.folder / "elsewhere")
    with tool.begun({"1 logged:1": "hang"}) as supervisor:
        until(lambda: tool.events("log-unwritten"))
        supervisor.terminate()
        assert supervisor.wait(60) == 75


def test_a_log_is_kept_within_its_size_and_without_secrets(tool: Tool):
    """Its beginning and its end are there; a key of the environment is not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_API_KEY", "very-secret-value")
        ended = tool.run(
            {"1 born": "say 20000 a-line-with-very-secret-value-in-it"}, log_size="100kB"
        )
    assert ended.status == 0
    written = sorted((tool.home / "attempts").iterdir())
    assert sum(path.stat().st_size for path in written) <= 110_000
    assert len(written) == 3
    text = "".join(path.read_text() for path in written)
    assert "a-line-with-[masked]-in-it" in text
    assert "very-secret" not in text


def test_old_logs_are_removed(tool: Tool):
    """The first and the latest are kept."""
    tool.run({"* born": "exit 1"}, patience="4", logs="1")
    assert sorted(path.name for path in (tool.home / "attempts").iterdir()) == [
        "0001.log",
        "0004.log",
    ]


def test_too_little_space_is_a_pause_that_spends_nothing(tool: Tool):
    """Nothing is begun while the disk is too full; after a time it ends, resumable."""
    ended = tool.run(disk_floor="900TB", disk_wait="300ms")
    assert ended.status == 75
    assert tool.verbs() == []
    assert "bytes are free" in ended.err


def test_code_that_moved_is_refused_before_the_next_attempt(tool: Tool):
    """`perdure closure verify` as a guard: a frozen file was edited between two attempts."""
    runner = tool.folder / "frozen.py"
    runner.write_text("x = 1\n")
    guard = f"{PYTHON} -m perdure.cli closure"
    saved = subprocess.run(
        f"{guard} list {runner} --json", shell=True, capture_output=True, check=True
    ).stdout
    (tool.folder / "closure.json").write_bytes(saved)
    edit = f"sh -c 'echo y=2 >> {runner}'"
    ended = tool.run(
        {"1 logged:1": "exit 1"},
        guard=f"{guard} verify {tool.folder}/closure.json",
        on_start=edit,
    )
    assert ended.status == 78
    assert tool.verbs() == ["start"]
    assert "frozen" in ended.err


# -- being told ---------------------------------------------------------------------------------


def test_hooks_are_called_and_told_why(tool: Tool):
    """Start, stall, pause, give-up and done: each with the facts in its environment."""
    told = tool.folder / "told"
    hook = f"sh -c 'echo $PERDURE_EVENT $PERDURE_ATTEMPT/$PERDURE_PROGRESS >> {told}'"
    hooks = {f"on_{name}": hook for name in ("start", "stall", "pause", "give_up", "done")}
    tool.run({"1 logged:0": "exit 76"}, **hooks)
    tool.run({"2 logged:1": "hang"}, stall="2s", **hooks)
    lines = told.read_text().split("\n")
    assert lines[:2] == ["start 1/", "pause 1/1"]
    assert "stall 2/2" in lines
    assert lines[-2] == "done 3/4"
    assert tool.run({"* born": "exit 1"}, target="9", patience="1", **hooks).status == 3
    assert told.read_text().endswith("give-up 4/4\n")


def test_a_hook_that_hangs_holds_nothing_up(tool: Tool):
    """The run is watched meanwhile; the hook has a deadline, and is ended at it."""
    assert tool.run(on_start="sleep 600", predicate_time="1s").status == 0
    assert "no answer within" in tool.events("hook")[0]["fault"]


def test_a_run_that_is_useless_is_given_up(tool: Tool):
    """Alive, advancing, and nothing comes of it: a check says so, once it is armed."""
    mischief = {f"1 logged:{day}": "pause 0.2" for day in range(100)}
    tool.days = 100
    ended = tool.run(mischief, health="mail=false", arm="mail=2")
    assert ended.status == 3
    assert "'mail' finds the run useless" in ended.err
    assert 2 <= len(tool.store()) < 100
    assert tool.verbs() == ["start"]


def test_a_check_that_only_warns_ends_nothing(tool: Tool):
    """It is recorded, and the run goes on."""
    ended = tool.run({"1 logged:1": "pause 1"}, health="mail=false", warn="mail")
    assert ended.status == 0
    assert tool.events("unhealthy")


def test_give_up_is_loud(tool: Tool):
    """The last lines of that attempt's log are on stderr, with what to look at."""
    ended = tool.run({"* born": "say 60 broken", "* exporting": "exit 9"}, patience="1")
    assert ended.status == 3
    assert ended.err.count("broken\n") == 40
    assert "0002.log" in ended.err


def test_the_seeds_own_command_line_works_with_one_line_added(tool: Tool):
    """The line of the published example, with `--exists`; without it, 2 and the line to add."""
    runner = f"{PYTHON} {HERE / 'foreign.py'}"
    words = {
        "start": f"{runner} start {tool.out} 4",
        "resume": f"{runner} resume {tool.out} 4",
        "progress": f'grep -c \'"kind": *"day"\' {tool.out}/telemetry.jsonl',
        "artifact": f'grep -c \'"tag": "day.ended"\' {tool.out}/world.jsonl',
        "target": "4",
    }
    refused = tool.run(exists=None, **words)
    assert refused.status == 2
    assert '--exists "$OUT/run.db"' in refused.err
    assert tool.run(exists=f"{tool.out}/store.txt", **words).status == 0
    assert tool.is_whole()
