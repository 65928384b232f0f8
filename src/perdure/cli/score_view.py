"""Scores that were given again, for people: by which anchors, with what result, at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perdure.analysis.document import Block
from perdure.cli.figures import count, plural
from perdure.cli.tables import heading, paragraph, verbatim
from perdure.records.rescore import Rescoring
from perdure.runner.rescoring import Rescored
from perdure.trace.scores import Scores, lacks_vectors

_HASH_SHOWN = 12


def scored_parts(done: Rescored, folder: str) -> Iterator[Block]:
    """Show what was scored."""
    asked, end = done.scores.rescoring, done.scores.end
    begun = "There already" if done.known else "Scored"
    yield paragraph(f"{begun}: {asked.id}, answers to {asked.question}", style="bold")
    yield paragraph(f"By {_by(asked)}.", indent=2)
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
    for one in found:
        asked, end = one.rescoring, one.end
        yield paragraph(
            f"{asked.id}: answers to {asked.question}, by {_by(asked)}; {count(end.scored)} of "
            f"{count(end.answers)} scored.",
            indent=2,
        )


def _by(asked: Rescoring) -> str:
    epsilon, temperature = asked.how.numbers
    return (
        f"the anchors {asked.anchors.construct}, version {asked.anchors.version} "
        f"({asked.anchors_hash[:_HASH_SHOWN]}), under {asked.pin.model} ({asked.pin.provider}), "
        f"epsilon {epsilon:g}, temperature {temperature:g}"
    )
