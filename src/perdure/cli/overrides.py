"""The flags that change a study before it is planned or run."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Which model answers: baseline, http, local, or one that the study names.",
    ),
]
Draw = Annotated[
    int | None, typer.Option("--n", metavar="N", help="Draw this many people of the population.")
]
BaseUrl = Annotated[
    str,
    typer.Option(
        "--base-url", metavar="URL", help="Address of an OpenAI-compatible endpoint (http)."
    ),
]
ModelName = Annotated[
    str,
    typer.Option("--model-name", metavar="NAME", help="The endpoint's name of the model (http)."),
]
KeyEnv = Annotated[
    str,
    typer.Option("--key-env", metavar="VARIABLE", help="Environment variable with the key (http)."),
]
KeyFile = Annotated[
    str, typer.Option("--key-file", metavar="FILE", help="File that holds the key (http).")
]
Weights = Annotated[
    str, typer.Option("--weights", metavar="FILE", help="Weights in GGUF format (local).")
]
Price = Annotated[
    str,
    typer.Option(
        "--price", metavar="IN,OUT", help="Its price per million tokens; 0,0 if it is free (http)."
    ),
]
PriceAs = Annotated[
    str,
    typer.Option(
        "--price-as", metavar="NAME", help="Whose price it is, such as openai/gpt-4o-mini (http)."
    ),
]
Budget = Annotated[
    str,
    typer.Option("--budget", metavar="AMOUNT", help="What may be spent, in the study's currency."),
]
DearCalls = Annotated[
    bool,
    typer.Option(
        "--allow-dear-calls", help="Allow a typical call to cost more than 1 of the currency."
    ),
]
