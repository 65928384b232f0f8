"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="The study file (YAML).")]
RunFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The run's folder.")]
MovedStudy = Annotated[
    Path | None, typer.Option("--study", metavar="PATH", help="The study file, if it moved.")
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on stdout, and nothing else.")
]
Beside = Annotated[
    Path | None,
    typer.Option(
        "--beside",
        metavar="DIR",
        help="Compare with this run on the same people, such as one of the rule baseline.",
    ),
]
