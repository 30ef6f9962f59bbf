# `make demo` and `make test` need Python 3.11 or newer and nothing else: they make .venv first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-long test-xla test-all lint notebooks docs format lock matrix audit benchmarks papers clean

demo: $(READY)
	$(BIN)/vegasfluid recommend models/weigle_feng_network2.toml

# XLA's older code generator compiles in three quarters of the time.
notebooks docs: export XLA_FLAGS += --xla_cpu_use_fusion_emitters=false
# The site uses the packet kernels that the tests have compiled.
notebooks docs: export VEGASFLUID_CACHE_DIR ?= $(CURDIR)/build/compiled-for-tests

# `make test K=fluid` runs the tests of a folder (tests/fluid and the examples in vegasfluid/fluid);
# any other K is a word that a test's name holds.
FOLDERS := $(if $(K),$(wildcard tests/$(K) vegasfluid/$(K) paper_repro/$(K)))
PYTEST := $(BIN)/python -m pytest -q -n $(or $(WORKERS),auto) $(or $(FOLDERS),$(if $(K),-k "$(K)"))

test: $(READY)
	$(PYTEST) --dist loadfile -m "not slow and not study"

# Long tests of one file are divided among the workers, too. `make test-long PART=2/8` runs an eighth,
# WORKERS=1 uses one process.
test-long: $(READY)
	$(PYTEST) --dist worksteal -m "slow or study" $(if $(PART),--part $(PART))

# All tests of the delay solver once more, with XLA's programs instead of lane kernels.
test-xla: $(READY)
	$(PYTEST) --dist worksteal --delay-solver xla tests/dde/adaptive $(if $(PART),--part $(PART))

test-all: test test-long test-xla

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright --pythonpath $(BIN)/python

# Executed copies of the notebooks, for the site; those in notebooks/ stay without outputs.
EXECUTED := $(patsubst notebooks/%,docs/notebooks/%,$(wildcard notebooks/*.ipynb))
SOURCES := $(shell find vegasfluid models -name '*.py' -o -name '*.toml')

# Two at a time; copies of notebooks that are gone go too.
notebooks: $(READY)
	@rm -f $(filter-out $(EXECUTED),$(wildcard docs/notebooks/*.ipynb))
	@$(MAKE) --no-print-directory -j 2 $(EXECUTED)

docs/notebooks/%.ipynb: notebooks/%.ipynb docs/execute.py $(SOURCES) $(READY)
	$(BIN)/python docs/execute.py --into docs/notebooks $<

docs: notebooks
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --nitpicky docs build/docs

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# What each finds, kept for the documentation; a name alone runs one: make benchmarks/results/dde.json
BENCHMARKS := main_job models ns2 linux observe queues overshoot solo hollot design speed packets sweep search dde dde_accuracy dde_gradients work_precision stability formulas tuning first_use newcomer slider explore integrity integrity.estimate hardening

benchmarks: $(BENCHMARKS:%=benchmarks/results/%.json)

.PHONY: $(BENCHMARKS:%=benchmarks/results/%.json)
$(BENCHMARKS:%=benchmarks/results/%.json): benchmarks/results/%.json: $(READY)
	mkdir -p benchmarks/results
	$(BIN)/python -m benchmarks.$* --json > $@.new
	mv $@.new $@

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
		--extra notebooks --group dev --output-file requirements.lock --upgrade pyproject.toml
	$(BIN)/uv pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	$(BIN)/uv pip install --quiet --no-deps --python $(BIN)/python --editable .
	$(BIN)/python -m tools.licences

# A part of the tests on each Python, and with the oldest and the newest libraries (noxfile.py).
matrix: $(READY)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/uv tool run --quiet "nox>=2025.2.9"

# Known vulnerabilities of what is locked; asks PyPI, so it needs the network.
audit: $(READY)
	$(BIN)/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r requirements.lock

clean:
	rm -rf $(VENV) build/compiled-for-tests
