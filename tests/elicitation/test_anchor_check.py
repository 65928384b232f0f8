"""A check of anchors passes those that order graded answers, and says everything that fails."""

from __future__ import annotations

import math

import msgspec
import pytest

from perdure.base.canonical import hash_hex
from perdure.elicitation.anchor_check import anchor_problems, check, judged, rank_correlation
from perdure.records.anchors import AnchorCheck, Anchors
from perdure.records.scenario import ModelPin

PIN = ModelPin(provider="local", model="minilm", file_sha256="ab" * 32)
POINTS = ("never", "rather_not", "perhaps", "rather", "surely")
ANCHORS = Anchors(
    construct="intent",
    version="1",
    points=POINTS,
    sets=(tuple("abcde"), tuple("fghij"), tuple("klmno")),
    ladder=(("1", "1b"), ("2",), ("3",), ("4",), ("5",)),
)
COMMAND = "perdure anchors check anchors/intent-1.yaml --study study.yaml"
Similarities = tuple[tuple[float, ...], ...]


def near(*places: float) -> Similarities:
    """Give the similarities of an answer that stands at one place of the scale, by each set."""
    return tuple(tuple(1 - abs(place - point) / 10 for point in range(1, 6)) for place in places)


def ladder(*steps: tuple[Similarities, ...]) -> tuple[tuple[Similarities, ...], ...]:
    """Give a ladder by its steps."""
    return steps


GOOD = ladder(
    (near(1.2, 1.1, 1.3), near(1.5, 1.3, 1.4)),
    (near(2.1, 2.0, 2.2),),
    (near(3.1, 3.0, 3.0),),
    (near(3.9, 4.0, 4.1),),
    (near(4.8, 4.9, 4.7),),
)


def said(found: AnchorCheck, *words: str) -> None:
    """Demand exactly one reason for each of the words, in order."""
    assert len(found.failed) == len(words), found.failed
    for reason, word in zip(found.failed, words, strict=True):
        assert word in reason


def test_anchors_that_order_their_ladder_pass() -> None:
    """Anchors that order their ladder pass."""
    found = judged(ANCHORS, GOOD, PIN)
    assert found.passed
    assert found.anchors_hash == hash_hex(ANCHORS)
    assert found.graded == pytest.approx(0.985611)  # two answers share the first step
    assert found.stable == 1.0
    assert list(found.step_scores) == sorted(found.step_scores, key=lambda score: score or 0)


def test_a_step_that_is_not_above_the_one_before_is_named() -> None:
    """A step that is not above the one before is named."""
    swapped = (*GOOD[:2], GOOD[3], GOOD[2], GOOD[4])
    said(judged(ANCHORS, swapped, PIN), "Step 4 of the ladder")


def test_two_equal_steps_are_not_in_order() -> None:
    """Two equal steps are not in order."""
    said(judged(ANCHORS, (*GOOD[:3], GOOD[2], GOOD[4]), PIN), "Step 4 of the ladder")


def test_sets_that_order_the_answers_differently_fail() -> None:
    """Sets that order the answers differently fail."""
    contrary = tuple(
        tuple((answer[0], answer[1], answer[2][::-1]) for answer in step) for step in GOOD
    )
    found = judged(ANCHORS, contrary, PIN)
    assert found.stable == pytest.approx(-1 / 3, abs=1e-6)
    assert any("do not order the answers alike" in reason for reason in found.failed)


def test_a_ladder_within_a_tenth_of_the_scale_fails() -> None:
    """A ladder within a tenth of the scale fails."""
    close = tuple(
        tuple(near(*(2.9 + place / 20,) * 3) for _ in step) for place, step in enumerate(GOOD)
    )
    found = judged(ANCHORS, close, PIN)
    assert found.spread is not None
    assert found.spread < 0.4
    said(found, "score nearly the same", "nearly the same shares")


def test_shares_that_hardly_move_fail_though_their_mean_does() -> None:
    """Shares that hardly move fail though their mean does."""
    shares = [(0.3 - move, 0.0, 0.4, 0.0, 0.3 + move) for move in (0, 0.03, 0.06, 0.09, 0.12)]
    moving = tuple(
        tuple((share, share, share) for _ in step) for step, share in zip(GOOD, shares, strict=True)
    )
    found = judged(ANCHORS, moving, PIN)
    assert found.spread == pytest.approx(0.48)
    assert found.apart == pytest.approx(0.12)
    said(found, "nearly the same shares")


def test_a_set_that_is_equally_near_everywhere_is_named_with_the_answer() -> None:
    """A set that is equally near everywhere is named with the answer."""
    flat = (0.7,) * 5
    broken = (GOOD[0], ((GOOD[1][0][0], flat, GOOD[1][0][2]),), *GOOD[2:])
    found = judged(ANCHORS, broken, PIN)
    assert found.step_scores[1] is None
    assert found.stable is None
    assert "By set 2 answer 1 of step 2 is equally near" in found.failed[0]
    assert "cannot be taken" in found.failed[1]


def test_all_reasons_come_at_once() -> None:
    """All reasons come at once."""
    falling = tuple(tuple(near(3.0, 3.0, 3.0) for _ in step) for step in GOOD)
    found = judged(ANCHORS, falling, PIN)
    assert found.graded is None
    said(found, "Step 2", "Step 3", "Step 4", "Step 5", "do not order", "nearly", "nearly")


def test_a_check_takes_the_vectors_of_sets_and_ladder() -> None:
    """A check takes the vectors of sets and ladder."""

    def vector(place: float) -> tuple[float, float]:
        return (math.cos(place / 4), math.sin(place / 4))

    sets = [[vector(point + shift) for point in range(1, 6)] for shift in (0.0, 0.01, 0.02)]
    steps = [[vector(1.1), vector(1.2)], *([vector(place)] for place in (2.0, 3.0, 4.0, 5.0))]
    found = check(ANCHORS, sets, steps, PIN)
    assert found.passed, found.failed
    assert len(found.steps[0]) == 2
    assert found.steps[0][0].similarities[0][0] == pytest.approx((1 + math.cos(0.025)) / 2)


def test_a_sound_receipt_of_these_anchors_and_this_model_is_no_problem() -> None:
    """A sound receipt of these anchors and this model is no problem."""
    found = judged(ANCHORS, GOOD, PIN)
    assert anchor_problems("intent", ANCHORS, found, PIN, COMMAND) == []


def test_a_receipt_reads_back_as_it_was_written() -> None:
    """A receipt reads back as it was written."""
    found = judged(ANCHORS, GOOD, PIN)
    again = msgspec.json.decode(msgspec.json.encode(found), type=AnchorCheck)
    assert anchor_problems("intent", ANCHORS, again, PIN, COMMAND) == []


def test_without_a_receipt_the_command_is_named() -> None:
    """Without a receipt the command is named."""
    ((what, remedy),) = anchor_problems("intent", ANCHORS, None, PIN, COMMAND)
    assert "no receipt" in what
    assert COMMAND in remedy


def test_edited_anchors_and_another_model_are_both_named() -> None:
    """Edited anchors and another model are both named."""
    found = judged(ANCHORS, GOOD, PIN)
    edited = msgspec.structs.replace(ANCHORS, version="2")
    other = msgspec.structs.replace(PIN, file_sha256="cd" * 32)
    problems = anchor_problems("intent", edited, found, other, COMMAND)
    assert ["edited since" in problems[0][0], "another model" in problems[1][0]] == [True, True]


def test_a_failed_check_gives_every_reason() -> None:
    """A failed check gives every reason."""
    failed = judged(ANCHORS, (*GOOD[:2], GOOD[3], GOOD[2], GOOD[4]), PIN)
    ((what, _),) = anchor_problems("intent", ANCHORS, failed, PIN, COMMAND)
    assert "failed their check: Step 4" in what


def test_a_failed_receipt_that_was_edited_to_pass_is_refused() -> None:
    """A failed receipt that was edited to pass is refused."""
    failed = judged(ANCHORS, (*GOOD[:2], GOOD[3], GOOD[2], GOOD[4]), PIN)
    edited = [
        msgspec.structs.replace(failed, failed=()),
        msgspec.structs.replace(
            failed, failed=(), step_scores=tuple(sorted(score or 0 for score in failed.step_scores))
        ),
        msgspec.structs.replace(failed, failed=(), steps=failed.steps[:2]),
        msgspec.structs.replace(failed, failed=(), steps=()),
    ]
    for one in edited:
        ((what, _),) = anchor_problems("intent", ANCHORS, one, PIN, COMMAND)
        assert "does not say what its own figures say" in what


def test_a_receipt_with_points_left_out_is_refused() -> None:
    """A receipt with points left out is refused."""
    found = judged(ANCHORS, GOOD, PIN)
    answer = found.steps[1][0]
    short = msgspec.structs.replace(answer, similarities=((0.1,), (0.1,), (0.1,)))
    edited = msgspec.structs.replace(found, steps=(found.steps[0], (short,), *found.steps[2:]))
    assert anchor_problems("intent", ANCHORS, edited, PIN, COMMAND)


def test_a_receipt_of_only_a_part_is_refused_though_its_figures_agree() -> None:
    """A ladder without its awkward steps, and a scale without a point, are other checks."""
    swapped = (*GOOD[:2], GOOD[3], GOOD[2], GOOD[4])
    without_point = tuple(
        tuple(tuple(points[:4] for points in answer) for answer in step) for step in GOOD
    )
    without_set = tuple(tuple(answer[:2] for answer in step) for step in GOOD)
    fewer = msgspec.structs.replace(ANCHORS, sets=ANCHORS.sets[:2])
    parts = (
        judged(ANCHORS, swapped[:3], PIN),
        judged(ANCHORS, without_point, PIN),
        msgspec.structs.replace(judged(fewer, without_set, PIN), anchors_hash=hash_hex(ANCHORS)),
    )
    for part in parts:
        assert part.passed
        ((what, _),) = anchor_problems("intent", ANCHORS, part, PIN, COMMAND)
        assert "does not say what its own figures say" in what


@pytest.mark.parametrize("value", [math.inf, 1e308, -5.0])
def test_a_receipt_with_impossible_numbers_is_refused(value: float) -> None:
    """A receipt with impossible numbers is refused."""
    found = judged(ANCHORS, GOOD, PIN)
    wild = msgspec.structs.replace(found.steps[1][0], similarities=((value,) * 5,) * 3)
    edited = msgspec.structs.replace(found, steps=(found.steps[0], (wild,), *found.steps[2:]))
    ((what, _),) = anchor_problems("intent", ANCHORS, edited, PIN, COMMAND)
    assert "does not say what its own figures say" in what


def test_rank_correlation() -> None:
    """Rank correlation."""
    assert rank_correlation((1, 2, 3), (10, 20, 30)) == 1.0
    assert rank_correlation((1, 2, 3), (3, 2, 1)) == -1.0
    # Values of R: cor(c(1,2,2,4), c(1,3,2,4), method = "spearman").
    assert rank_correlation((1, 2, 2, 4), (1, 3, 2, 4)) == pytest.approx(0.948683)
    assert rank_correlation((1, 2, 3), (5, 5, 5)) is None
    assert rank_correlation((1, None, 3), (5, 6, 7)) is None
    assert rank_correlation((), ()) is None
