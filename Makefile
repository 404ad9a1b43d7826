# Two commands for a newcomer: `make demo` and `make test`. Needs Python 3.11+, pip, venv and make; nothing else.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test fuzz lint types format clean

demo: .venv/core
	$(BIN)/rejoinder score src/rejoinder/examples/demo.jsonl --metric all --report report.html
	@echo "Now open $(CURDIR)/report.html in a browser."

test: .venv/test
	$(BIN)/python -m pytest --numprocesses 2

# Seconds per target: eleven readers, and model folders for four times as long, take about four hours. `make fuzz FUZZ_SECONDS=60` is a short run.
FUZZ_SECONDS ?= 900

fuzz: .venv/test
	REJOINDER_FUZZ_SECONDS=$(FUZZ_SECONDS) REJOINDER_FUZZ_SEED=$$(date +%s) \
		$(BIN)/python -m pytest tests/fuzz --timeout 0 --maxfail 100

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/test
	$(BIN)/mypy

format: .venv/test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable .
	touch $@

.venv/test: .venv/core
	$(PIP) --editable '.[test]'
	touch $@

clean:
	rm -rf .venv build dist report.html src/*.egg-info
