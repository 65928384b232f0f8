"""A persona's state follows from its events alone, and what it keeps is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.agent import advance
from perdure.agent.state import keep
from perdure.records.persona import Memory, PersonaState
from perdure.records.presentation import Exposure, Impression, Presentation

SURVEY = Presentation(persona="p", impression=Impression(channel="survey"), question="q")
CAMPAIGN = Presentation(
    persona="p",
    impression=Impression(channel="campaign", exposures=(Exposure(stimulus="s", reason="r"),)),
    question="q",
)
NOTE = Memory(tick=1, text="a", importance=0.5)
INSIGHT = Memory(tick=1, text="b", importance=0.8, source="reflection")

memories = st.lists(
    st.builds(
        Memory,
        tick=st.integers(0, 100),
        text=st.text(max_size=3),
        importance=st.sampled_from([-1.0, 0.0, 0.25, 0.5, 0.8, 1.0]),
    ),
    max_size=12,
)


def test_a_turn_that_shows_counts_and_a_survey_does_not() -> None:
    """Turns since the last reflection are those that showed something; a survey only reads."""
    state = advance(PersonaState(), CAMPAIGN, (NOTE,), reflected=False, memories_max=5)
    assert state == PersonaState(memories=(NOTE,), turns_since_reflection=1)
    assert advance(state, SURVEY, (), reflected=False, memories_max=5) == state


def test_a_reflection_starts_the_count_again() -> None:
    """After a reflection the count is zero, and its memory is kept after that of the turn."""
    state = PersonaState(turns_since_reflection=2)
    state = advance(state, CAMPAIGN, (NOTE, INSIGHT), reflected=True, memories_max=5)
    assert state == PersonaState(memories=(NOTE, INSIGHT))


@given(everything=memories, memories_max=st.integers(0, 6))
def test_forgetting_as_one_goes_is_forgetting_at_the_end(
    everything: list[Memory], memories_max: int
) -> None:
    """What is kept turn by turn is what would be kept of all memories at once."""
    state = PersonaState()
    for memory in everything:
        state = advance(state, CAMPAIGN, (memory,), reflected=False, memories_max=memories_max)
    assert state.memories == keep(everything, memories_max)
    assert len(state.memories) <= memories_max


@given(everything=memories, memories_max=st.integers(-1, 6))
def test_what_is_kept_keeps_its_order(everything: list[Memory], memories_max: int) -> None:
    """Kept memories are a subsequence of all, so that they read as they happened."""
    rest = iter(everything)
    assert all(memory in rest for memory in keep(everything, memories_max))


def test_the_important_and_the_recent_are_kept() -> None:
    """An important old memory outlives a faint one, until enough time has passed."""
    old = Memory(tick=0, text="old", importance=0.8)
    faint = Memory(tick=1, text="faint", importance=0.2)
    late = Memory(tick=60, text="late", importance=0.2)
    assert keep((old, faint), 1) == (old,)
    assert keep((old, faint, late), 1) == (late,)
    assert keep((NOTE, NOTE, old), 0) == ()
