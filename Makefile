# Two commands do everything on a machine with Python >= 3.11 and make: make demo, make test.
PYTHON ?= python3
VENV := .venv
TEST_VENV := .venv-test
PIP := -m pip install -qq --disable-pip-version-check
LOCK := uv pip compile -q --no-header --universal --generate-hashes --python-version 3.11 --group build

.PHONY: demo test check bench docs lock clean help

help: ## Show this list
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 10

demo: $(VENV)/ready ## Install from the lock, then analyse a simulated study and write demo/report.html
	$(VENV)/bin/scorecube demo --out demo

test: check ## Install from the lock, then lint, types and all tests
	$(TEST_VENV)/bin/python -m pytest

check: $(TEST_VENV)/ready ## Lint and types only
	$(TEST_VENV)/bin/ruff check .
	$(TEST_VENV)/bin/ruff format --check .
	$(TEST_VENV)/bin/mypy

bench: $(TEST_VENV)/ready ## Speed against plain NumPy, as ratios from one interleaved run
	$(TEST_VENV)/bin/python -m tests.benchmarks

docs: $(TEST_VENV)/ready ## API pages from the docstrings: docs/scorecube.html, read without network
	$(TEST_VENV)/bin/python -m tests.api_pages docs

lock: ## Renew the locks (needs uv); they hold hashes and no addresses
	$(LOCK) --extra cluster --extra s3 --extra docs --extra test pyproject.toml -o requirements-test.lock
	$(LOCK) --extra cluster --extra s3 -c requirements-test.lock pyproject.toml -o requirements-cluster.lock
	$(LOCK) -c requirements-test.lock pyproject.toml -o requirements.lock

clean: ## Remove environments, caches and the demo
	rm -rf $(VENV) $(TEST_VENV) demo docs .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/ready: requirements.lock pyproject.toml
	@$(call install,$(VENV),requirements.lock)

$(TEST_VENV)/ready: requirements-test.lock pyproject.toml
	@$(call install,$(TEST_VENV),requirements-test.lock)

define install
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, found " + sys.version.split()[0] + "; set PYTHON=...")' && \
echo "installing into $(1) (once, about a minute)" && \
$(PYTHON) -m venv --clear $(1) && \
$(1)/bin/python $(PIP) --require-hashes -r $(2) && \
$(1)/bin/python $(PIP) --no-deps --no-build-isolation --editable . && \
$(1)/bin/python -m pip check --disable-pip-version-check && touch $(1)/ready
endef
