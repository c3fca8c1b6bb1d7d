# CI runs `make check`. PYTHON is the interpreter of an environment with '.[test,dev]' installed. `make bench` needs the folder of the
# benchmarks in HLOTOOL_CONFORMANCE.
PYTHON ?= .venv/bin/python

.PHONY: check test lint fmt types tables bench docs methods syntax

check:
	.ci/run

test:
	$(PYTHON) -m pytest -q

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

fmt:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

types:
	$(PYTHON) -m mypy --strict

tables:
	$(PYTHON) -m hlotool.dev tables

bench:
	$(PYTHON) $(HLOTOOL_CONFORMANCE)/bench_text.py

# Generates docs/operations.md, docs/rules, docs/ops and docs/rewrites, and tests the commands shown in the README and the guides.
docs:
	$(PYTHON) -m hlotool.dev docs
	$(PYTHON) -m pytest -q tests/cli/test_readme.py tests/cli/test_guides.py

# Generates hlotool/builder/generated from the op table.
methods:
	$(PYTHON) -m hlotool.dev methods
	$(PYTHON) -m ruff format hlotool/builder/generated
	$(PYTHON) -m ruff check --fix hlotool/builder/generated

# Generates the editors' syntax files in editors/ from the grammar and the op table.
syntax:
	$(PYTHON) -m hlotool.dev syntax
