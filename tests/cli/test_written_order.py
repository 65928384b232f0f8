"""P4: a record keeps no order of a mapping, so that none decides anything; scales keep theirs.

In the study everything is written against the order of its keys, and its world tells in its
messages in which order it finds settings, attributes, ties, and the views of the tick before.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from perdure.analysis.grouping import grouping_attribute, groups_of
from perdure.base.errors import EXIT_DONE, EXIT_MOVED
from perdure.records.events import Probed
from perdure.trace.reader import RunReader

STUDY = """\
perdure: 1
name: order
brief: {title: A town, text: There is a town., claims: {c: One thing.}}
ontology:
  attributes:
    town: {column: town, label: Town, required: true, scale: {k: Köln, d: Düsseldorf, a: Aachen}}
    liking:
      column: liking
      label: Liking
      scale: {10: most, 9: much, 8: some, 2: little, 1: least}
    size: {column: size, label: Size, scale: {1: least, 2: little, 8: some, 9: much, 10: most}}
population:
  file: people.csv
  id: id
  graph: {file: ties.csv, from: from, to: to}
questions:
  vote: {text: "Well?", choices: {yes: "yes", no: "no"}}
variants: {v: ""}
timeline:
  horizon: 4
  waves: []
  wave_question: vote
  world: teller:Teller
  settings: {z: 1, m: {y: 1, b: 2}, a: [3]}
scenarios: {s: {}}
seeds: [1]
models:
  rule: {provider: baseline, rule: {claims: {c: {"yes": 1, "no": 0.5}}, noise: 1}}
agent: {reflect_every: 2, probe_every: 1, probe_share: 1}
"""
PEOPLE = "id,town,size,liking\nb,k,10,1\na,d,2,10\nc,a,1,8\n"
TIES = "from,to\nb,c\nb,a\na,c\n"
WORLD = """\
from perdure.records.presentation import View
from perdure.world import BaseWorld
from perdure.records.presentation import Exposure, Impression, Presentation, Stimulus, WorldDelta


class Teller(BaseWorld):
    def reset(self, header):
        self.header = header

    def step(self, tick, turns, plan, answers):
        people = self.people
        told = str([
            self.header.scenario.settings,
            [list(one.attributes) for one in people.personas],
            [list(node.ties) for node in people.graph],
            [(list(turn.presentation.view.counts), turn.presentation.view.ties) for turn in turns],
        ])
        names = [f"z{tick}", f"a{tick}"]
        view = View(
            counts={name: {"up": 1, "down": 2} for name in names},
            ties={name: 0.5 for name in names},
        )
        return WorldDelta(
            tick=tick,
            stimuli=tuple(Stimulus(id=name, kind="post", text=told) for name in names),
            presentations=tuple(
                Presentation(
                    persona=one.id,
                    impression=Impression(
                        channel="told",
                        exposures=tuple(Exposure(stimulus=name, reason="x") for name in names),
                    ),
                    question="vote",
                    view=view,
                )
                for one in people.personas
            ),
        )
"""


def write(folder: Path) -> Path:
    """Write the study; give its path."""
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "ties.csv").write_text(TIES)
    (folder / "teller.py").write_text(WORLD)
    (folder / "study.yaml").write_text(STUDY)
    return folder / "study.yaml"


def test_no_order_of_a_mapping_decides_anything(perdure, tmp_path):
    """What is driven again from its record, or goes on after a stop, meets what it met before."""
    study, out = write(tmp_path), tmp_path / "run"
    planned = perdure("plan", study)
    assert "nobody can tell before it runs" in " ".join(planned.out.split())
    assert perdure("run", study, "--out", out, "--quiet").status == EXIT_DONE
    assert perdure("replay", out).status == EXIT_DONE
    digests = [world["digest"] for world in perdure("verify", out, "--json").document["worlds"]]
    stopped = tmp_path / "stopped"
    command = [sys.executable, "-m", "perdure.cli", "run", str(study), "--out", str(stopped)]
    for tick in (1, 2):
        crash = {**os.environ, "PERDURE_CRASH_AT": f"tick.after-append:{tick}"}
        ended = subprocess.run(command, env=crash, capture_output=True, check=False)
        assert ended.returncode == -signal.SIGKILL, ended
    assert perdure("run", study, "--out", stopped, "--quiet").status == EXIT_DONE
    told = perdure("verify", stopped, "--json").document["worlds"]
    assert [world["digest"] for world in told] == digests
    assert perdure("replay", stopped).status == EXIT_DONE


def test_a_scale_keeps_the_order_in_which_it_is_written(perdure, tmp_path):
    """What a probe lists, and what a report groups by, stands from low to high as in the study."""
    study, out = write(tmp_path), tmp_path / "run"
    assert perdure("run", study, "--out", out, "--quiet").status == EXIT_DONE
    asked = set()
    with RunReader.open(out) as reader:
        world = reader.worlds[0].world_id
        for event in reader.events(world):
            if isinstance(event.payload, Probed):
                text = reader.blob(world, event.payload.prompt[-1].sha256).decode()
                asked.add(text.rpartition("Possible answers: ")[2])
        liking = grouping_attribute(reader.header(world).ontology, "liking")
        groups = groups_of(tuple(reader.personas), liking)
    sizes = "least / little / some / much / most"
    assert asked == {"Köln / Düsseldorf / Aachen", sizes, " / ".join(reversed(sizes.split(" / ")))}
    assert [group.label for group in groups] == ["most", "some", "least"]
    study.write_text(
        STUDY.replace("{k: Köln, d: Düsseldorf, a: Aachen}", "{a: Aachen, k: Köln, d: Düsseldorf}")
    )
    moved = perdure("run", study, "--out", out, "--quiet")
    assert moved.status == EXIT_MOVED
    assert "ontology" in moved.err
