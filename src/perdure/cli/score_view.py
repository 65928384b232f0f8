"""Scores that were given again, for people: by which anchors, with what result, at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.analysis.document import Block
from perdure.cli.figures import count, plural
from perdure.cli.tables import heading, paragraph, table, verbatim
from perdure.runner.rescoring import Rescored
from perdure.trace.scores import Scores, lacks_vectors

_HASH_SHOWN = 12


def scored_parts(done: Rescored, folder: str) -> Iterator[Block]:
    """Show what was scored."""
    asked, end = done.scores.rescoring, done.scores.end
    begun = "There already" if done.known else "Scored"
    yield paragraph(f"{begun}: {asked.id}, answers to {asked.question}", style="bold")
    yield paragraph(
        f"By the anchors {asked.anchors.construct}, version {asked.anchors.version} "
        f"({asked.anchors_hash[:_HASH_SHOWN]}), under {asked.pin.model} ({asked.pin.provider}).",
        indent=2,
    )
    yield paragraph(
        f"{plural(end.answers, 'answer')}, {count(end.scored)} scored; {count(end.kept)} with a "
        f"vector on record; {plural(end.calls, 'attempt')} to get the others.",
        indent=2,
    )
    for cause, number in end.unscorable.items():
        yield paragraph(f"No score, {cause.replace('_', ' ')}: {count(number)}.", indent=2)
    if lacks_vectors(done.scores):
        yield paragraph("The same command again asks for the vectors that are missing.", indent=2)
    yield paragraph("No event of the record changed; the run log notes the scores.", indent=2)
    yield heading("Where to go next")
    yield verbatim(f"  perdure report {folder} --scores {asked.id}")


def list_parts(found: Sequence[Scores], folder: str) -> Iterator[Block]:
    """List the scores of a run."""
    yield paragraph(f"Scores beside the record of {folder}", style="bold")
    if not found:
        yield paragraph("There are none.", indent=2)
        return
    rows = [
        [
            one.rescoring.id,
            one.rescoring.question,
            one.rescoring.anchors.construct,
            one.rescoring.anchors.version,
            one.rescoring.anchors_hash[:_HASH_SHOWN],
            one.rescoring.pin.model,
            count(one.end.answers),
            count(one.end.scored),
        ]
        for one in found
    ]
    columns = ["id", "question", "anchors", "version", "hash", "model", "answers", "scored"]
    yield table(columns, rows, left=6, ids=1)
