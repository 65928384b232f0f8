"""Reads what a study tells and asks: the brief, the questions, the variants, the agent."""

from __future__ import annotations

from perdure.base import text
from perdure.records.persona import Choice
from perdure.records.scenario import AgentSettings, Brief, Claim, Question, Variant
from perdure.study import schema
from perdure.study.findings import quoted
from perdure.study.kinds import Named
from perdure.study.section import Section


def read_brief(study: Section) -> Brief:
    """Read the brief and its claims."""
    section = study.get(schema.BRIEF_FIELD)
    return Brief(
        title=section.get(schema.TITLE),
        text=section.get(schema.BRIEF_TEXT),
        claims=tuple(Claim(id=entry.key, text=entry.value) for entry in section.get(schema.CLAIMS)),
    )


def read_questions(study: Section) -> dict[str, Question]:
    """Read the questions by id."""
    return {named.key: _question(named) for named in study.get(schema.QUESTIONS)}


def _question(named: Named[str, Section]) -> Question:
    section = named.value
    choices = section.get(schema.CHOICES)
    _check_names(choices)
    return Question(
        id=named.key,
        text=section.get(schema.QUESTION_TEXT),
        choices=tuple(
            Choice(
                id=choice.key,
                label=choice.value.get(schema.CHOICE_LABEL),
                aliases=tuple(alias.value for alias in choice.value.get(schema.ALIASES)),
            )
            for choice in choices
        ),
    )


def _check_names(choices: tuple[Named[str, Section], ...]) -> None:
    """Refuse a label or alias by which two choices go: such an answer could never be scored."""
    owner: dict[str, str] = {}
    for choice in choices:
        section = choice.value
        names = [(section.line_of(schema.CHOICE_LABEL), section.get(schema.CHOICE_LABEL))]
        names += [(alias.line, alias.value) for alias in section.get(schema.ALIASES)]
        for line, name in names:
            other = owner.setdefault(text.normalise(name), choice.key)
            if name and other != choice.key:
                wrong = f"The name {quoted(name)} stands for both `{other}` and `{choice.key}`."
                section.found.add(line, wrong, "Give each choice names of its own.")


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
    )
