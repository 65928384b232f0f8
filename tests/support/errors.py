"""Every class of our errors, whatever was loaded before."""

from __future__ import annotations

import importlib
import pkgutil

import perdure
from perdure.base.errors import PerdureError
from perdure.runner.told import tree


def every_error_class() -> list[type[PerdureError]]:
    """Load all of perdure; give each error that it can raise."""
    for module in pkgutil.walk_packages(perdure.__path__, "perdure."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    ours = [cls for cls in tree() if cls.__module__.startswith("perdure.")]
    return [cls for cls in ours if cls is not PerdureError]
