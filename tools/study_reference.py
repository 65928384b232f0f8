"""Writes `docs/study-file.md` from the tables that read a study file.

python tools/study_reference.py           # write the page
python tools/study_reference.py --check   # fail if the page is not current
"""

from __future__ import annotations

import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from perdure.base.dates import Days
from perdure.population import measure
from perdure.study import schema, yaml_reader
from perdure.study.kinds import Kind, ListOf, MapOf, Name
from perdure.study.section import Field, Group

PAGE = Path(__file__).resolve().parent.parent / "docs" / "study-file.md"

# From each weekday on: how many of 180 days are from Monday to Friday.
WORKING = [
    Days(date(2026, 1, 5 + weekday), (5, 6), ()).before(date(2026, 1, 5 + weekday) + timedelta(180))
    for weekday in range(7)
]

INTRO = f"""\
# The study file

<!-- Written by tools/study_reference.py from src/perdure/study/schema.py; not by hand. -->

A study is one YAML file. It says what the study is about, who is in it, what they see and are
asked, and which model speaks for them. `examples/vote96/study.yaml` is a whole one, with comments.
`perdure plan STUDY` checks a file without spending anything, and lists everything that is wrong
with it at once, each with its line and what to write.

A short study:

```yaml
{{example}}```

## What YAML means here

- **Text is text.** No value is guessed to be anything: the key says what it is. `no`, `1:30`,
  `null` and `~` are text. Where a number is due, write plain digits: `0x10`, `1_000`, `.5`, `1e3`
  and `nan` are refused. A truth value is `true` or `false`, and no other word.
- **Quotes do not matter.** `5`, `"5"` and `'5'` are the same number where a number is due, and the
  same text where text is due. White space around a text does not count.
- **Nothing clever.** Anchors, aliases, merge keys, tags, directives, duplicate keys and a second
  document are refused. The file is UTF-8, at most {yaml_reader.BYTES_MAX:,} bytes and
  {yaml_reader.LINES_MAX:,} lines long, at most {yaml_reader.DEPTH_MAX} levels deep, and holds
  {yaml_reader.NODES_MAX:,} values at most.
- **Ids** are 1 to 64 Latin letters, digits, `.`, `_` and `-`, and start with a letter or a digit.
- **Files** are in the study's folder or below it. A path that leads out of it, by `..`, as an
  absolute path or through a link, is refused, and so is anything that is not a regular file. Only
  flags name files elsewhere: `--key-file` and `--weights`.
- **Your own classes** are named as `module:Class`. They are imported when the study is run, from
  the study's folder or an installed package, and not when it is planned.
- **Data files** that your own classes read are listed under `files`, each by its path: at most
  {schema.FILES_MAX} of them, of {schema.FILE_BYTES_MAX >> 20:,} MiB at most. What is in them is
  compared when a run is continued, so that no run mixes two versions of a file; see
  [writing a world](writing-a-world.md#data-files).

## The population file

A CSV file: a header, then one row a person, every row with one field for each column of the
header. It is in UTF-8 with commas between the columns, unless `population.csv` says otherwise. Or a
Parquet file: each value is read as the text that it would be in a CSV file, a null as an empty
field, and a problem names the row by its number. It may have columns that the study does not name.
Fields are read by the ontology: a code of the attribute's scale, a number, or text. `3.0` is the
code `3`. A field that is in `population.missing` is a missing value (`99.0` too, where `99` is),
and the persona goes without that attribute.

What every persona must carry, the *conditioning set*, is the attributes with `required: true`. A
row without one of them is refused, or left out and counted (`population.incomplete`).

A draw of some of the rows is seeded, and nested: the 30 people of `n: 30` are among the 60 of
`n: 60`. Personas stay in the order of the file.

## Who is drawn

```yaml
population:
  file: survey.parquet
  id: respondent
  weight: design_weight
  draw: {{n: 400, seed: 1, by: weight, quotas: [sex, region]}}
  audiences:
    young:
      share: 0.5
      where: {{age: {{to: 35}}, internet: {{is: [1, 2]}}}}
      relax: [internet]
    everyone-else: {{share: 0.5}}
  targets:
    sex: {{1: 0.49, 2: 0.51}}
```

- **By chance or by weight.** Every row has the same chance, or (`by: weight`) one in proportion to
  its survey weight. A row is drawn once at most, so a draw of most of a file cannot follow weights.
- **Audiences** are slices: who passes all filters of `where` is in, unless an earlier audience has
  them. Each gets its share of the draw. A persona without the attribute passes no filter of it.
- **Quotas** are met exactly, code by code, as long as there are people. Rows are looked at in the
  seeded order, and taken if their audience and every quota have room. Who lacks the attribute has
  no room. With quotas or audiences a smaller draw need not be part of a larger one.
- **The target** of an attribute is what `targets` says; else the shares in the file among those who
  can take part, by weight and by the shares of the audiences.
- **A shortfall climbs down a ladder, on record.** If too few people fit, one thing at a time is
  given up until enough do: the last quota, then the one before it; then, audience by audience, the
  filters that `relax` names. Each step is shown by `perdure plan` with how many were lacking and
  how many it gave, kept in the run, and repeated in its report. If people are lacking still, the
  study is refused, and says of which audience.
- **Gates** compare what was drawn with the target before any model is called: every attribute with
  a scale by chi-squared (codes of which fewer than five people are expected are put together),
  every number by Kolmogorov and Smirnov. They are one family (Holm): a sound draw fails any of them
  with chance `gates.alpha` at most. `perdure plan` shows all of them with their evidence, and a run
  whose draw fails one is refused, unless `gates.accept` names it; then the run and its report say
  that it failed and was accepted. Who takes all rows of a file, with neither weights nor targets,
  has nothing to compare. Texts and the held-out outcome are never compared.

## Who knows whom

```yaml
population:
  graph: {{degree: 8, alike: [party, age]}}            # made from attributes
```

```yaml
population:
  graph: {{file: ties.csv, from: a, to: b, strength: contacts}}   # ties that you have
```

- **Made from attributes**, by three mechanisms. Everyone stands on a ring, people who are alike
  near each other, and is tied to the next few: a small world, with clustered neighbourhoods. A
  share `far` of the ties leads beyond, to people in proportion to the far ties that they have
  already: preferential attachment. `homophily` is the chance that a place on the ring, and a far
  tie, is chosen for likeness rather than by lot. Codes are near by their places in the scale,
  numbers by their distance, texts if they are the same. The strength of a tie, in hundredths, is
  half likeness and half the share of neighbours in common.
- **Ties that you have** are one row each, in a CSV or Parquet file, both ends by the ids of the
  population file. They have no direction; a tie that is there twice counts once, with the larger
  strength. Ties to people who are not drawn are left out and counted.
- **Gates** of a graph that is made: `graph.degree` (the mean within a tenth of what is asked),
  `graph.clustering`, `graph.homophily`, `graph.connected` (98 % in one component). They are shown,
  refused and accepted like the others. Ties that you have are measured, and not judged.
- **Communities** are found by Leiden, seeded, after `pip install 'perdure[graph]'`. The partition
  qualifies if it is as `communities` says. Without one nobody is in a community, and polarization
  is reported as not measurable, with the reason.
- The graph is built once, with the people, and kept in the run. It has a hash of its own: other
  ties or other communities make other worlds, with other ids, and a run does not go on with them.

## The held-out outcome

**The outcome is held out.** What is enforced, by the program and not by the study's author:

- The outcome is read from its own column into a place of its own, by the row's id. It is in no
  persona, prompt or header, and nothing that a worker is given. No attribute may use its column.
- A *recoded copy* is refused by name: an attribute each of whose values goes with one choice and
  the other way round, in every row that has both, with six rows or more beyond the first of each
  pair. Nothing allows it.
- A *determining* attribute is refused by name, with what was measured. By itself it guesses the
  outcome right in {100 * measure.RIGHT_MIN:.0f} % of the rows or more, and avoids at least
  {100 * measure.SAVED_MIN:.0f} % of the errors of always guessing the commonest choice; or it tells
  one choice from the rest (of {measure.ALL_PARTS_MAX} choices or fewer, any group from the rest) in
  {100 * measure.PART_RIGHT_MIN:.0f} % of the rows, and better than its other errors explain. A row
  is guessed from the other rows with the same value; that a value is missing counts as a value.
  Values that rarely recur are also compared by ranges, if they are numbers, and by their words,
  letters, digits and ends. Ids are looked at in the same way.
- If such an attribute is a real predictor that personas are meant to know, its author says so:
  `allow_determining: true`. That is part of the ontology, and so of a run's record.

What is not enforced: an attribute that merely predicts the outcome, as party identification does a
vote, is a persona's own and is shown to it. Nor is it found if only several attributes together
determine the outcome, if a text says it in words that do not recur, if no value recurs (a code for
each row that only another table can read), if the order of the rows follows the outcome, or if the
file is so small that chance would do as well (fewer than about twenty rows). What your own brief,
claims, world and agent say is up to you.

## Grids

A scenario may carry a `grid`: keys of a scenario, each with the list of the values that it takes.
The study then has one scenario for every combination, and runs each with every seed.

```yaml
scenarios:
  shown:
    exposures: {{1: [simple], 2: [dear]}}
    grid:
      activation: [0.5, 1.0]
      variant: [two-euros, free]
      settings.feed.rate: [1, 2, 5]
```

- **A value replaces the key's own.** All else of the scenario and of `timeline` stays. What a grid
  varies need not be written beside it.
- **A dot leads inward**: `settings.feed.rate` is `rate` in `feed` in `settings`, and `exposures.3`
  is what is shown at tick 3. The rest of that section stays as the scenario or `timeline` has it.
- **Ids are made of what varies**: `shown--activation-0.5--settings.feed.rate-1--variant-free`. Keys
  stand in the order of their names, however the grid is written. A list of one word is named by
  that word. A value that is no plain word or number is named by some of its letters and by digits
  of its hash, and the end of an id of more than 64 characters gives way to such digits.
- **A cell is that scenario.** Written out by hand, with that id, it is the same world with the same
  id. A value that is added to a grid moves no cell that was there.
- Refused, with the line: a key that is none of a scenario's, an empty list, a value twice, a value
  of the wrong kind, `id` and `seeds`, two scenarios that are the same or have one id, ticks of two
  lengths. A study has at most {schema.CELLS_MAX:,} worlds, and its scenarios written out at most
  {schema.SCENARIOS_BYTES_MAX >> 20} MiB.

`perdure plan` lists every world that comes of it; see [sweeps](sweeps.md).

## Calendars

With a `calendar` each tick is a date, and how many ticks there are is counted from it.

```yaml
{{calendar}}```

- **Counted, day by day.** 180 days from a Monday hold {WORKING[0]} days from Monday to Friday; from
  a Wednesday they hold {WORKING[2]}. `days` and `end` are of the calendar, with the days that are
  skipped; `horizon` is then left out. With a `start` alone, `horizon` says how many ticks it is.
- **What is skipped has no tick.** `skip_weekdays` are left out every week, whichever a country has
  (`[friday, saturday]`), `skip_dates` once. A holiday that falls on such a weekday is none to skip,
  and may be listed. A start that is skipped leads to the next day that is not.
- **Other ticks.** Of an hour: a day has 24, from midnight, also where clocks are put forward, and
  is skipped whole. Of a week: seven days from `start` on; a calendar is then of whole weeks, and
  skips nothing.
- **Dates are shown** beside ticks by `perdure plan`, `status`, `show` and `report`, and an export
  of turns has a column `date`. People in the study are told nothing of it, unless `in_prompt` is
  `true`: then each prompt says what day it is, and what is remembered has its date.
- **A named `rhythm`** goes by it: the factor of a Saturday is that of every Saturday. One that is
  written out as a list goes by ticks, as without a calendar.
- **It is part of a scenario.** Other dates make other worlds, with other ids: a run whose calendar
  was edited does not go on, and says what moved. What makes the same dates is the same calendar,
  however it is written. `grid` can vary it (`calendar.start`).
- Refused, with the line: a date that does not exist, one to skip that lies outside, a horizon
  beside a length, a calendar without a day, more than {schema.HORIZON_MAX:,} ticks, dates beyond
  the year 9999, and all else of the above that cannot be.

## A rule of fares and times

What people choose between has a price and takes its time, and not the same for everybody. A rule
can count that from what is known of each persona:

```yaml
rule:
  worth:
    train: {{train_cost: -0.04, train_time: -0.004}}
    car: {{car_cost: -0.04, car_time: -0.004}}
  factors: {{fares-halved: {{train_cost: 0.5}}}}
  scales: {{intention: train}}
  noise: 1
```

- **`worth`**: each unit of an attribute adds so much to a choice. Who lacks one of the attributes
  goes without all of it: half of a comparison is none.
- **`factors`**: whoever has met the claim, now or as far as it is remembered, has the attribute
  multiplied. What it believes of the claim does not matter.
- **`scales`**: a `likert` question asks about one of the rule's choices. The answer is the point
  that lies as far up its scale as that choice is probable, by the logit of what all choices are
  worth: of five points the first below a fifth. Where the question is scored by `similarity`, that
  point's label is all that is said, beside that a rule says it; so write labels as somebody would
  say them.

`examples/fares` has such a rule.

## Reactions by a rule

Where something can be done about what is shown, a baseline reacts by its rule, as a model of one
person. It sees what the messages say, what others did with them as far as that is shown, and how
close it is to who says them. It knows nothing of channels, ranking, communities or spreading: what
comes about among many people comes about in the world.

- **What pulls.** A message pulls towards its claim or away from it, by

  `side * (1 + social_proof * log2(1 + approvals)) * (1 + tie * strength) + motivation * liking`

  `side` is 1 for a claim itself and for who agrees with it, -1 for who disagrees, 0 for who takes
  no side. `approvals` are the `like`, `up`, `repost` and `tell` that are seen, less the `dislike`
  and `down`, and no fewer than none. `strength` is that of the persona's tie to who says it.
  `liking` is what the rule's `claims` say that the claim adds to the choice that the persona leans
  to, less what it adds to the best of the others; it is 0 for a persona that leans nowhere. Seeded
  noise comes on top (`reactions.noise`).
- **Which message.** The one with the strongest pull, either way. Of equal ones chance decides, and
  not their order.
- **What is said.** To a question about the rule's own choices, the persona's choice; on a scale for
  one of them, a point. To any other
  closed question whether it agrees with the claim of that message: the choice `agree` or the first
  one if it pulls towards the claim, `disagree` or the last one if it pulls away.
- **What is done.** The strength of the pull, either way, is held against the thresholds below.
  Who agrees with the message approves of it, answers, passes it on, follows who wrote it (without a
  tie to them), posts. Who disagrees disapproves, answers, posts. Of what is reached and can be done
  there, the highest threshold counts. Actions with other names than those below are never taken.
- **What is believed.** A pull of 1 moves the belief in the claim by `persuasion` steps, two at most
  at once, and not beyond the ends of its scale. What a claim adds to choices counts by the belief
  in it: not at all at the lowest, once for who is unsure, twice at the highest.

## Vectors

Ranking by interest, and an agent's memory, can go by what texts have in common. For that a study
names a model that gives texts their vectors; without one, nothing has a vector.

```yaml
models:
  speaks: {{provider: http, model: some-model-2026-01-01, base_url: "https://example.org/v1"}}
  words: {{provider: baseline}}
roles: {{tier_a: speaks, embed: words}}
```

- **A baseline** needs no rule to give vectors, and no network. It hashes the words of a text into
  256 numbers: two texts are near each other as far as they use the same words. That is overlap of
  words, not meaning. Texts without any word have one vector of their own, near to no other; no
  vector is all zeros.
- **An `http` model** is asked at `/embeddings` below its `base_url`. Its address and its `key_env`
  are in the study: flags such as `--base-url` are for the models that speak. Write its price with
  `output: 0`, or leave it out where the address tells it.
- **The `local` model `all-minilm-l6-v2-int8`** knows what words mean, in English, on this machine
  and for nothing; it does not speak. It needs an extra (`perdure[embed]`), and where something is
  missing, the error is the line that fetches it. Any other `local` model gives no vectors, and is
  refused.
- `--model` leaves `embed` as it is. A model that serves `embed` alone is not what `--model http` or
  `--model baseline` means.

## Anchors

An answer in free words can be scored for a construct, such as the intention to buy, by how near it
is to *anchors*: statements of what each point of a scale sounds like. They are in a file of their
own, which the study names: `anchors: {{intent: anchors/intent-1.yaml}}`.

```yaml
construct: intent
version: 1
points: [no, perhaps, yes]
sets:
  - [I would never buy it., I might buy it., I would certainly buy it.]
  - [I have no interest in it., I am of two minds about it., I am eager to have it.]
ladder:
  - [Not for me.]
  - ["Hard to say, I would have to see it."]
  - ["Yes, where can I get one?"]
```

`perdure anchors check` embeds them with the study's model of vectors and says whether the anchors
put the answers of `ladder` in their order. It writes a receipt beside the file
(`intent-1.check.json`), for exactly these anchors and this model. See
[scoring](scoring.md#by-similarity) for the formula, and for what a check does not show.

## Keys
"""

CALENDAR = """\
timeline:
  calendar:
    start: 2026-01-05            # a Monday
    days: 180                    # 130 working days, less two holidays
    skip_weekdays: [saturday, sunday]
    skip_dates: [2026-04-03, 2026-04-06]
    in_prompt: true
  waves: [0, 127]
"""

EXAMPLE = """\
perdure: 1
name: fares
brief:
  title: A new bus fare
  text: The city plans a fare of two euros for any ride.
  claims:
    simple: One price for any ride is easy to understand.
    dear: Short rides become dearer.
ontology:
  attributes:
    age: {column: age, label: Age, unit: years, required: true}
    rides: {column: rides, label: Bus rides a week}
population:
  file: riders.csv
  id: rider
questions:
  support:
    text: Are you for or against the new fare?
    choices: {for: for it, against: against it}
  reaction:
    text: Do you agree or disagree?
    choices: {agree: agree, disagree: disagree}
variants:
  two-euros: Two euros for any ride.
timeline:
  horizon: 3
  waves: [0, 2]
  wave_question: support
  exposure_question: reaction
scenarios:
  in-favour:
    exposures: {1: [simple]}
  critical:
    exposures: {1: [dear]}
seeds: [1, 2, 3]
models:
  rule:
    provider: baseline
    rule:
      claims: {simple: {for: 1}, dear: {against: 1}}
      noise: 1
"""


def page() -> str:
    """Write the page."""
    parts = [INTRO.replace("{example}", EXAMPLE).replace("{calendar}", CALENDAR)]
    parts.extend(_group(group) for group in schema.GROUPS)
    return "\n".join(parts)


def _group(group: Group) -> str:
    lines = [f"### {_title(group)}", "", group.about, ""]
    lines += ["| key | what to write | if left out | meaning |", "|---|---|---|---|"]
    lines += [_row(field) for field in group.fields]
    return "\n".join([*lines, ""])


def _title(group: Group) -> str:
    return "The file" if group is schema.STUDY else group.name


def _row(field: Field[Any]) -> str:
    left_out = "**required**" if field.required else field.default or "not used"
    cells = (f"`{field.key}`", _kind(field.kind), left_out, field.about)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _kind(kind: Kind[Any]) -> str:
    if isinstance(kind, Group):
        short = ", or a text" if kind.short is not None else ""
        return f"[{kind.name}](#{kind.name}){short}"
    if isinstance(kind, ListOf):
        return f"list of: {_kind(kind.item)}"
    if isinstance(kind, MapOf):
        return f"mapping from {_kind(kind.key)} to: {_kind(kind.value)}"
    return "an id" if isinstance(kind, Name) else kind.shown


def main(arguments: list[str]) -> int:
    """Write the page, or check that it is current."""
    written = page()
    if arguments == ["--check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == written else 1
    PAGE.write_text(written, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
