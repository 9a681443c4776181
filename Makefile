# Python >= 3.11 and make are all that is needed: make demo, make test. CONTRIBUTING.md describes the tests.
PYTHON ?= python3
VENV := .venv
TEST_VENV := .venv-test
# Modules are compiled when they are first imported, most of the tests at once on all cores, as warnings are errors there;
# left out is what tests load seldom, or in processes of their own.
LEFT_OUT := (.*/tests|moto|sqlalchemy|pip|mypy|mypyc|fontTools|sphinx|debugpy|setuptools|IPython|pydantic|prompt_toolkit|docutils)/
# Also where the environment forbids it: pytest keeps the modules of tests for its other processes.
export PYTHONDONTWRITEBYTECODE :=
PIP := -m pip install -qq --disable-pip-version-check --no-compile

PYTEST = $(TEST_VENV)/bin/python -m pytest
PARALLEL := -n auto --dist worksteal
# Tests that start programs, and wait for them: four at a time, and those of a file, which share a SLURM or a browser,
# in one process.
BY_FILE := -n 4 --dist loadfile
PROGRAMS := process or slurm
# These tests measure memory, or act at shares of a measured time, so they run one at a time.
SERIAL := alone
CHECKED := tests/test_architecture.py tests/test_docstrings.py
QUICK := not (slow or data or s3 or hypothesis or $(PROGRAMS) or $(SERIAL))
COMPILED = $(shell grep -rl "numba\|kernels.jit" src --include=*.py)

.PHONY: lint check test test-all docs demo

lint: $(TEST_VENV)/ready
	$(TEST_VENV)/bin/python -m pip check --disable-pip-version-check
	$(TEST_VENV)/bin/ruff check .
	$(TEST_VENV)/bin/ruff format --check .
	$(TEST_VENV)/bin/mypy

check: lint ## Lint, types, architecture and docstrings
	$(PYTEST) -q --durations=0 --durations-min=5 $(CHECKED) -m "not process"

test: $(TEST_VENV)/ready ## Install from the lock, check, then run the quick tests
	@$(MAKE) --no-print-directory -j 2 lint $(TEST_VENV)/kernels
	$(PYTEST) $(PARALLEL) -m "$(QUICK)"

test-all: test ## The same, then all other tests
	$(PYTEST) $(PARALLEL) --hypothesis-profile=ci -m "(slow or data or s3 or hypothesis) and not ($(PROGRAMS) or $(SERIAL))"
	$(PYTEST) $(BY_FILE) --hypothesis-profile=ci -m "($(PROGRAMS)) and not ($(SERIAL))"
	$(PYTEST) --hypothesis-profile=ci -m "$(SERIAL)"

docs: $(TEST_VENV)/ready ## All pages as docs/_build/html/index.html, built and read without network
	$(TEST_VENV)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

demo: $(VENV)/ready ## Install from the lock, then analyse a simulated study and write demo/report.html
	$(VENV)/bin/scorecube demo --out demo

# Only what scorecube needs, in the versions of the lock.
$(VENV)/ready: requirements.lock pyproject.toml
	@$(call create,$(VENV))
	@sed -n 's/^\([a-z0-9].*[^ ]\) *\\$$/\1/p' requirements.lock > $(VENV)/versions.txt
	@$(VENV)/bin/python $(PIP) -c $(VENV)/versions.txt --editable .
	@touch $@

# All that the lock has.
$(TEST_VENV)/ready: requirements.lock pyproject.toml
	@$(call create,$(TEST_VENV))
	@$(TEST_VENV)/bin/python $(PIP) --no-deps --require-hashes -r requirements.lock
	@$(TEST_VENV)/bin/python $(PIP) --no-deps --no-build-isolation --editable .
	@$(TEST_VENV)/bin/python -m compileall -qq -j 0 -x '/site-packages/$(LEFT_OUT)' $(TEST_VENV)/lib src tests || true
	@touch $@

# Once for all workers of a run: numba keeps machine code beside the source.
$(TEST_VENV)/kernels: $(TEST_VENV)/ready $(COMPILED)
	@$(TEST_VENV)/bin/python -m scorecube.cli.compile
	@touch $@

define create
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found " + sys.version.split()[0] + "; set PYTHON=...")' && \
echo "installing into $(1) (once, about a minute)" && \
$(PYTHON) -m venv --clear $(1)
endef
