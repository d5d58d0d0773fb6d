# `make demo` and `make test` set up .venv themselves; PYTHON and TORCH choose the interpreter and the PyTorch build.
PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements/constraints.txt

.PHONY: demo test lint clean

demo: $(VENV)/.installed-demo
	$(VENV)/bin/harness run experiments/handbook.toml

test: $(VENV)/.installed-test
	$(VENV)/bin/python -m pytest -n 2 $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check harness tests benchmarks
	$(VENV)/bin/ruff format --check harness tests benchmarks
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

# Results, runs and the record of the holdout stay: they are not made again.
clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(f"Python 3.11 or later is needed, {sys.executable} is {v[0]}.{v[1]}; try make PYTHON=python3.12" if v < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	touch $@

# PyTorch on its own first: which build of it fits a machine is not for the constraints to say.
$(VENV)/.torch: $(VENV)/.python
	@echo "installing $(TORCH) and the pinned dependencies; this takes a minute or two"
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	touch $@

$(VENV)/.installed-%: $(VENV)/.torch pyproject.toml requirements/constraints.txt requirements/no-deps.txt
	$(PIP) --editable '.[$*]'
	@if [ "$*" != demo ]; then $(PIP) --no-deps --requirement requirements/no-deps.txt; fi
	touch $@
