"""Who is in a study: personas drawn from microdata, and the outcome that is held out of them."""

from __future__ import annotations

from perdure.population.build import Drawn, build
from perdure.population.load import Loaded, load_study

__all__ = ["Drawn", "Loaded", "build", "load_study"]
