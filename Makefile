# Two commands for a newcomer: `make demo` and `make test`. Needs Python 3.11+, pip, venv and make; nothing else.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint types format clean

demo: .venv/core
	$(BIN)/rejoinder score src/rejoinder/examples/demo.jsonl --metric all --report report.html
	@echo "Now open $(CURDIR)/report.html in a browser."

test: .venv/test
	$(BIN)/python -m pytest --numprocesses 2

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
