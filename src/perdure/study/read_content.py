"""Reads what a study tells: the brief, the variants, the agent."""

from __future__ import annotations

from perdure.records.scenario import AGENT_WITH_TOOLS, AgentSettings, Brief, Claim, Variant
from perdure.study import schema
from perdure.study.section import Section


def read_brief(study: Section) -> Brief:
    """Read the brief and its claims."""
    section = study.get(schema.BRIEF_FIELD)
    return Brief(
        title=section.get(schema.TITLE),
        text=section.get(schema.BRIEF_TEXT),
        claims=tuple(Claim(id=entry.key, text=entry.value) for entry in section.get(schema.CLAIMS)),
    )


def read_variants(study: Section) -> tuple[Variant, ...]:
    """Read the variants in order."""
    return tuple(
        Variant(id=entry.key, description=entry.value) for entry in study.get(schema.VARIANTS)
    )


def read_agent(study: Section) -> AgentSettings:
    """Read how the agent works."""
    if not study.has(schema.AGENT):
        return AgentSettings()
    section = study.get(schema.AGENT)
    window = section.get(schema.CONTEXT_TOKENS)
    with_tools = section.get(schema.AGENT_CLASS) == AGENT_WITH_TOOLS
    if with_tools and not section.present(schema.TURN_CALLS):
        wrong = "An agent with tools could make any number of calls in a turn."
        section.wrong(schema.TURN_CALLS, wrong, "Write how many at most, such as 6.")
    outside = section.get(schema.OUTSIDE)
    if section.present(schema.OUTSIDE) and not with_tools:
        section.wrong(
            schema.OUTSIDE,
            "Only an agent with tools can use them.",
            f"Leave them out, or write `class: {AGENT_WITH_TOOLS}`.",
        )
    tools = tuple(spot.value for spot in outside.get(schema.OUTSIDE_TOOLS))
    twice = sorted({name for name in tools if tools.count(name) > 1})
    if twice:
        outside.wrong(
            schema.OUTSIDE_TOOLS, f"It names {', '.join(twice)} twice.", "Name each tool once."
        )
    return AgentSettings(
        agent=section.get(schema.AGENT_CLASS),
        temperature=section.get(schema.TEMPERATURE),
        answer_tokens_max=section.get(schema.ANSWER_TOKENS),
        reflect_every=section.get(schema.REFLECT_EVERY),
        memories_max=section.get(schema.MEMORIES),
        settings=section.get(schema.AGENT_SETTINGS),
        memories_kept=section.get(schema.MEMORIES_KEPT),
        probe_every=section.get(schema.PROBE_EVERY),
        probe_share=section.get(schema.PROBE_SHARE),
        context_tokens_max={
            field.key: window.get(field)
            for field in (schema.CONTEXT_TIER_A, schema.CONTEXT_TIER_B)
            if window.present(field)
        },
        turn_calls_max=section.get(schema.TURN_CALLS),
        turn_money_max=section.get(schema.TURN_COST),
        outside_tools=tools,
        outside_egress=outside.get(schema.OUTSIDE_EGRESS),
    )
