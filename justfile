# Everything that is done here by hand. `just` lists it.

uv := ".uv/bin/uv"

_list:
    @just --list

# Set up uv beside the source; nothing else is needed
setup:
    python3 -m pip install -qq --target .uv uv

# All checks, as on every change
check:
    .ci/run

# The tests
test *ARGS:
    {{uv}} run --all-extras pytest -n 3 --dist worksteal {{ARGS}}

# The crash programme, many more cases than a normal run of the tests
crash:
    PERDURE_CRASH=full {{uv}} run --all-extras pytest -n 3 --dist worksteal -m crash

# Record a new set of golden runs, beside those that are there
golden:
    PYTHONPATH=. {{uv}} run --all-extras python tools/record_golden.py

# Every benchmark: ratios to a floor in the same run
bench:
    {{uv}} run --all-extras python -m benchmarks.append
    {{uv}} run --all-extras python -m benchmarks.journal
    {{uv}} run --all-extras python benchmarks/http_client.py
    {{uv}} run --all-extras python benchmarks/http_faults.py
    {{uv}} run --all-extras python benchmarks/run_overhead.py
    {{uv}} run --all-extras python benchmarks/resume.py
    {{uv}} run --all-extras python -m benchmarks.memory
    {{uv}} run --all-extras python -m benchmarks.order
    {{uv}} run --all-extras python -m benchmarks.halt
    {{uv}} run --all-extras python -m benchmarks.cells
    {{uv}} run --all-extras python -m benchmarks.population
    {{uv}} run --all-extras python -m benchmarks.channels
    {{uv}} run --all-extras python -m benchmarks.report
    {{uv}} run --all-extras python -m benchmarks.report --channels --personas 200 --events 300000

# The pages and their examples against the code
docs:
    {{uv}} run --all-extras pytest -n 3 --dist worksteal tests/docs

# Format, and fix what can be fixed
format:
    {{uv}} run --all-extras ruff format
    {{uv}} run --all-extras ruff check --fix

# Move every pinned version to the newest that fits
pin:
    {{uv}} run --all-extras python tools/pin.py
