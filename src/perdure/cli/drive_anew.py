"""What a drive that goes on is given anew on the command line: ceilings, and its endpoint."""

from __future__ import annotations

from pathlib import Path

from perdure.cli.drive_bounds import Ceilings, bounds_of
from perdure.cli.drive_wrong import Wrong, look_at_stored, require_key
from perdure.records.alone import Asked
from perdure.records.drive import Anew
from perdure.runner.alone_folder import as_given_anew, given_anew, read_asked
from perdure.study import schema
from perdure.study.pricing import price_of
from perdure.study.read_models import HTTP
from perdure.trace.drive_reader import DriveReader


def anew_of(folder: Path, ceilings: Ceilings, *, base_url: str, key_env: str) -> Anew | None:
    """Read what is given anew; None if nothing is, and all stays as it was for the drive before.

    Raises:
        UsageError: everything of it that cannot be, at once.
        KeyOrModelRefusedError: there is no key where it is said to be, and nothing else is wrong.
        DamagedRecordError: the ledger does not hold what was written.

    """
    if not (ceilings.given() or base_url or key_env):
        return None
    with DriveReader.open(folder) as reader:
        before = given_anew(stored.line for stored in reader.lines())
    asked = as_given_anew(read_asked(folder), before)
    wrong = Wrong()
    model = asked.model
    priced = model is not None and price_of(model) is not None
    bounds = bounds_of(ceilings, asked.bounds, wrong, priced=priced)
    before = before or Anew()
    anew = Anew(
        turns=bounds.turns,
        tokens=bounds.tokens,
        money=bounds.money,
        seconds=bounds.seconds,
        base_url=base_url or before.base_url,
        key_env=key_env or before.key_env,
    )
    _look_at_endpoint(asked, anew, wrong, base_url=base_url, key_env=key_env)
    if model is None and ceilings.tokens:
        wrong.add("--tokens is given, and nobody here knows the calls of a program.")
    look_at_stored({"What --base-url gives": base_url, "What --key-env gives": key_env}, wrong)
    wrong.told()
    return anew


def _look_at_endpoint(
    asked: Asked, anew: Anew, wrong: Wrong, *, base_url: str, key_env: str
) -> None:
    model = as_given_anew(asked, anew).model
    if model is None or model.pin.provider != HTTP:
        for flag, given in (("--base-url", base_url), ("--key-env", key_env)):
            if given:
                wrong.add(f"{flag} means nothing for what answers in this drive.")
        return
    if base_url and not schema.ADDRESS.fits(base_url):
        wrong.add("--base-url is not an address.", remedy=f"Give {schema.ADDRESS.shown}.")
    wrong.tried(lambda: require_key(model.endpoint))
