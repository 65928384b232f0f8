"""Verifying a run: the record is what was written, all of it, and agrees with itself.

It streams, so that its memory does not grow with the record. Whatever is wrong becomes a finding
that names its place; nothing a file holds makes it fail in another way.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from perdure.base.errors import PerdureError
from perdure.records.record import Record
from perdure.trace.export_check import check_export
from perdure.trace.export_store import ExportStore
from perdure.trace.open_record import open_record
from perdure.trace.rungs import moves_of, wrong_rungs
from perdure.trace.scores import read_scores, score_ids
from perdure.trace.sittings import JournalLoss, journal_losses
from perdure.trace.verify_registry import Finding, each_once, read_or_find
from perdure.trace.verify_world import Known, WorldReport, check_world


class RunReport(Record):
    """What verifying a run found. Worlds are in the order of the run's cells.

    Scores that were given again are checked too. The call journal is no part of the record:
    `journal_fault` says why it cannot be used, if so, and `losses` lists the journals that were
    lost. Neither makes a record unsound.
    """

    run_id: str
    worlds: tuple[WorldReport, ...]
    findings: tuple[Finding, ...]
    journal_fault: str = ""
    losses: tuple[JournalLoss, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings and not any(world.findings for world in self.worlds)

    @property
    def is_finished(self) -> bool:
        """Whether every world is at its horizon: nothing will be added to the record."""
        return all(world.tick == world.horizon - 1 for world in self.worlds)

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """What is wrong with the registry, then with every world, first things first."""
        return self.findings + tuple(one for world in self.worlds for one in world.findings)


def verify(folder: Path) -> RunReport:
    """Check the record of a run and give all that is wrong with it. Nothing is changed.

    A world's report ends at its first bad event: what follows a bad event proves nothing. Of a run
    that goes on meanwhile, each world is checked as it stood when it was come to.
    """
    try:
        reader = open_record(folder)
    except PerdureError as error:
        return RunReport(run_id="", worlds=(), findings=(Finding.of(error, "registry"),))
    with reader:
        findings: list[Finding] = []
        worlds = read_or_find(lambda: reader.worlds, findings, "registry") or ()
        log = read_or_find(reader.run_log, findings, "run log")
        wrong = wrong_rungs(row.payload for row in log or ())
        if wrong is not None:
            findings.append(Finding(where="run log", wrong=wrong))
        outcomes = read_or_find(lambda: reader.outcomes, findings, "registry") or {}
        witnesses = read_or_find(reader.witnesses, findings, "registry") or {}
        personas = read_or_find(lambda: reader.personas, findings, "registry")
        read_or_find(lambda: reader.graph, findings, "registry")
        read_or_find(lambda: reader.held_out, findings, "registry")
        for score_id in score_ids(folder):
            where = f"scores {score_id}"
            read_or_find(partial(read_scores, folder, score_id), findings, where)
        moves = moves_of(row.payload for row in log or ())
        ids = None if personas is None else tuple(persona.id for persona in personas)
        found = each_once(findings)
        reports = []
        for world in worlds:
            name = world.world_id
            known = Known(outcomes.get(name), witnesses.get(name), log, moves, ids)
            report = check_world(reader, world, known)
            new = tuple(one for one in report.findings if one not in found)
            reports.append(msgspec.structs.replace(report, findings=new))
        if isinstance(reader.store, ExportStore) and not found:
            # What is wrong with a file has been found already where the record was read from it.
            known_of = {one for report in reports for one in report.findings}
            beside = check_export(reader, reader.store)
            found = each_once(one for one in beside if one not in known_of)
        verified = RunReport(
            run_id=reader.entry.run_id,
            worlds=tuple(reports),
            findings=found,
            losses=journal_losses([row.payload for row in log or ()]),
        )
        if not verified.is_sound:
            return verified
        return msgspec.structs.replace(verified, journal_fault=reader.journal_fault)
