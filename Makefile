# make demo    train on a bundled data set, print the certificate, save a picture
# make test    run the tests
# make docs    build the documentation site into out/docs
# make lint    ruff and mypy
# make format  rewrite the sources as ruff wants them
# make bench   the kernel benchmark (data: see docs/benchmarks.md)
# make clean   remove the environment and everything generated
#
# The first target that needs it creates .venv. PYTHON=/path/to/python chooses the interpreter.

VENV := .venv
BIN := $(VENV)/bin

# The first Python here that is new enough and can make environments.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& command -v $$p && break; done)

.PHONY: help demo test docs lint format bench clean

help:
	@sed -n '/^# make/s/^# //p' Makefile

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: no Python >= 3.11 with the venv module found;" \
		"name one with 'make PYTHON=/path/to/python'." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.plots: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.plots

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

demo: $(VENV)/.plots
	$(BIN)/mercer demo -o out

test: $(VENV)/.dev
	$(BIN)/python -m pytest

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q docs out/docs
	@echo 'open out/docs/index.html'

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks kernel --peers sklearn

clean:
	rm -rf $(VENV) out docs/api/generated docs/gallery docs/live build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
