"""Proves that each single mistake in a study is exactly one problem, on its line, with a remedy."""

from __future__ import annotations

import pytest
from tests.support.sample_study import Writer

from perdure.base.errors import InvalidStudyError
from perdure.population import load_study
from perdure.study.findings import Findings
from perdure.study.parse import parse

# (what is replaced, by what, the line of the problem as a text on that line, what it says)
MISTAKES = [
    # keys
    ("brief:\n", "breif:\n", "breif:", "`breif` is not known"),
    ("seeds: [1, 2]", "seeds: [1, 2]\nbugdet: 5", "bugdet: 5", "`bugdet` is not known"),
    ("  title: A vote", "  titel: A vote", "titel", "`titel` in `brief` is not known"),
    ("seeds: [1, 2]", "seeds: [1, 2]\nn\u0430me: x", "n\u0430me", r"'n\u0430me'"),
    ("seeds: [1, 2]", "seeds: [1, 2]\n<<: x", "<<", "merge key `<<` is not allowed"),
    ("perdure: 1\n", "", "name: sample", "`perdure` is missing"),
    ("perdure: 1\n", "perdure: 2\n", "perdure: 2", "`perdure` is `2`"),
    ("perdure: 1\n", "perdure: 1.0\n", "perdure: 1.0", "`perdure` is `1.0`"),
    ("name: sample\n", "name: ../sample\n", "name:", "`name` is `../sample`"),
    ("name: sample\n", "name:\n", "name:", "`name` is empty"),
    ("name: sample\n", "name: [a]\n", "name:", "`name` is a list"),
    ("name: sample\n", "name: s\u00e4mple\n", "name:", r"'s\xe4mple'"),
    # the types of scalars
    ("required: true", "required: yes", "required:",
     "`ontology.attributes.party.required` is `yes`"),
    ("required: true", "required: no", "required:", "is `no`"),
    ("horizon: 4", "horizon: 0x10", "horizon:", "is `0x10`"),
    ("horizon: 4", "horizon: 4_0", "horizon:", "is `4_0`"),
    ("horizon: 4", "horizon: 1:30", "horizon:", "is `1:30`"),
    ("horizon: 4", "horizon: 4.0", "horizon:", "is `4.0`"),
    ("horizon: 4", "horizon: 007", "horizon:", "is `007`"),
    ("horizon: 4", "horizon: -4", "horizon:", "is `-4`"),
    ("horizon: 4", "horizon: 0", "horizon:", "is `0`"),
    ("horizon: 4", "horizon: 1000000000", "horizon:", "is `1000000000`"),
    ("horizon: 4", "horizon: " + "9" * 400, "horizon:", "999"),
    ("horizon: 4", "horizon: \u0664", "horizon:", r"'\u0664'"),
    ("activation: 0.5", "activation: 1.5", "activation:", "is `1.5`"),
    ("activation: 0.5", "activation: -0.1", "activation:", "is `-0.1`"),
    ("activation: 0.5", "activation: .5", "activation:", "is `.5`"),
    ("activation: 0.5", "activation: 5e-1", "activation:", "is `5e-1`"),
    ("activation: 0.5", "activation: nan", "activation:", "is `nan`"),
    ("activation: 0.5", "activation: .inf", "activation:", "is `.inf`"),
    ("noise: 0.5", "noise: {a: 1}", "noise:", "is a mapping"),
    ("seeds: [1, 2]", "seeds: 1", "seeds:", "`seeds` is not a list"),
    ("seeds: [1, 2]", "seeds: []", "seeds:", "`seeds` has 0 items"),
    ("seeds: [1, 2]", "seeds: [1, x]", "seeds:", "`seeds[1]` is `x`"),
    ("seeds: [1, 2]", "seeds: [1, 1]", "seeds:", "seed 1 is there twice"),
    ("variants:\n  v1: The first.", "variants: v1", "variants:", "`variants` is not a mapping"),
    ("column: PID", "colunm: PID", "colunm", "`colunm` in `ontology.attributes.party`"),
    ("column: age, ", "", "age: {", "`ontology.attributes.age.column` is missing"),
    ("  file: people.csv\n", "", "id: id", "`population.file` is missing"),
    ("unit: years", "unit: years, allow_determining: yes", "unit: years",
     "`ontology.attributes.age.allow_determining` is `yes`"),
    # what a question asks for
    ("    text: Do you agree?\n", "    text: Do you agree?\n    type: rank\n", "type: rank",
     "`questions.agree.type` is `rank`"),
    ("    text: Do you agree?\n", "    text: Do you agree?\n    type: number\n", "choices: {agree",
     "`choices` is for questions that list choices, and `number` does not"),
    ("    choices: {agree: agree, disagree: disagree}", "    type: likert", "type: likert",
     "A question of the type `likert` has no `choices`"),
    ("    text: Do you agree?\n", "    text: Do you agree?\n    unit: dollars\n", "unit: dollars",
     "`unit` is for questions of the type `number`"),
    ("    text: Do you agree?\n", "    text: Do you agree?\n    shuffle: yes\n", "shuffle:",
     "`questions.agree.shuffle` is `yes`"),
    ("    choices: {agree: agree, disagree: disagree}",
     "    type: number\n    least: 5\n    most: 4", "most: 4", "`most` is less than `least`"),
    ("    choices: {agree: agree, disagree: disagree}", "    shuffle: true", "shuffle: true",
     "`shuffle` is for questions that list choices, and `open` does not"),
    ("    text: Do you agree?\n", "    text: Do you agree?\n    anchors: intent\n", "anchors:",
     "`anchors` is for questions with `scoring: similarity`"),
    ("    text: Do you agree?\n", "    text: Do you agree?\n    epsilon: 0.1\n", "epsilon:",
     "`epsilon` is for questions with `scoring: similarity`"),
    ("    text: Do you agree?\n",
     "    text: Do you agree?\n    type: likert\n    scoring: similarity\n", "scoring:",
     "`scoring: similarity` has no `anchors`"),
    ("    choices: {agree: agree, disagree: disagree}",
     "    type: number\n    scoring: logprobs", "scoring:",
     "`scoring: logprobs` is for one choice of several, not for `number`"),
    ("    text: Do you agree?\n", "    text: Do you agree?\n    scoring: chances\n", "scoring:",
     "`questions.agree.scoring` is `chances`"),
    ("  wave_question: vote\n", "  wave_question: vote\n  wave_questions: [agree]\n",
     "wave_question: vote", "`wave_question` and `wave_questions` are both there"),
    ("  wave_question: vote\n", "  wave_questions: [vote, agree, vote]\n", "wave_questions:",
     "The question `vote` is there twice"),
    ("  wave_question: vote\n", "  wave_questions: [vote, agre]\n", "wave_questions:",
     "The question `agre` is not among the questions"),
    # the order of worlds
    ("seeds: [1, 2]", "seeds: [1, 2]\norder: width", "order:", "`order` is `width`"),
    ("seeds: [1, 2]", "seeds: [1, 2]\norder: Depth", "order:", "`order` is `Depth`"),
    ("seeds: [1, 2]", "seeds: [1, 2]\nlive: 0", "live:", "`live` is `0`"),
    ("seeds: [1, 2]", "seeds: [1, 2]\nlive: all", "live:", "`live` is `all`"),
    # keys that are one key once they are read
    ("exposures: {1: [c1], 2: [c2]}", "exposures: {0: [c1], -0: [c2]}", "exposures: {0",
     "`-0` is already on line"),
    ("scale: {0: left, 1: middle, 2: right}}\n    age",
     "scale: {0: left, 1: middle, 2: right, '2 ': x}}\n    age", "'2 '", "already on line"),
    ("  s1:\n", "  's1 ':\n    horizon: 4\n  s1:\n", "  s1:", "`s1` is already on line"),
    # ids and references
    ("c1: One thing.", "c 1: One thing.\n    c1: One thing.", "c 1:", "(key)` is `c 1`"),
    ("c2: Another thing.", "c2: Another thing.\n    c2: x", "c2: x", "already on line"),
    ("question: vote\n    values", "question: votes\n    values", "question: votes",
     "`votes` is not among"),
    ("values: {a: 0, b: 1}", "values: {a: 0, c: 1}", "values:", "`c` is not a choice"),
    ("values: {a: 0, b: 1}", "values: {a: 0, b: 0}", "values:", "`0` stands for both"),
    ("wave_question: vote", "wave_question: vot", "wave_question:", "`vot` is not among"),
    ("  wave_question: vote\n", "", "waves:", "no `wave_question`"),
    ("exposure_question: agree", "exposure_question: x", "exposure_question:", "`x` is not among"),
    ("  s1:\n", "  s1:\n    variant: v2\n", "variant: v2", "`v2` is not among the variants"),
    ("s1:\n    exposures: {1: [c1]", "s1:\n    exposures: {1: [c3]", "{1: [c3]",
     "`c3` is not among"),
    ("s1:\n    exposures: {1: [c1]", "s1:\n    exposures: {1: [c1, c1]", "c1, c1", "listed twice"),
    ("s1:\n    exposures: {1: [c1]", "s1:\n    exposures: {9: [c1]", "{9:",
     "beyond the last tick, 3"),
    ("waves: [0, 3]", "waves: [0, 4]", "waves:", "wave at tick 4 is beyond the last tick, 3"),
    ("waves: [0, 3]", "waves: [0, 0]", "waves:", "wave 0 is there twice"),
    ("exposures: {1: [c2], 2: [c1]}", "exposures: {1: [c1], 2: [c2]}", "s2:", "the same as `s1`"),
    ("  s2:\n", "  s2:\n    tick: week\n", "s2:", "two lengths"),
    ("own: party", "own: partei", "own:", "attribute `partei`"),
    ("own: party", "own: town", "own:", "`town` is not a number"),
    ("low: a", "low: z", "low:", "choice `z`"),
    ("claims: {c1: {a: 0.1}}", "claims: {c9: {a: 0.1}}", "c9", "claim `c9`"),
    ("claims: {c1: {a: 0.1}}", "claims: {c1: {z: 0.1}}", "z: 0.1", "choice `z`"),
    ("seeds: [1, 2]", "seeds: [1, 2]\nroles: {tier_a: apy}", "roles:",
     "`apy` is not among the models"),
    ("b: Bob", "b: annie", "b: annie", "`annie` stands for both `a` and `b`"),
    # people
    ("column: age", "column: vote", "column: vote", "already the held-out outcome"),
    ("column: age", "column: id", "column: id", "already the id of a row"),
    ("column: age", "column: PID", "column: PID", "already the attribute `party`"),
    ("name: choice", "name: age", "age: {", "has the name of the held-out outcome"),
    ("type: text}", "type: txt}", "type: txt", "is `txt`"),
    ("label: Party\n", "label: Party\n      unit: points\n", "unit: points",
     "both a scale and `unit`"),
    ('missing: ["", NA]', 'missing: ["", "1"]', "values: {a", "is also in `missing`"),
    ("file: people.csv", "file: people.csv\n  draw: {n: 0}", "draw:", "is `0`"),
    ("file: people.csv", "file: people.csv\n  incomplete: ignore", "incomplete:", "is `ignore`"),
    # the draw, audiences, targets, gates
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6, by: weight}",
     "by: weight", "no column holds the weights"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6, by: luck}",
     "by: luck", "is `luck`"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6, quotas: [age]}",
     "quotas:", "`age` has no scale"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6, quotas: [part]}",
     "quotas:", "`part` is not among the attributes"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6, quotas: [party, party]}",
     "quotas:", "The quota `party` is there twice"),
    ("file: people.csv",
     "file: people.csv\n  weight: vote",
     "weight: vote", "already the held-out outcome"),
    ("file: people.csv",
     "file: people.csv\n  audiences: {x: {share: 1}}",
     "audiences:", "no draw, so their shares are of nothing"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6}\n  audiences: {x: {share: 0.5}}",
     "audiences:", "add up to 0.5"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6}\n  audiences: {x: {share: 1, where: {agee: {from: 3}}}}",
     "agee", "`agee` is not among the attributes"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6}\n  audiences: {x: {share: 1, where: {age: {is: [30]}}}}",
     "is: [30]", "`age` is a number"),
    ("file: people.csv",
     ("file: people.csv\n  draw: {n: 6}\n"
      "  audiences:\n    x: {share: 1, where: {age: {from: 40, to: 30}}}"),
     "from: 40", "No number is from 40 to 30"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6}\n  audiences: {x: {share: 1, where: {age: {}}}}",
     "age: {}", "asks for nothing"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6}\n  audiences: {x: {share: 1, where: {party: {is: [4]}}}}",
     "is: [4]", "`4` is not a code of the scale of `party`"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6}\n  audiences: {x: {share: 1, where: {town: {to: 4}}}}",
     "to: 4", "`town` is not a number"),
    ("file: people.csv",
     ("file: people.csv\n  draw: {n: 6}\n"
      "  audiences:\n    x: {share: 1, where: {age: {to: 4}}, relax: [party]}"),
     "relax:", "`party` is no filter of the audience `x`"),
    ("file: people.csv",
     "file: people.csv\n  draw: {n: 6}\n  audiences: {x: {where: {age: {to: 4}}}}",
     "audiences:", "`population.audiences.x.share` is missing"),
    ("file: people.csv",
     "file: people.csv\n  targets: {age: {30: 0.5, 40: 0.5}}",
     "targets:", "`age` has no scale"),
    ("file: people.csv",
     "file: people.csv\n  targets: {party: {0: 0.5, 1: 0.3}}",
     "targets:", "The shares of `party` add up to 0.8"),
    ("file: people.csv",
     "file: people.csv\n  targets: {party: {0: 0.5, 7: 0.5}}",
     "targets:", "`7` is not a code of the scale"),
    ("file: people.csv",
     "file: people.csv\n  gates: {accept: [partie]}",
     "gates:", "`partie` is no gate"),
    ("file: people.csv",
     "file: people.csv\n  gates: {alpha: 0}",
     "gates:", "is `0`"),
    # the graph
    ("file: people.csv",
     "file: people.csv\n  graph: {degree: 1}",
     "graph:", "is `1`"),
    ("file: people.csv",
     "file: people.csv\n  graph: {alike: [agee]}",
     "graph:", "`agee` is not among the attributes"),
    ("file: people.csv",
     "file: people.csv\n  graph: {alike: [age, age]}",
     "graph:", "The attribute `age` is there twice"),
    ("file: people.csv",
     "file: people.csv\n  graph: {homophily: 0.5}",
     "graph:", "no attribute in which people are alike"),
    ("file: people.csv",
     "file: people.csv\n  graph: {from: a}",
     "graph:", "there is no `file`"),
    ("file: people.csv",
     "file: people.csv\n  graph: {file: people.csv, from: a}",
     "graph:", "no `to`"),
    ("file: people.csv",
     "file: people.csv\n  graph: {file: people.csv, from: a, to: b, far: 0.1}",
     "graph:", "`far` is of ties that are made"),
    ("file: people.csv",
     "file: people.csv\n  graph: {file: people.csv, from: a, to: a}",
     "graph:", "are one column"),
    ("file: people.csv",
     "file: people.csv\n  graph: {communities: {least: 5, most: 4}}",
     "graph:", "No number of communities is from 5 to 4"),
    ("file: people.csv",
     "file: people.csv\n  gates: {accept: [graph.degree]}",
     "gates:", "`graph.degree` is no gate"),
    # models
    ("model: model-2025-01-01", "model: gpt-latest", "model: gpt", "another model tomorrow"),
    ("model: model-2025-01-01", "model: gpt:LATEST", "model: gpt", "another model tomorrow"),
    ("model: model-2025-01-01", 'model: "gpt-*"', "model: ", "is `gpt-*`"),
    ("input: 0.15", "input: -1", "price:", "is `-1`"),
    ("input: 0.15", "input: 0.1234567891", "price:", "is `0.1234567891`"),
    ("input: 0.15, ", "", "price:", "`models.api.price.input` is missing"),
    ("base_url: https://example.org/v1", "base_url: file:///etc/passwd", "base_url:", "is `file:"),
    ("base_url: https://example.org/v1", "base_url: https://u:p@h/v1", "base_url:",
     "is `https://u"),
    ("key_env: EXAMPLE_API_KEY", "key_env: AWS_SECRET_ACCESS_KEY", "key_env:", "is `AWS_SECRET"),
    ("key_env: EXAMPLE_API_KEY", "key_env: ${HOME}", "key_env:", "is `${HOME}`"),
    ("key_env: EXAMPLE_API_KEY", "key_file: /etc/key", "key_file", "`key_file` in `models.api`"),
    ("provider: http", "provider: htpp", "provider:", "is `htpp`"),
    ("provider: baseline\n", "provider: baseline\n    base_url: https://h/\n",
     "base_url: https://h/",
     "means nothing"),
    ("  s1:\n", "  s1:\n    world: os:system()\n", "world:", "is `os:system()`"),
    ("  s1:\n", "  s1:\n    world: ../evil:World\n", "world:", "is `../evil:World`"),
    ("  reflect_every: 2", "  class: evil", "class: evil", "is `evil`"),
    ("  reflect_every: 2", "  probe_share: 1.5", "probe_share:", "is `1.5`"),
    ("  reflect_every: 2", "  probe_every: -1", "probe_every:", "is `-1`"),
    ("  reflect_every: 2", "  memories_kept: many", "memories_kept:", "is `many`"),
    ("  reflect_every: 2", "  context_tokens: {tier_a: 0}", "context_tokens:", "is `0`"),
    ("  reflect_every: 2", "  context_tokens: {tier_c: 9}", "context_tokens:", "`tier_c`"),
    ("seeds: [1, 2]", "seeds: [1, 2]\nquorum: 0", "quorum:", "is `0`"),
    # rules, and models that give vectors
    ("models:\n", "models:\n  words: {provider: baseline}\n", "words:",
     "`models.words` is a baseline without a rule"),
    ("models:\n", "roles: {tier_a: api, embed: words}\nmodels:\n  words: {provider: baselin}\n",
     "words: {", "is `baselin`"),
    ("models:\n", "roles: {tier_a: api, embed: wods}\nmodels:\n  words: {provider: baseline}\n",
     "roles:", "`wods` is not among the models"),
    ("models:\n", "roles: {tier_a: words, embed: words}\nmodels:\n  words: {provider: baseline}\n",
     "words: {", "`models.words` is a baseline without a rule"),
    ("models:\n", "roles: {tier_a: api, embed: here}\nmodels:\n  here: {provider: local}\n",
     "roles:", "`models.here` gives no vectors"),
    ("models:\n", "roles: {tier_a: api, embed: far}\nmodels:\n  far: {provider: http, model: m}\n",
     "far: {", "`models.far` gives the vectors and has no `base_url`"),
    ("noise: 0.5", "noise: 0.5\n      reactions: {pass_on: -1}", "reactions:",
     "`models.baseline.rule.reactions.pass_on` is `-1`"),
    ("noise: 0.5", "noise: 0.5\n      reactions: {shares: 1}", "reactions:",
     "`shares` in `models.baseline.rule.reactions` is not known"),
    *((("noise: 0.5", f"noise: 0.5\n      {written}", written.partition(":")[0], says))
      for written, says in (
        ("worth: {z: {age: 1}}", "choice `z`"),
        ("worth: {a: {ages: 1}}", "attribute `ages`"),
        ("worth: {a: {town: 1}}", "`town` is not a number"),
        ("worth: {a: {}}", "`models.baseline.rule.worth.a` has 0 entries"),
        ("worth: {a: {age: much}}", "is `much`"),
        ("factors: {c1: {age: 2}}", "`age` is not in `worth`"),
        ("factors: {c1: {age: -1}}", "is `-1`"),
        ("scales: {vote: a}", "`vote` is not a scale"),
        ("scales: {vode: a}", "question `vode`"),
    )),
    ("noise: 0.5",
     "noise: 0.5\n      worth: {a: {age: 1}}\n      factors: {c9: {age: 2}}", "factors",
     "claim `c9`"),
    # prices
    ("price: {input: 0.15, output: 0.6}", "price_as: gpt-4o-mini", "price_as:",
     "is `gpt-4o-mini`"),
    ("price: {input: 0.15, output: 0.6}", "price_bound: {input: 1}", "price_bound:",
     "`models.api.price_bound.output` is missing"),
    ("price: {input: 0.15, output: 0.6}",
     "price: {input: 0.15, output: 0.6}\n    price_as: openai/gpt-4o-mini", "price_as:",
     "has a `price` and a `price_as`"),
    ("price: {input: 0.15, output: 0.6}",
     "price_as: openai/gpt-4o-mini\n    price_bound: {input: 1, output: 1}", "price_bound:",
     "has a `price_as` and a `price_bound`"),
    ("provider: baseline\n", "provider: baseline\n    price_as: openai/gpt-4o\n", "price_as:",
     "means nothing"),
    # the budget
    *((("seeds: [1, 2]", f"seeds: [1, 2]\nbudget: {written}", "budget:", says))
      for written, says in (
        ("5", "`budget` is not a mapping"),
        ("{}", "The budget limits nothing"),
        ("{amount: -5}", "`budget.amount` is `-5`"),
        ("{amount: 5 USD}", "`budget.amount` is `5 USD`"),
        ("{amount: 0.0000000001}", "`budget.amount` is `0.0000000001`"),
        ("{amount: 0}", "`budget.amount` is 0, so nothing could be called"),
        ("{amount: 5, ceiling: 4.99}", "`budget.ceiling` is below `amount`"),
        ("{ceiling: 5, calls: 9}", "`budget.ceiling` has no `amount` beside it"),
        ("{calls: 0}", "`budget.calls` is `0`"),
        ("{tokens: 1.5}", "`budget.tokens` is `1.5`"),
        ("{hours: 0}", "`budget.hours` is `0`"),
        ("{hours: -1}", "`budget.hours` is `-1`"),
        ("{unpriced: yes, calls: 9}", "`budget.unpriced` is `yes`"),
        ("{unpriced: true, amount: 9}", "`budget.unpriced` is `true`"),
        ("{unpriced: accepted, hours: 1}", "nothing limits how many"),
        ("{unpriced: accepted, calls: 9, amount: 5}", "`amount` cannot hold"),
        ("{calls: 9, ladder: {warn: 0.5}}", "is measured by `amount`, and there is none"),
        ("{amount: 5, ladder: {warn: 0.96}}", "warn` (0.96) comes after `freeze` (0.95)"),
        ("{amount: 5, ladder: {freeze: 0.7}}", "warn` (0.8) comes after `freeze` (0.7)"),
        ("{amount: 5, ladder: {freeze: 1.2}}", "freeze` (1.2) comes after `subsample` (1)"),
        ("{amount: 5, ladder: {warn: 2, freeze: x}}", "`budget.ladder.freeze` is `x`"),
        ("{amount: 5, ladder: {warn: 0}}", "`budget.ladder.warn` is `0`"),
        ("{amount: 5, ladder: {share: 0}}", "share` is 0, so nobody would be active"),
        ("{amount: 5, ladder: {share: 1.1}}", "`budget.ladder.share` is `1.1`"),
        ("{amount: 5, ladder: {thin: 0.5}}", "`thin` in `budget.ladder` is not known"),
      )),
    ("seeds: [1, 2]", "seeds: [1, 2]\ncurrency: usd", "currency:", "is `usd`"),
    ("seeds: [1, 2]", f"seeds: {list(range(6000))}", "seeds:", "12,000 worlds"),
]  # fmt: skip


def problems_of(text: str) -> list[tuple[int, str, str]]:
    """List what is wrong."""
    found = Findings("study.yaml")
    parsed = parse(text.encode(), found)
    assert (parsed.study is None) == bool(found)
    return [(problem.line, problem.wrong, problem.remedy) for problem in found.listed()]


def test_the_sample_has_no_problem(sample: str) -> None:
    """The sample has no problem."""
    assert problems_of(sample) == []


@pytest.mark.parametrize("mistake", MISTAKES)
def test_one_mistake_is_one_problem(
    sample: str, write: Writer, mistake: tuple[str, str, str, str]
) -> None:
    """One mistake is one problem."""
    old, new, where, says = mistake
    assert sample.count(old) >= 1
    text = sample.replace(old, new, 1)
    problems = problems_of(text)
    lines = [number for number, line in enumerate(text.split("\n"), 1) if where in line]
    assert len(problems) == 1, problems
    line, wrong, remedy = problems[0]
    assert line in lines
    assert says in wrong
    assert remedy
    with pytest.raises(InvalidStudyError) as caught:
        load_study(write(text))
    assert [problem.wrong for problem in caught.value.problems] == [wrong]


def test_all_mistakes_of_a_file_are_listed_at_once_in_its_order(sample: str) -> None:
    """All mistakes of a file are listed at once in its order."""
    text = (
        sample.replace("title: A vote", "titel: A vote")
        .replace("horizon: 4", "horizon: no")
        .replace("low: a", "low: z")
        .replace("seeds: [1, 2]", "seeds: [1, 1]\nfoo: *x")
    )
    problems = problems_of(text)
    assert [wrong for _, wrong, _ in problems] == [
        "The key `titel` in `brief` is not known.",
        "`timeline.horizon` is `no`.",
        "The seed 1 is there twice.",
        "The alias `*x` is not allowed.",
        "The key `foo` is not known.",
        "The choice `z` is not in the study.",
    ]


def test_everything_that_is_wrong_with_a_budget_is_said_at_once(sample: str) -> None:
    """Each line of a bad budget has its own problem, on that line."""
    budget = """\
budget:
  amount: 5
  ceiling: 3
  unpriced: accepted
  ladder:
    warn: 2
    share: 0
"""
    first = len(sample.splitlines()) + 1
    found = problems_of(sample + budget)
    assert [line - first for line, _, _ in found] == [1, 2, 2, 3, 5, 6]
    assert all(remedy for _, _, remedy in found)


def test_the_words_that_accept_unknown_spend_are_named(sample: str) -> None:
    """Whoever writes something else is told what to write."""
    ((_, _, remedy),) = problems_of(sample + "budget: {unpriced: accept, calls: 5}\n")
    assert remedy == "Write `accepted`."


def test_a_near_miss_is_suggested(sample: str) -> None:
    """A near miss is suggested."""
    problems = problems_of(sample.replace("timeline:", "timelime:"))
    assert any(remedy == "Did you mean `timeline`?" for _, _, remedy in problems)


def test_a_quoted_number_is_that_number(sample: str) -> None:
    """A quoted number is that number."""
    assert problems_of(sample.replace("horizon: 4", 'horizon: "4"')) == []


def test_a_message_shows_nothing_that_drives_a_terminal(sample: str) -> None:
    """A message shows nothing that drives a terminal."""
    text = sample.replace("seeds: [1, 2]", "seeds: [1, 2]\nse\u202eeds: 1")
    ((_, wrong, _),) = problems_of(text)
    assert "\u202e" not in wrong
    assert r"\u202e" in wrong


def test_a_variant_must_be_named_where_there_are_two(sample: str) -> None:
    """A variant must be named where there are two."""
    problems = problems_of(sample.replace("variants:\n", "variants:\n  v2: x\n"))
    assert [wrong for _, wrong, _ in problems] == [
        "The scenario `s1` has no variant.",
        "The scenario `s2` has no variant.",
    ]
