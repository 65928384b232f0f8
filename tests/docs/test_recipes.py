"""The recipes are what their tools take, and the batch job does at each end what its page says."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.docs.pages import ROOT

RECIPES = ROOT / "docs" / "recipes"
SERVICE, BATCH = RECIPES / "perdure@.service", RECIPES / "perdure.sbatch"

# Stands in for the supervisor: ends as it is told, or pauses when it is stopped.
SUPERVISOR = """\
#!/bin/bash
printf '%s\\n' "$@" > words
trap 'echo TERM >> heard; exit 75' TERM
touch ready
[ "$ENDS" = waits ] || exit "$ENDS"
while :; do sleep 0.05; done
"""
SLURM = '#!/bin/bash\necho "$@" >> requeued\n'


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_takes_the_service(tmp_path: Path) -> None:
    """No line of it is unknown, and what it starts is there."""
    shutil.copy(SERVICE, tmp_path / "perdure@.service")
    tmp_path.chmod(0o700)
    checked = subprocess.run(
        ["systemd-analyze", "--user", "--man=no", "verify", str(tmp_path / "perdure@.service")],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def test_every_line_of_the_service_is_explained() -> None:
    """The page says of each choice why it is so."""
    page = (RECIPES / "README.md").read_text("utf-8")
    plain = {"WorkingDirectory", "Environment", "ExecStart", "RestartSec", "Description"}
    plain |= {"Wants", "After", "WantedBy"}
    lines = re.findall(r"^(\w+)=.*$", SERVICE.read_text("utf-8"), re.MULTILINE)
    assert len(lines) > len(plain)
    assert all(f"`{name}=" in page for name in lines if name not in plain)


def test_bash_takes_the_batch_job() -> None:
    """It is a script without a mistake in it, and Slurm's lines stand before its first command."""
    subprocess.run(["bash", "-n", str(BATCH)], check=True, timeout=20)
    head = BATCH.read_text("utf-8").split("set -u")[0]
    assert head.startswith("#!/bin/bash\n")
    assert all(line.startswith("#") or not line for line in head.splitlines())
    for due in ("--requeue", "--open-mode=append", "--signal=B:USR1@"):
        assert f"#SBATCH {due}" in head


def batch(folder: Path, ends: str) -> subprocess.Popen[bytes]:
    """Start the batch job with stand-ins for the supervisor and for Slurm."""
    for name, text in (("perdure", SUPERVISOR), ("scontrol", SLURM)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(
        ["bash", str(BATCH), "a study.yaml", "out", "--patience", "5"],
        cwd=folder,
        env={**os.environ, "PATH": path, "ENDS": ends, "SLURM_JOB_ID": "41"},
    )


def said(folder: Path, name: str) -> str:
    """Give what a stand-in noted; nothing if it was not called."""
    path = folder / name
    return path.read_text("utf-8") if path.exists() else ""


@pytest.mark.parametrize("status", [0, 3, 75, 76, 78])
def test_an_end_of_its_own_is_the_jobs(tmp_path: Path, status: int) -> None:
    """The job ends as the supervisor ended, and is not put into the queue again: nor is a pause."""
    assert batch(tmp_path, str(status)).wait(timeout=60) == status
    assert said(tmp_path, "words").splitlines() == [
        *("supervise", "a study.yaml", "--out", "out", "--patience", "5"),
    ]
    assert not said(tmp_path, "requeued")


@pytest.mark.parametrize(("told", "requeued"), [("SIGUSR1", "requeue 41\n"), ("SIGTERM", "")])
def test_a_signal_pauses_the_run(tmp_path: Path, told: str, requeued: str) -> None:
    """Before the allocation ends, the job is queued again; after `scancel` it is not."""
    job = batch(tmp_path, "waits")
    for _ in range(1_000):
        if (tmp_path / "ready").exists():
            break
        time.sleep(0.02)  # noqa: TID251 - a real process is waited for
    job.send_signal(getattr(signal, told))
    assert job.wait(timeout=60) == 75
    assert said(tmp_path, "heard") == "TERM\n"
    assert said(tmp_path, "requeued") == requeued
