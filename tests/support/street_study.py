"""A small whole study with every channel and every kind of call, as files and over HTTP; for tests.

Twelve people read a feed that ranks by interest and a forum of their community, tell each other
what moved them, remember by meaning, reflect, and are probed.
"""

from __future__ import annotations

from pathlib import Path

STREET = """\
perdure: 1
name: street
brief:
  title: A street and its trams
  text: The town may build a tram.
  claims: {c0: The tram is fast., c1: The tram is dear., c2: The tram is quiet., c3: Trees fall.}
ontology:
  attributes:
    party: {column: party, label: Party, required: true, scale: {0: left, 1: middle, 2: right}}
    age: {column: age, label: Age, unit: years}
population:
  file: people.csv
  id: id
  graph: {file: ties.csv, from: a, to: b, communities: {seed: 1}}
questions:
  tram: {text: "Should the tram be built?", choices: {build: build it, leave: leave it}}
  react: {text: "Do you agree?", choices: {agree: agree, disagree: disagree}}
variants: {v: The only one.}
timeline:
  horizon: 3
  waves: [0, 2]
  wave_question: tram
  activation: 0.35
  channels:
    feed: {question: react, posts: {0: [c0], 1: [c1]}, ranking: interest}
    forum: {question: react, posts: {0: [c2]}, scope: community}
    word_of_mouth: {question: react, starts: {0: [c3]}, reach: 0.3, moved_min: 1}
scenarios:
  s:
    interventions: [{tick: 1, kind: publish, channel: feed, claim: c2}]
seeds: [1, 2]
models:
  api:
    provider: http
    model: test-model
    base_url: BASE_URL
    price: {input: 0.15, output: 0.6}
    limits: {concurrency: 8}
agent: {reflect_every: 2, memories: 2, memories_kept: 6, probe_every: 2, probe_share: 0.3}
roles: {tier_a: api, embed: api}
"""

PEOPLE = "id,party,age\n" + "".join(f"r{n:02d},{n % 3},{20 + n}\n" for n in range(12))
# Four triangles in a ring.
TIES = (
    "a,b\n"
    + "".join(f"r{n:02d},r{(n - 2 if n % 3 == 2 else n + 1):02d}\n" for n in range(12))
    + "".join(f"r{n:02d},r{(n + 1) % 12:02d}\n" for n in range(2, 12, 3))
)

# In the form of the channels, and not; about what was shown, and not; what can be done, and not.
ANSWERS = (
    "I agree with that.\nMessage: 1\nAction: comment\nBelief: more convinced",
    "I agree.\nMessage: 1\nAction: like\nBelief: much more convinced",
    "I disagree.\nMessage: 1\nAction: reply\nBelief: less convinced",
    "Ada Hill. Build it. I agree.\nMessage: 1\nAction: tell\nBelief: unchanged",
    "I disagree, really.\nMessage: 1\nAction: down\nBelief: much less convinced",
    "Ben Cole. Leave it.\nMessage: none\nAction: none",
    "I would buy it.\nMessage: 1\nAction: buy\nBelief: unchanged",
    "I do not know.",
)


def write_street(folder: Path, base_url: str) -> Path:
    """Write the study, asking the endpoint at this address, and its people; give its path."""
    folder.mkdir(exist_ok=True)
    study = folder / "study.yaml"
    study.write_text(STREET.replace("BASE_URL", base_url))
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "ties.csv").write_text(TIES)
    return study
