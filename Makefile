# Two commands for a newcomer: `make demo` and `make test`. Needs Python 3.11+, pip, venv and make; nothing else.
PYTHON ?= python3
BIN := .venv/bin
# Many tests start `rejoinder` in a process of its own, which is slower to start without compiled modules.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo docs test test-slow test-under-load frozen kills other-servers recipes fuzz mutants api-check dockerfile papers lint types format clean

demo: .venv/core
	$(BIN)/rejoinder demo

# The site, in build/site: every notebook is run, and a broken link is an error.
docs: .venv/docs
	$(BIN)/python -m sphinx -q -W --keep-going --fresh-env docs build/site
	@echo "Now open $(CURDIR)/build/site/index.html in a browser."

# `make test TEST_OPTIONS='--no-skip browser'`: further options of pytest.
test: .venv/test
	$(PYTEST) --numprocesses 2 --dist loadfile -m 'not slow' $(TEST_OPTIONS)

# The tests that are left out of `make test` because they take long; `.ci/run` runs both.
test-slow: .venv/test
	$(PYTEST) --numprocesses 2 --dist loadfile -m slow $(TEST_OPTIONS)

# The suite three times, and the tests that start processes or a browser ten times, beside stress-ng (apt-get install
# stress-ng), which keeps both cores, memory and disk busy. It takes hours.
SUITE_RUNS ?= 3
SLOW_RUNS ?= 10
SLOW_TESTS := tests/test_packaging.py tests/test_skips.py tests/scoring/test_interrupted.py tests/report \
	tests/cli/test_interrupted_imports.py tests/cli/test_help.py tests/evaluators/judge tests/scoring/engines \
	tests/service tests/annotation

test-under-load: .venv/test
	stress-ng --quiet --cpu 2 --vm 1 --vm-bytes 256M --hdd 1 & busy=$$!; trap "kill $$busy" EXIT; set -e; \
	for number in $$(seq $(SUITE_RUNS)); do $(PYTEST) --numprocesses 2 --dist loadfile -q $(TEST_OPTIONS); done; \
	for number in $$(seq $(SLOW_RUNS)); do \
		for tests in $(SLOW_TESTS); do $(PYTEST) -q $$tests; done; \
	done

# Everything in tests/frozen, computed by the commit that was frozen and by this one, on one machine: the same bytes?
# What is imported depends on no machine, and is compared with the file.
frozen: .venv/test
	rm -rf build/frozen && mkdir -p build/frozen/source
	git archive $$(cat tests/frozen/commit) src | tar -x -C build/frozen/source
	PYTHONPATH=$(CURDIR)/build/frozen/source/src $(BIN)/python tests/frozen/freeze.py build/frozen/then
	$(BIN)/python tests/frozen/freeze.py build/frozen/now
	diff --recursive --brief --exclude imports.json build/frozen/then build/frozen/now
	diff tests/frozen/imports.json build/frozen/now/imports.json && echo "the same bytes"

# The server of a study is killed twenty times while raters answer; fails if an acknowledged answer is lost.
kills: .venv/test
	$(BIN)/python benchmarks/annotation_kills.py --kills 20

# Label Studio and Potato, each in an environment of its own, are started and load what `annotate export` writes for them.
OTHER_SERVERS := build/other-servers

other-servers: .venv/test
	for name in label-studio potato-annotation; do \
		test -d $(OTHER_SERVERS)/$$name || $(PYTHON) -m venv $(OTHER_SERVERS)/$$name; \
		$(OTHER_SERVERS)/$$name/bin/python -m pip install --quiet $$name; \
	done
	REJOINDER_LABEL_STUDIO=$(CURDIR)/$(OTHER_SERVERS)/label-studio/bin/label-studio \
	REJOINDER_POTATO=$(CURDIR)/$(OTHER_SERVERS)/potato-annotation/bin/potato \
		$(BIN)/python -m pytest tests/annotation/test_other_servers.py --timeout 0

# The whole recipe of the evaluator with several heads, on a few rows; it takes three minutes and needs ../shared/data.
recipes: .venv/test
	REJOINDER_RECIPES=1 $(BIN)/python -m pytest tests/recipes/test_default_heads.py -m slow

# Seconds per target: two dozen readers, and model folders for four times as long, take about seven hours.
# `make fuzz FUZZ_SECONDS=60` is a short run.
FUZZ_SECONDS ?= 900

fuzz: .venv/test
	REJOINDER_FUZZ_SECONDS=$(FUZZ_SECONDS) REJOINDER_FUZZ_SEED=$$(date +%s) \
		$(BIN)/python -m pytest tests/fuzz --timeout 0 --maxfail 100

# Generated requests against the service's own OpenAPI document; it takes some minutes.
api-check: .venv/test
	$(PYTHON) -m venv build/schemathesis
	build/schemathesis/bin/python -m pip install --quiet --disable-pip-version-check schemathesis
	$(BIN)/rejoinder serve -m rouge-l -m length --port 8798 --quiet & server=$$!; trap "kill $$server" EXIT; \
	cd build/schemathesis; bin/schemathesis --config-file ../../.ci/schemathesis.toml run --wait-for-schema 60 \
		--suppress-health-check all http://127.0.0.1:8798/openapi.json

# The commands of the Dockerfile, without Docker, in a temporary folder.
dockerfile:
	$(PYTHON) .ci/dockerfile.py

# Would the tests notice a wrong equation? 1,000 small changes of the source, each against its tests, in about two hours.
# An interrupted run is resumed. cosmic-ray, which makes the changes, has an environment of its own.
MUTANTS ?= 1000

mutants: .venv/test .venv-mutants/ready
	test -f build/mutants/sample.jsonl || .venv-mutants/bin/python benchmarks/mutants.py draw --most $(MUTANTS)
	$(BIN)/python benchmarks/mutants.py run
	$(BIN)/python benchmarks/mutants.py table --survivors

.venv-mutants/ready:
	$(PYTHON) -m venv .venv-mutants
	.venv-mutants/bin/python -m pip install --quiet --disable-pip-version-check 'cosmic-ray>=8.7,<9'
	touch $@

# The pages of docs/results that take less than half an hour and need no file from elsewhere, as dstc6 does. Nothing is
# taken from an earlier run; evaluator-studies and ruber-transfer need the encoder models-cache/minilm.
DATA ?= ../shared/data
QUICK_PAGES := papers metric-figures rater-figures evaluator-studies am-fm-table1 am-fm-dstc6 adem-speed ruber-transfer

papers: .venv/test models-cache/skip-thought
	rm -rf build/papers
	set -e; for page in $(QUICK_PAGES); do \
		$(BIN)/python -m papers $$page --data $(DATA) --cache build/papers -o docs/results/$$page.md; \
	done

# A row of am-fm-table1.
models-cache/skip-thought: | .venv/test
	$(BIN)/rejoinder train skip-thought --dialogues $(DATA)/dialogues/dailydialog.train.jsonl.gz --vocabulary 2000 \
		--embedding 64 --hidden 128 --batch 32 --epochs 1 --learning-rate 0.003 --seed 1 -o $@

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

.venv/docs: .venv/core
	$(PIP) --editable '.[docs]'
	touch $@

.venv/test: .venv/core
	$(PIP) --editable '.[test]'
	touch $@

clean:
	rm -rf .venv .venv-mutants build dist report.html src/*.egg-info
