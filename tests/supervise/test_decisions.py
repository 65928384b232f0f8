"""What a supervisor decides, as functions from values to values: no process, no clock, no file."""

from __future__ import annotations

import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.base.errors import UsageError
from perdure.supervise import backoff, liveness, pace, patience, space
from perdure.supervise.acceptance import (
    RECEIPT_FORMAT,
    Artifact,
    Receipt,
    contradictions,
    drift,
    objections,
)
from perdure.supervise.answers import Answer, Existence, Ran, count_of, existence_of
from perdure.supervise.backoff import Backoff
from perdure.supervise.command import is_path, parse, shell_words
from perdure.supervise.ends import USUAL, End, Kind, Reason, Said, code_of_end, kind_of, told
from perdure.supervise.escalation import Climb, Graces, Step, due, ladder
from perdure.supervise.health import Arming, Health, is_armed, is_useless, looked
from perdure.supervise.liveness import Deadlines
from perdure.supervise.masking import masked, secrets_of
from perdure.supervise.patience import Allowance, Marks, Patience
from perdure.supervise.quantity import number, seconds, size
from perdure.supervise.space import Growth
from perdure.supervise.verdict import State, verdict

# -- what an end means --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (End(status=0), Kind.DONE),
        (End(status=1), Kind.TRANSIENT),
        (End(status=2), Kind.PERMANENT),
        (End(status=65), Kind.PERMANENT),
        (End(status=69), Kind.TRANSIENT),
        (End(status=70), Kind.TRANSIENT),
        (End(status=73), Kind.TRANSIENT),
        (End(status=74), Kind.PERMANENT),
        (End(status=75), Kind.PAUSED),
        (End(status=76), Kind.PAUSED),
        (End(status=77), Kind.PERMANENT),
        (End(status=78), Kind.PERMANENT),
        (End(status=126), Kind.PERMANENT),
        (End(status=127), Kind.PERMANENT),
        (End(status=130), Kind.OPERATOR),
        (End(status=143), Kind.OPERATOR),
        (End(status=137), Kind.TRANSIENT),
        (End(status=200), Kind.TRANSIENT),
        (End(signal=signal.SIGINT), Kind.OPERATOR),
        (End(signal=signal.SIGTERM), Kind.OPERATOR),
        (End(signal=signal.SIGKILL), Kind.TRANSIENT),
        (End(signal=signal.SIGSEGV), Kind.TRANSIENT),
        (End(), Kind.TRANSIENT),
        # What the supervisor did itself comes first.
        (End(signal=signal.SIGTERM, why=Reason.STALL), Kind.TRANSIENT),
        (End(status=0, why=Reason.OPERATOR), Kind.OPERATOR),
        (End(status=1, why=Reason.HEALTH), Kind.PERMANENT),
        (End(status=75, why=Reason.DISK), Kind.PAUSED),
        (End(status=0, why=Reason.TOTAL_LIMIT), Kind.PAUSED),
        # What the run says of itself comes before its code; that it is done only with 0.
        (End(status=0, said=Said(outcome=Kind.PAUSED)), Kind.PAUSED),
        (End(status=9, said=Said(outcome=Kind.PERMANENT)), Kind.PERMANENT),
        (End(status=9, said=Said(outcome=Kind.DONE)), Kind.TRANSIENT),
        (End(signal=signal.SIGKILL, said=Said(outcome=Kind.DONE)), Kind.TRANSIENT),
    ],
)
def test_what_an_end_means(end: End, kind: Kind):
    """The table of exit codes, signals, own reasons and words of the run."""
    assert kind_of(end, USUAL) is kind


@given(
    status=st.none() | st.integers(0, 255),
    number=st.none() | st.integers(1, 31),
    kind=st.sampled_from(Kind),
)
def test_an_end_that_is_passed_on_never_looks_like_success(
    status: int | None, number: int | None, kind: Kind
):
    """Whatever the end was, its code is not 0, and it can be told."""
    end = End(status=status, signal=number)
    assert 0 < code_of_end(end, kind) < 256
    assert told(end)


def test_a_want_of_memory_is_told():
    """A kill for want of memory says so."""
    assert "want of memory" in told(End(signal=signal.SIGKILL, oom=True))


# -- what a predicate answers -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ran", "phase", "answer"),
    [
        (Ran(status=0, out=b"7\n"), "later", 7),
        (Ran(status=1, out=b"0\n"), "later", 0),  # a tool that prints 0 and fails
        (Ran(status=1, out=b"12"), "first", 12),
        (Ran(status=2, err=b"grep: x: No such file or directory\n"), "later", None),
        (Ran(status=1), "first", None),
        (Ran(status=0, out=b"\n"), "first", None),
        (Ran(status=1), "later", "printed no number"),
        (Ran(status=127, err=b"sh: x: No such file or directory"), "first", "printed no number"),
        (Ran(status=0, out=b"1.5\n"), "later", "not one number"),
        (Ran(status=0, out=b"-9\n"), "later", "not one number"),
        (Ran(status=0, out=b"0\n0\n"), "later", "not one number"),
        (Ran(status=0, out=b"f2024:1\nf2025:3\n"), "later", "not one number"),
        (Ran(status=0, out="٣".encode()), "later", "not one number"),
        (Ran(status=0, out=b"9" * 40), "later", "not one number"),
        (Ran(fault="It gave no answer within 60 s."), "first", "no answer"),
    ],
)
def test_a_count_is_a_number_not_yet_or_broken(ran: Ran, phase: str, answer: int | str | None):
    """One non-negative integer, whatever the exit status; never digits of something else."""
    found = count_of(ran, has_counted=phase == "later")
    if isinstance(answer, str):
        assert answer in found.fault
        assert found.value is None
    else:
        assert (found.value, found.fault) == (answer, "")


def test_names_of_units_are_counted_once_and_half_a_name_is_none():
    """With names, repeats do not count, and an unended last line is torn."""
    assert count_of(Ran(status=0, out=b"a\nb\na\n"), has_counted=True, distinct=True).value == 2
    torn = count_of(Ran(status=0, out=b"a\nb"), has_counted=True, distinct=True)
    assert (torn.value, torn.torn) == (1, True)


def test_existence_has_three_answers_and_broken():
    """0 there is a run, 1 there is none, 74 a damaged one; everything else says nothing."""
    answers = [existence_of(Ran(status=status))[0] for status in (0, 1, 74, 2, 127)]
    assert answers == [Existence.USABLE, Existence.ABSENT, Existence.DAMAGED, None, None]
    assert existence_of(Ran(fault="It hangs."))[1] == "It hangs."


# -- patience -----------------------------------------------------------------------------------


def test_both_kinds_of_patience_have_to_be_spent():
    """Three attempts at once are not enough, and half an hour alone is not either."""
    allowance, marks = Allowance(attempts=3, seconds=1800, before_first=3), Marks(progress=1)
    assert not patience.is_spent(Patience(attempts=9, idle_s=1799), allowance, marks)
    assert not patience.is_spent(Patience(attempts=2, idle_s=9999), allowance, marks)
    assert patience.is_spent(Patience(attempts=3, idle_s=1800), allowance, marks)


def test_with_no_time_attempts_alone_decide():
    """The seed's rule."""
    allowance = Allowance(attempts=3, seconds=0, before_first=5)
    assert patience.is_spent(Patience(attempts=3), allowance, Marks(progress=1))
    # Before the first unit of all there may be another allowance.
    assert not patience.is_spent(Patience(attempts=4), allowance, Marks())


@given(st.lists(st.integers(0, 30), max_size=40), st.integers(1, 20))
def test_progress_is_what_passes_the_mark_and_never_the_target(counts: list[int], target: int):
    """Whatever a log says, patience comes back at most as often as there are units."""
    marks, gains = Marks(), 0
    for count in counts:
        higher = patience.raised(marks, Marks(progress=count), target)
        assert higher.progress >= marks.progress
        gains += higher != marks
        marks = higher
    assert gains <= target
    assert marks.progress == min(max(counts, default=0), target)


def test_an_artifact_that_grows_is_progress():
    """And so are finer steps, which have no target."""
    marks = Marks(progress=4, artifact=1, steps=10)
    assert patience.raised(marks, Marks(artifact=2), 4) != marks
    assert patience.raised(marks, Marks(steps=11), 4) != marks


def test_what_is_forgiven_is_not_counted():
    """After a sleep of the machine one failure is free."""
    woken = patience.woken(Patience(attempts=1))
    once = patience.failed(woken)
    assert once.attempts == 1
    assert patience.failed(once).attempts == 2


def test_progress_gives_all_of_it_back():
    """Attempts and time."""
    assert patience.advanced(Patience(attempts=2, idle_s=900)) == Patience()


def test_a_log_that_rewinds_is_seen_below_its_mark_only():
    """Over its target it may go wherever it likes."""
    assert patience.rewound(Marks(progress=8), 6, 10)
    assert not patience.rewound(Marks(progress=8), 8, 10)
    assert not patience.rewound(Marks(progress=10), 400, 10)
    assert not patience.rewound(Marks(progress=8), None, 10)


# -- back-off -----------------------------------------------------------------------------------


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_waits_double_up_to_a_cap(failures: int, draw: float):
    """Never longer than the cap, never under half of what it doubles to."""
    whole = min(300.0, 10.0 * 2.0 ** min(failures - 1, 32))
    assert whole / 2 <= backoff.wait_s(Backoff(), failures, draw) <= whole


def test_nothing_is_waited_for_after_progress_unless_asked():
    """A run may ask for some time, and gets no more than ten caps of it."""
    assert backoff.wait_s(Backoff(), 0, 0.5) == 0
    assert backoff.wait_s(Backoff(), 0, 0.5, hint_s=30) == 30
    assert backoff.wait_s(Backoff(), 3, 0.5, hint_s=1e9) == 3000
    assert backoff.wait_s(Backoff(), 3, 0.5, hint_s=-5) > 0


# -- acceptance ---------------------------------------------------------------------------------

WHOLE = Artifact(units=Answer(value=4), proof={"head": "x"})


@pytest.mark.parametrize(
    ("artifact", "end", "against"),
    [
        (WHOLE, End(status=0), None),
        (WHOLE, End(status=1), "exit status 1"),
        (WHOLE, End(signal=9), "no exit status"),
        (WHOLE, None, "no exit status"),
        (Artifact(units=Answer(value=3)), End(status=0), "3 of 4"),
        (Artifact(), End(status=0), "0 of 4"),
        (Artifact(units=Answer(fault="hangs")), End(status=0), "cannot be counted"),
        (Artifact(units=Answer(value=4, torn=True)), End(status=0), "not whole"),
        (Artifact(units=Answer(value=4), problems=("stale",)), End(status=0), "stale"),
        (Artifact(units=Answer(value=4), unread=("no head",)), End(status=0), "no head"),
        (Artifact(is_unlooked=True), End(status=0), "nobody has looked"),
    ],
)
def test_the_artifact_and_the_exit_status_are_accepted_together(
    artifact: Artifact, end: End | None, against: str | None
):
    """Either alone is nothing."""
    found = "; ".join(objections(artifact, end, 4))
    assert found == "" if against is None else against in found


def test_a_receipt_holds_for_the_artifact_that_it_is_of():
    """Other units, another target, another proof, a proof that is gone: none of them holds."""
    receipt = Receipt(
        format=RECEIPT_FORMAT, target=4, units=4, attempt=1, proof={"head": "x"}, accepted_s=0
    )
    assert contradictions(receipt, WHOLE, 4) == ()
    assert contradictions(receipt, WHOLE, 5)
    assert contradictions(receipt, Artifact(units=Answer(value=5), proof={"head": "x"}), 4)
    assert contradictions(receipt, Artifact(units=Answer(value=4), proof={"head": "y"}), 4)
    assert contradictions(receipt, Artifact(units=Answer(value=4)), 4)


def test_what_nobody_counted_is_not_told_as_nothing():
    """Of an artifact that nobody looked at, or that gave no count, no number is said."""
    silent = Answer(silence="It printed no number (exit status 1, nothing on stderr).")
    for artifact in (Artifact(is_unlooked=True), Artifact(units=silent)):
        told = "; ".join(objections(artifact, End(signal=9), 4))
        assert "the last attempt was killed by SIGKILL" in told
        assert "0 of 4" not in told
    assert objections(Artifact(is_unlooked=True), End(status=75), 4) == (
        "the last attempt ended with exit status 75",
    )


def test_what_could_not_be_looked_at_contradicts_no_receipt():
    """A count, a file, a head without an answer say nothing; what did answer still does."""
    receipt = Receipt(
        format=RECEIPT_FORMAT, target=4, units=4, attempt=1, proof={"head": "x"}, accepted_s=0
    )
    for unsure in (
        Artifact(units=Answer(fault="It was ended by signal 9.")),
        Artifact(units=Answer(value=4), unread=("'head' gave no head",)),
    ):
        assert unsure.uncertainty
        assert contradictions(receipt, unsure, 4) == ()
    short = Artifact(units=Answer(value=3), unread=("'head' gave no head",))
    assert contradictions(receipt, short, 4)
    other = Artifact(units=Answer(fault="It was ended by signal 9."), proof={"head": "y"})
    assert contradictions(receipt, other, 4) == ("head is not what the receipt says",)


def test_drift_is_told_where_both_say_something():
    """A log that says nothing disagrees with nobody."""
    assert drift(Answer(value=8), Answer(value=7))
    assert not drift(Answer(value=8), Answer(value=8))
    assert not drift(Answer(), Answer(value=7))


# -- what follows -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "against", "patience", "state", "code"),
    [
        (End(status=0), (), "left", State.DONE, 0),
        (End(status=0, why=Reason.OPERATOR), (), "left", State.DONE, 0),
        (End(status=0, why=Reason.OPERATOR), ("short",), "left", State.STOPPED, 75),
        (End(status=75), ("short",), "spent", State.PAUSED, 75),
        (End(status=76), ("short",), "left", State.PAUSED, 76),
        (End(status=65), ("short",), "left", State.FAILED, 65),
        (End(status=1), ("short",), "left", State.WAITING, 0),
        (End(status=1), ("short",), "spent", State.GAVE_UP, 3),
        (End(status=0), ("short",), "left", State.WAITING, 0),
        (End(status=0), ("short",), "spent", State.UNACCEPTABLE, 5),
        (
            End(status=0, said=Said(outcome=Kind.PERMANENT)),
            ("short",),
            "left",
            State.UNACCEPTABLE,
            5,
        ),
        (End(status=1, why=Reason.HEALTH), ("short",), "left", State.GAVE_UP, 3),
        (End(status=0, why=Reason.HEALTH), (), "left", State.GAVE_UP, 3),
        (End(status=75, why=Reason.DISK), ("short",), "left", State.WAITING, 0),
        (End(signal=9, why=Reason.STALL), ("short",), "left", State.WAITING, 0),
    ],
)
def test_what_follows_from_an_end(
    end: End, against: tuple[str, ...], patience: str, state: State, code: int
):
    """Done, again, paused, stopped, failed, given up, unacceptable."""
    is_spent = patience == "spent"
    found = verdict(end, kind_of(end, USUAL), against, is_spent=is_spent, holds_progress=True)
    assert (found.state, found.code) == (state, code)


def test_a_damaged_artifact_is_not_tried_again():
    """No attempt mends a record that is not what was written."""
    found = verdict(
        End(status=0), Kind.DONE, ("damaged",), is_spent=False, holds_progress=True, is_damaged=True
    )
    assert found.state is State.UNACCEPTABLE


# -- liveness and escalation --------------------------------------------------------------------


def test_a_stall_is_time_without_progress():
    """Progress, and a call in flight, start it anew; a heartbeat does not."""
    deadlines = Deadlines(stall_s=100, heartbeat_s=50)
    signs = liveness.begun(0)
    assert liveness.overdue(signs, deadlines, 49, worked_s=49) is Reason.NONE
    assert liveness.overdue(signs, deadlines, 50, worked_s=50) is Reason.HEARTBEAT
    beating = liveness.saw(signs, 90, beat=True)
    assert liveness.overdue(beating, deadlines, 100, worked_s=100) is Reason.STALL
    for sign in ({"advanced": True}, {"busy": True}):
        alive = liveness.saw(beating, 95, **sign)
        assert liveness.overdue(alive, deadlines, 120, worked_s=120) is Reason.NONE


def test_a_stall_is_counted_from_the_first_sign_of_life():
    """What a start takes is no step; one that never comes to life is a stall all the same."""
    deadlines = Deadlines(stall_s=100)
    signs = liveness.begun(0)
    assert liveness.overdue(signs, deadlines, 100, worked_s=0) is Reason.STALL
    alive = liveness.appeared(signs, 90)
    assert liveness.overdue(alive, deadlines, 189, worked_s=0) is Reason.NONE
    assert liveness.overdue(alive, deadlines, 190, worked_s=0) is Reason.STALL
    assert alive.slowest_s == 0


def test_no_deadline_is_shorter_than_twice_the_slowest_step():
    """A unit that takes fourteen minutes is no stall after twelve."""
    signs = liveness.saw(liveness.begun(0), 880, advanced=True)
    assert liveness.overdue(signs, Deadlines(stall_s=720), 880 + 1700, worked_s=0) is Reason.NONE
    assert liveness.overdue(signs, Deadlines(stall_s=720), 880 + 1760, worked_s=0) is Reason.STALL


def test_limits_of_time_and_none():
    """All attempts before one, and 0 is for ever."""
    signs = liveness.begun(0)
    limits = Deadlines(stall_s=0, attempt_s=10, total_s=20)
    assert liveness.overdue(signs, limits, 10, worked_s=10) is Reason.ATTEMPT_LIMIT
    assert liveness.overdue(signs, limits, 1, worked_s=20) is Reason.TOTAL_LIMIT
    assert liveness.overdue(signs, Deadlines(stall_s=0), 1e9, worked_s=1e9) is Reason.NONE


@pytest.mark.parametrize("why", [reason for reason in Reason if reason])
def test_every_ladder_ends_in_a_kill_within_its_graces(why: Reason):
    """Each step comes once, after the grace of the one before it; then the keeper is killed."""
    rungs = ladder(why, Graces(grace_s=5, stop_s=50))
    steps, climb, now_s = [], Climb(), 0.0
    while now_s < 200:
        if (step := due(rungs, climb, now_s)) is not None:
            steps.append(step)
            climb = Climb(taken=climb.taken + 1, at_s=now_s)
        now_s += 1
    assert steps == [rung.step for rung in rungs]
    assert steps[-3:] == [Step.TERM, Step.KILL, Step.ABANDON]
    assert (steps[0] is Step.DUMP) == (why in {Reason.STALL, Reason.HEARTBEAT})


def test_an_operators_own_signal_is_passed_on():
    """TERM stays TERM, and is not sent a second time."""
    steps = [rung.step for rung in ladder(Reason.OPERATOR, Graces(), first=Step.TERM)]
    assert steps == [Step.TERM, Step.KILL, Step.ABANDON]


# -- health, space, pace ------------------------------------------------------------------------


def test_a_check_counts_when_it_is_armed_and_says_so_twice():
    """One odd look is none, and no reading is none."""
    assert not is_armed(Arming(after_s=60), gone_s=59, units=9)
    assert not is_armed(Arming(from_units=3), gone_s=99, units=2)
    assert is_armed(Arming(after_s=60, from_units=3), gone_s=60, units=3)
    bad, good, none = Ran(status=1), Ran(status=0), Ran(fault="It hangs.")
    once = looked(Health(), bad)
    assert not is_useless(once)
    assert is_useless(looked(looked(once, none), bad))
    assert not is_useless(looked(looked(once, good), bad))


def test_space_that_was_short_has_to_be_more_than_enough():
    """Nothing flaps around the floor."""
    assert space.has_room(100, 100, was_short=False)
    assert not space.has_room(110, 100, was_short=True)
    assert space.has_room(125, 100, was_short=True)


def test_what_the_rest_needs_is_estimated_from_what_there_was():
    """Nothing is said before there is something to say."""
    first, now = Growth(free=1000, units=2), Growth(free=800, units=4)
    assert space.needed(first, now, 10) == 600
    assert space.needed(None, now, 10) == space.needed(now, now, 10) == 0
    assert space.needed(first, now, None) == 0


def test_the_time_left_is_of_the_last_units():
    """A window that moves: what was slow long ago does not count, and a stop shows."""
    window: tuple[pace.Seen, ...] = ()
    for at in range(40):
        window = pace.looked(window, pace.Seen(at_s=at * (100 if at < 20 else 10), units=at))
    assert pace.rate_per_s(window[:1], 5) is None
    assert pace.rate_per_s(window, 390) == pytest.approx(0.1)
    assert pace.left_s(window, 390, 49) == pytest.approx(100)
    assert pace.left_s(window, 390 + 150, 49) == pytest.approx(200)
    assert pace.left_s(window, 390, None) is None


# -- words --------------------------------------------------------------------------------------


def test_commands_are_words_and_no_shell():
    """Unless one is asked for; a quote that is open is an error and no guess."""
    assert parse("grep -c 'a b' \"x y\"", "--x").words == ("grep", "-c", "a b", "x y")
    shell = shell_words(lambda name: f"/bin/{name}")
    assert parse("a | b", "--x", shell=shell).words[-1] == "a | b"
    assert "pipefail" in shell
    assert shell_words(lambda _: None)[0] == "/bin/sh"
    for wrong in ("grep 'a", "", "  "):
        with pytest.raises(UsageError):
            parse(wrong, "--x")
    assert is_path("out/run.db")
    assert is_path("'my out/run.db'")
    assert not is_path("test -e x")
    assert not is_path("test 'x")


def test_times_and_sizes():
    """As people write them."""
    written = ("250ms", "90", "90s", "30m", "6h", "1.5d")
    assert [seconds(text, "--x") for text in written] == [0.25, 90, 90, 1800, 21600, 129600]
    assert [size(text, "--x") for text in ("7", "64MB", "2 GB")] == [7, 64_000_000, 2_000_000_000]
    for wrong in ("", "-3", "3 weeks", "1e9", "m", "9" * 400):
        with pytest.raises(UsageError):
            seconds(wrong, "--x")


def test_numbers_of_something():
    """From one on, in plain digits, and no more than anybody means."""
    assert [number(text, "--x") for text in ("1", " 20 ", "007")] == [1, 20, 7]
    for wrong in ("", "0", "-1", "1.5", "x", "\u0663", "1e3", "1" + 9 * "0" + "0", "9" * 9000):
        with pytest.raises(UsageError, match="--x"):
            number(wrong, "--x")


def test_secrets_are_taken_out_longest_first():
    """By the name of their variable, or because they look like one."""
    found = secrets_of(
        {
            "MY_API_KEY": "abcdefgh",
            "MY_TOKEN": "abcdefghijkl",
            "SHORT_KEY": "abc",
            "KEY_FILE": "/home/me/key",
            "PLAIN": "not-a-secret",
            "NAMED": "also-a-secret",
        },
        ["NAMED"],
    )
    assert found == ("also-a-secret", "abcdefghijkl", "abcdefgh")
    text = b"abcdefghijkl abcdefgh Bearer aaaabbbbcccc sk-0123456789abcdef0123 not-a-secret"
    cleaned = masked(text, [one.encode() for one in found])
    assert cleaned == b"[masked] [masked] Bearer [masked] [masked] not-a-secret"
