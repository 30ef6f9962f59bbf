# `make demo` and `make test` need Python 3.11 or newer and nothing else: they make .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all lint format lock benchmarks papers clean

demo: $(READY)
	$(BIN)/vegasfluid recommend models/weigle_feng_network2.toml

test: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "not slow"

test-all: $(READY)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmarks: $(READY)
	$(BIN)/python -m benchmarks.main_job
	$(BIN)/python -m benchmarks.agreement
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.packets
	$(BIN)/python -m benchmarks.sweep
	$(BIN)/python -m benchmarks.search
	$(BIN)/python -m benchmarks.dde
	$(BIN)/python -m benchmarks.stability
	$(BIN)/python -m benchmarks.formulas

# Report and figures of every claim of the five papers, in paper_repro/.
papers: $(READY)
	$(BIN)/python -m paper_repro --out paper_repro

# The environment: exactly what requirements.lock says, then this package, editable.
$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "vegasfluid needs Python 3.11 or newer, but this is " + sys.version.split()[0] + "; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "uv>=0.5"
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python requirements.lock
	$(BIN)/uv pip install --quiet --no-deps --python $(BIN)/python --editable .
	touch $@

# Newest versions that pyproject.toml allows, for every platform, with hashes.
lock: $(READY)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--group dev --output-file requirements.lock --upgrade pyproject.toml

clean:
	rm -rf $(VENV)
