"""`perdure run` from a study file to its report, with the baseline."""

import json
import os
import subprocess
import sys

from perdure.base.errors import EXIT_DONE, EXIT_INVALID_STUDY, EXIT_MOVED, EXIT_STOPPED, EXIT_USAGE
from perdure.records.registry import RunState
from perdure.records.result import RunResult


def test_a_run_ends_with_its_report(perdure, study_file, tmp_path):
    """The report of the finished study is on stdout, progress alone on stderr."""
    out = tmp_path / "runs" / "one"
    said = perdure("run", study_file, "--out", out)
    assert said.status == EXIT_DONE
    assert said.out.startswith("Report of tiny")
    assert "declared rule, not a language model" in said.out
    assert f"perdure verify {out}" in said.out
    assert all(line.startswith("perdure: ") for line in said.err.splitlines())
    assert perdure("verify", out).status == EXIT_DONE
    assert perdure("status", out, "--json").document["state"] == "completed"


def test_json_holds_result_and_report(perdure, study_file, tmp_path):
    """With --json one document holds the result with every world, and the report."""
    said = perdure("run", study_file, "--out", tmp_path / "one", "--json", "--quiet")
    assert said.err == ""
    found = said.document
    assert found["result"]["state"] == "completed"
    assert found["result"]["cause"] == ""
    assert len(found["result"]["worlds"]) == len(found["report"]["worlds"]) == 2


def test_a_finished_run_is_shown_again(perdure, study_file, tmp_path):
    """The same command on a finished run changes nothing and gives the same result."""
    arguments = ("run", study_file, "--out", tmp_path / "one", "--json", "--quiet")
    assert perdure(*arguments).document == perdure(*arguments).document


def test_another_study_is_refused(perdure, study_file, tmp_path):
    """A folder that holds a run of other inputs is left alone."""
    out = tmp_path / "one"
    perdure("run", study_file, "--out", out, "--quiet")
    said = perdure("run", study_file, "--out", out, "--n", 4, "--quiet")
    assert said.status == EXIT_MOVED
    assert said.out == ""
    assert str(out) in said.err


def test_a_network_file_system_needs_a_flag(perdure, study_file, tmp_path, monkeypatch):
    """P7: `run` and `resume` refuse a folder on a network, and take it with --network-fs."""
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / {tmp_path} rw - nfs4 s:/x rw\n")
    monkeypatch.setattr("perdure.trace.mounts.TABLE", table)
    out = tmp_path / "runs" / "one"
    refused = perdure("run", study_file, "--out", out, "--quiet")
    assert refused.status == EXIT_USAGE
    assert "(nfs4)" in refused.err
    assert "--network-fs" in refused.err
    assert not out.parent.exists()
    assert perdure("run", study_file, "--out", out, "--quiet", "--network-fs").status == EXIT_DONE
    assert perdure("resume", out, "--quiet").status == EXIT_USAGE
    assert perdure("resume", out, "--quiet", "--network-fs").status == EXIT_DONE


def test_an_invalid_study_creates_nothing(perdure, study_file, tmp_path):
    """Problems of the study end the run before its folder exists."""
    study_file.write_text(study_file.read_text().replace("horizon: 3", "horizon: -1"))
    out = tmp_path / "one"
    assert perdure("run", study_file, "--out", out).status == EXIT_INVALID_STUDY
    assert not out.exists()


def test_a_flag_that_fits_no_model_is_a_usage_error(perdure, study_file, tmp_path):
    """A flag that would change nothing is refused rather than ignored."""
    out = tmp_path / "one"
    said = perdure("run", study_file, "--out", out, "--weights", "x.gguf")
    assert said.status == EXIT_USAGE
    assert not out.exists()


def test_a_real_process_keeps_stdout_clean(study_file, tmp_path):
    """As a process of its own, the command exits with its status and JSON alone on stdout."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "perdure.cli",
            "run",
            str(study_file),
            "--out",
            str(tmp_path / "one"),
            "--json",
        ],
        capture_output=True,
        check=False,
        timeout=100,
        env={**os.environ, "TERM": "xterm"},
    )
    assert done.returncode == EXIT_DONE
    assert json.loads(done.stdout)["result"]["exit_status"] == 0
    assert b"\x1b" not in done.stdout + done.stderr


def test_the_exit_status_is_the_run_s_own(perdure, study_file, recorded, monkeypatch):
    """A run that paused shows what it has, says why it ended, and exits with the run's status."""
    folder = recorded(ticks=1)
    paused = RunResult(
        run_id="0123456789ab",
        folder=str(folder),
        state=RunState.PARTIAL,
        exit_status=EXIT_STOPPED,
        worlds=(),
        currency="USD",
        cause="It was asked to stop.\x1b[2J",
    )
    monkeypatch.setattr("perdure.runner.run", lambda _config, **_: paused)
    said = perdure("run", study_file, "--out", folder, "--quiet")
    assert said.status == EXIT_STOPPED
    assert "This run is partial" in said.out
    assert "It was asked to stop.\\x1b[2J" in said.out
    found = perdure("run", study_file, "--out", folder, "--quiet", "--json")
    assert found.status == EXIT_STOPPED
    assert found.document["result"]["exit_status"] == EXIT_STOPPED
