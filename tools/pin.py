"""Writes the versions that a fresh machine gets into `pyproject.toml`; `--check` only compares.

What is resolved is every dependency, extra and group, for every supported Python. The pins are
uv's constraints, so they hold for `uv run` without a lock file, and they name versions only: where
packages come from is the machine's own affair.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "# pins: written by tools/pin.py"
END = "# end of pins"


def resolved(root: Path, *, upgrade: bool) -> list[str]:
    """Resolve every dependency and give one `name==version ; marker` per line.

    Without `upgrade` the present pins are kept, and only what is new gets a version.
    """
    uv = shutil.which("uv", path=str(ROOT / ".uv" / "bin")) or shutil.which("uv")
    if uv is None:
        sys.exit("There is no uv. Run: python3 -m pip install -qq --target .uv uv")
    wanted = ["--all-extras", "--all-groups", "--no-hashes", "--no-emit-project"]
    command = [uv, "export", "-q", "--no-header", "--no-annotate", *wanted]
    if upgrade:
        command.append("--upgrade")
    shown = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return [line for line in shown.stdout.splitlines() if re.match(r"[a-z0-9]", line)]


def section(pins: list[str]) -> str:
    """Format the pins as the section that stands in `pyproject.toml`."""
    rows = "".join(f"  '{pin}',\n" if '"' in pin else f'  "{pin}",\n' for pin in map(_toml, pins))
    return f"{BEGIN}\nconstraint-dependencies = [\n{rows}]\n{END}\n"


def _toml(pin: str) -> str:
    return pin.replace("'", '"')


def replaced(text: str, pins: list[str]) -> str:
    """Put the pins into the text of `pyproject.toml`."""
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END + "\n", 1)
    return before + section(pins) + after


def main() -> int:
    """Write the pins, or say whether they are current."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if not current")
    asked = parser.parse_args()
    path = ROOT / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    if asked.check:
        if replaced(text, resolved(ROOT, upgrade=False)) == text:
            return 0
        sys.stderr.write("The pins in pyproject.toml are not current. Run: just pin\n")
        return 1
    path.write_text(replaced(text, []), encoding="utf-8")
    path.write_text(replaced(text, resolved(ROOT, upgrade=True)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
