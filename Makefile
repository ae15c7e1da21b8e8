# forelight on a bare machine: `make demo` and `make test` create the environment, install what is locked, and run.
# Needs python3 >= 3.11 with Debian's python3-venv (or uv). ARGS is passed on: make demo ARGS=--no-serve

PYTHON ?= python3
ARGS ?=
UV_VERSION := 0.13.9
BIN := .venv/bin
# The environment's uv, or the machine's where uv made the environment.
UV := PATH="$(BIN):$$PATH" uv
COMPILE := pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command "make lock" --extra demo --group build
EXTRAS := --extra postgres --extra dask --extra kubernetes --extra nvsentinel
UV_VENV := uv venv --quiet --clear --no-python-downloads --python "$$(command -v $(PYTHON))" .venv 2>/dev/null
OLD := forelight needs Python 3.11 or newer; install it, or name it: make PYTHON=python3.12. $(PYTHON) says:
NO_VENV := forelight needs the Debian package python3-venv (apt-get install python3-venv), or uv

.DEFAULT_GOAL := help
.PHONY: help setup install demo serve test test-fabric check lint types fix lock audit dist bench notebooks pictures clean

help: ## list these commands
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 15

setup: .venv/dev.stamp ## create .venv with everything that development needs

install: .venv/runtime.stamp ## create .venv with what runs, and no more

demo: .venv/runtime.stamp ## a synthetic fleet end to end, served until Ctrl-C (ARGS=--no-serve: ends by itself)
	@$(BIN)/forelight demo $(ARGS)

serve: .venv/runtime.stamp ## serve alarms and risks over HTTP (ARGS=--port=9000)
	@$(BIN)/forelight serve $(ARGS)

test: check ## lint, types and tests (ARGS=tests/ingest: only these; SLOW=1: the slow ones, too)
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(if $(SLOW),,-m "not slow") $(ARGS)

test-fabric: .venv/dev.stamp ## probes and localisation on network namespaces, an hour, as root (ARGS="--links 4 --each 2 --idle 3")
	@PYTHONPATH=.:tests $(BIN)/python -m fabric_bed $(ARGS)

check: lint types ## lint, formatting and types

lint: .venv/dev.stamp ## ruff: lint and formatting
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: .venv/dev.stamp ## mypy --strict on code and tests
	@$(BIN)/mypy .

fix: .venv/dev.stamp ## mend what ruff can mend, and format
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: .venv/dev.stamp ## run each script of benchmarks/
	@for script in $$(ls benchmarks/*.py 2>/dev/null); do $(BIN)/python "$$script" $(ARGS) || exit 1; done

notebooks: .venv/dev.stamp ## write each notebook anew from the text beside it
	@$(BIN)/jupytext --quiet --update --to ipynb notebooks/*.py

pictures: .venv/dev.stamp ## pictures of the demo and its console for the docs (ARGS="--home DIR": of what is there)
	@$(BIN)/python docs/pictures.py $(ARGS)

lock: .venv/dev.stamp ## lock the dependencies anew, with hashes (ARGS=--upgrade: newest versions)
	@$(UV) $(COMPILE) $(EXTRAS) --group dev -o deploy/requirements-dev.txt $(ARGS)
	@$(UV) $(COMPILE) -c deploy/requirements-dev.txt -o deploy/requirements.txt
	@$(UV) $(COMPILE) -c deploy/requirements-dev.txt $(EXTRAS) -o deploy/requirements-image.txt

audit: .venv/dev.stamp ## known vulnerabilities of what is locked; where they cannot be looked up, the locks alone
	@PATH="$(BIN):$$PATH" $(BIN)/python .ci/audit.py $(ARGS)

dist: .venv/dev.stamp ## wheel and sdist, tried in a clean environment, and what runs with them, with licences
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python .ci/dist.py $(ARGS)

clean: ## remove the environment and all caches, not the data below .forelight
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov dist

# Each stamp is older than its lock when the lock has changed; then the environment is made to match it again.
.venv/dev.stamp: .venv/made.stamp deploy/requirements-dev.txt pyproject.toml
	@$(UV) pip sync --python $(BIN)/python --require-hashes deploy/requirements-dev.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch .venv/runtime.stamp $@

.venv/runtime.stamp: .venv/made.stamp deploy/requirements.txt pyproject.toml
	@rm -f .venv/dev.stamp
	@$(UV) pip sync --python $(BIN)/python --require-hashes deploy/requirements.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.venv/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$(OLD) $$($(PYTHON) -V 2>&1)" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .venv >/dev/null 2>&1 || $(UV_VENV) || { rm -rf .venv; echo "$(NO_VENV)" >&2; exit 1; }
	@test ! -e $(BIN)/pip || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@
