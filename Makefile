# make demo    train on a bundled data set, print the certificate, save a picture
# make test    run the tests
# make test-blas  the tests of numerics with another core type of OpenBLAS
# make test-lowest  the numerical tests with the oldest supported NumPy, SciPy, scikit-learn and Numba
# make test-newest  the numerical tests with the newest Python found here
# make test-dropin  scikit-learn's own tests with Mercer's classes in place (tests/dropin)
# make coverage  the tests with line and branch coverage; the report is out/coverage/index.html
# make soundness  check 100,000 hard problems against exact arithmetic (docs/reliability.md)
# make fuzz    1,000,000 changed inputs for every reader of files, links and messages (docs/reliability.md)
# make soak    30 minutes of mixed load: fits, searches, saves, interrupts, kills (docs/reliability.md)
# make package  build wheel and sdist twice, compare, look inside, install in a new environment
# make lock    versions of the development environment, into requirements-dev.lock
# make sbom    a CycloneDX list of what the environment holds, into out/sbom.json
# make audit   known vulnerabilities of these versions (needs the network), and licences
# make axe     axe-core from npm, for the tests of accessibility (they are skipped without it)
# make docs    build the documentation site into out/docs
# make docs-check  check pages, docstrings and links without running examples or writing pages
# make lint    ruff and mypy
# make format  rewrite the sources as ruff wants them
# make bench   the kernel benchmark (data: see docs/performance/benchmarks.md)
# make clean   remove the environment and everything generated
#
# The first target that needs it creates .venv. PYTHON=/path/to/python chooses the interpreter.

VENV := .venv
BIN := $(VENV)/bin

# The first Python here that is new enough and can make environments.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& command -v $$p && break; done)

.PHONY: help demo test test-blas test-lowest test-newest test-dropin coverage soundness fuzz soak package lock sbom audit axe docs docs-check lint format bench clean

help:
	@sed -n '/^# make/s/^# //p' Makefile

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: no Python >= 3.11 with the venv module found;" \
		"name one with 'make PYTHON=/path/to/python'." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What docs/start uses after it: pictures, the playground, tables.
$(VENV)/.plots: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plots,play,tables]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.plots

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

demo: $(VENV)/.plots
	$(BIN)/mercer demo -o out

# One process for each processor, up to four. The tests of a file stay together; those that measure
# time come last, alone. PYTEST_ARGS=-x and the like are passed on.
PYTEST := $(BIN)/python -m pytest
SERIAL := $(shell grep --recursive --files-with-matches --include='test_*.py' 'mark\.serial' tests)
SIDE_BY_SIDE := -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder -m 'not serial'
# Threads of BLAS wait for each other in a busy loop, which took more than half of the processor time
# of tests with linear algebra where the processors have a test each. The tests that come last, and
# those of `make test-blas`, have as many threads as there are processors.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

test: $(VENV)/.dev
	status=0; $(ONE_THREAD) $(PYTEST) $(SIDE_BY_SIDE) $(PYTEST_ARGS) || status=$$?; \
	$(PYTEST) -m serial $(SERIAL) $(PYTEST_ARGS) || status=$$?; exit $$status

NOT_NUMERICAL := faults fuzz playground benchmarks cli dropin diagnostics persistence data plots \
	test_docs.py test_public_surface.py test_repo.py test_site.py

# What another product of BLAS can change: sums over kernel values, factorisations, bounds on their
# rounding, and what a fit states about itself. Of scikit-learn's checks those that compare numbers,
# and those of array API input, which are skipped without SCIPY_ARRAY_API.
BLAS_TESTS := $(addprefix tests/,gram solvers linear soundness problems test_certificate.py test_verify.py \
	test_verify_bounds.py test_psd.py test_separability.py kernels/test_rounding.py kernels/test_kernels.py \
	embeddings/test_kernel_features.py model_selection/test_svc_cv.py \
	$(addprefix estimators/test_,check_estimator.py ridge.py pca.py logistic.py kmeans.py probabilities.py \
	residual_bounds.py squared_slack.py))
BLAS_CHECKS := not test_check_estimator or array_api or invariance or equivalence or _train

test-blas: $(VENV)/.dev
	core=$$($(BIN)/python .ci/second_core.py); \
	test -n "$$core" || { echo 'OpenBLAS has no second core type here'; exit 0; }; \
	echo "OPENBLAS_CORETYPE=$$core"; export OPENBLAS_CORETYPE=$$core SCIPY_ARRAY_API=1; \
	$(PYTEST) $(SIDE_BY_SIDE) $(BLAS_TESTS) -k '$(BLAS_CHECKS)' $(PYTEST_ARGS)

# The oldest versions that pyproject.toml allows, in an environment of their own.
.venv-lowest/.dev: pyproject.toml .ci/lowest.py | $(BIN)/python
	$(BIN)/python -m venv --clear .venv-lowest
	$(BIN)/python .ci/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --constraint .venv-lowest/constraints.txt --editable '.[test]'
	@touch $@

# `error` would also be raised for warnings that old and new versions have on their own.
OTHER_VERSIONS := -m 'not serial' $(NOT_NUMERICAL:%=--ignore=tests/%) -W default

test-lowest: .venv-lowest/.dev
	.venv-lowest/bin/python -m pip list | grep -iE '^(numpy|scipy|scikit-learn|numba) '
	.venv-lowest/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(OTHER_VERSIONS) $(PYTEST_ARGS)

# NEWEST=/path/to/python chooses another interpreter.
NEWEST ?= $(shell for p in python3.15 python3.14 python3.13 python3.12 $$HOME/.pyenv/versions/3.1[4-9]*/bin/python \
	$$HOME/.pyenv/versions/3.13*/bin/python $$HOME/.pyenv/versions/3.12*/bin/python; do \
	$$p -c 'import venv, ensurepip' 2>/dev/null && command -v $$p && break; done)

.venv-newest/.dev: pyproject.toml
	@test -n "$(NEWEST)" || { echo "error: no Python newer than 3.11 found;" \
		"name one with 'make test-newest NEWEST=/path/to/python'." >&2; exit 1; }
	$(NEWEST) -m venv --clear .venv-newest
	.venv-newest/bin/python -m pip install --quiet --editable '.[test]'
	@touch $@

test-newest: .venv-newest/.dev
	.venv-newest/bin/python --version
	.venv-newest/bin/python -m pytest -n auto --maxprocesses 4 --dist loadfile $(OTHER_VERSIONS) $(PYTEST_ARGS)

# What fails is compared with the list of deviations; EXAMPLES is a folder of scikit-learn's gallery.
test-dropin: $(VENV)/.dev
	$(BIN)/python -m tests.dropin.run --jobs auto
	test -z "$(EXAMPLES)" || $(BIN)/python -m tests.dropin.gallery "$(EXAMPLES)"

# Compiled code is not traced: its lines count as run where Python calls them only.
coverage: $(VENV)/.dev
	$(ONE_THREAD) $(PYTEST) $(SIDE_BY_SIDE) --cov=mercer --cov-branch --cov-report=term:skip-covered \
		--cov-report=html:out/coverage $(PYTEST_ARGS)
	@echo 'open out/coverage/index.html'

# SOUNDNESS_COUNT=1000 checks fewer; a run that was interrupted goes on where it was.
SOUNDNESS_COUNT ?= 100000
soundness: $(VENV)/.dev
	@mkdir -p out
	$(BIN)/python -m tests.soundness.run --count $(SOUNDNESS_COUNT) --resume out/soundness.jsonl

# FUZZ_COUNT=20000 gives fewer; a run that was interrupted goes on where it was.
FUZZ_COUNT ?= 1000000
fuzz: $(VENV)/.dev
	@mkdir -p out
	$(BIN)/python -m tests.fuzz.run --count $(FUZZ_COUNT) --resume out/fuzz.jsonl --keep

# MINUTES=2 is a short one.
MINUTES ?= 30
soak: $(VENV)/.dev
	$(BIN)/python -m benchmarks trust --minutes $(MINUTES)

package: $(VENV)/.dev
	$(BIN)/python .ci/package.py $(PACKAGE_ARGS)

# uv, cyclonedx-py and pip-audit are tools of their own: pipx install them.
lock:
	uv pip compile pyproject.toml --extra dev --extra docs --universal --python-version 3.11 \
		--no-emit-index-url --no-emit-find-links --no-header --generate-hashes --quiet \
		-o requirements-dev.lock

sbom: $(VENV)/.dev
	@mkdir -p out
	cyclonedx-py environment --output-reproducible --pyproject pyproject.toml -o out/sbom.json $(BIN)/python

audit: $(VENV)/.dev
	pip-audit --requirement requirements-dev.lock --disable-pip
	$(BIN)/python .ci/licences.py all

axe:
	npm install --no-audit --no-fund --prefix out/axe axe-core@4.14.0

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -j 2 -d out/doctrees docs out/docs
	@echo 'open out/docs/index.html'

# Pages, docstrings and the links between them are read and resolved. Nothing is written, and no
# example is run: `make test` runs those of the pages and of the gallery.
docs-check: $(VENV)/.docs
	MERCER_DOCS_WITHOUT_RUNS=1 $(BIN)/python -m sphinx -b dummy -W --keep-going -q -j 2 docs out/docs-check

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
	rm -rf $(VENV) .venv-lowest .venv-newest out docs/api/generated docs/gallery docs/live build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
