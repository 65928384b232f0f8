r"""The words of `perdure --help`: what it is for, the normal sequence, exit codes, environment.

A paragraph that starts with a line of `\b` keeps its line breaks.
"""

from __future__ import annotations

BEFORE = """\
Run generative-agent studies to completion inside a budget, on a record that can be trusted.

A study file says who is asked (a population drawn from real respondents), what they live through
(scenarios, ticks, messages, survey waves) and which model speaks for them. `perdure run` plays it
tick by tick. A tick is recorded whole or not at all, nothing that failed passes for an answer, and
what the record holds can be verified, priced and exported by anybody.

\b
The normal sequence:
  perdure plan   study.yaml                   what it would take (free)
  perdure run    study.yaml --out runs/first  run it; ends with its report
  perdure status runs/first                   how far it is
  perdure stop   runs/first                   finish open ticks, then pause
  perdure resume runs/first                   go on where it paused or died
  perdure budget runs/first --amount 25       let it spend more, on record
  perdure verify runs/first                   is the record what was written?
  perdure report runs/first                   what it found
  perdure ledger runs/first                   what it cost
  perdure export runs/first                   Parquet, one row per turn
  perdure replay runs/first                   does the code still do the same?
  perdure show   runs/first calm@1:42         one turn, as it was and why
  perdure score  runs/first --list            scores given afterwards
  perdure supervise study.yaml --out runs/it  all of it for days, unattended

Every command takes --json: one JSON document on standard output and nothing
else, errors included. `perdure COMMAND --help` has a command's options and an
example.
"""

EXIT_CODES = """\
\b
Exit codes:
   0  done
   1  some world failed, the rest is kept
   2  the command line asks for something that cannot be done
  65  the study file is invalid; every problem is listed
  69  the endpoint is unreachable; try again later
  70  a bug in perdure
  73  another process holds the run, or its folder is taken
  74  the record is damaged, or storage failed
  75  stopped on request, or the disk is full; can be continued
  76  paused by its budget or the provider's (out of credit); can be continued
  77  the key or the model was refused
  78  refused: inputs or engine moved
"""

ENVIRONMENT = """\
\b
Environment:
  PERDURE_DEBUG=1   on a bug, show where it happened
  NO_COLOR=1        no colour; TERM=dumb also turns live progress to lines
  COLUMNS           width of tables and help where there is no terminal
  A model's key is read from the variable that --key-env or the study names.
"""

COMPLETION = """\
\b
Shell completion:
  perdure --install-completion   then open a new shell
"""

AFTER = f"{EXIT_CODES}\n{ENVIRONMENT}\n{COMPLETION}"
