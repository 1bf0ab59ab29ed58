# Everything runs in .venv, which these targets make and keep up to date.
#   make demo     the main job on a small example
#   make test     ruff, mypy and the tests
#   make bench    measurements
PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
PACKAGES := cli codegen dsl grammars verify

# A strict editable install links every file by itself, so it is made again when the list of files changes.
FILES := $(shell find $(PACKAGES) -type f -not -name '*.py[co]' | LC_ALL=C sort | cksum | cut -d' ' -f1)
EDITABLE := $(BIN)/python -m pip install --quiet --disable-pip-version-check -C editable_mode=strict
DEMO_READY := .venv/.demo-$(FILES)
TEST_READY := .venv/.test-$(FILES)

.PHONY: demo test lint bench clean

demo: $(DEMO_READY)
	@echo
	@echo '$$ cat examples/multi_stream/multi_stream.sched'
	@cat examples/multi_stream/multi_stream.sched
	@echo
	@echo '$$ streamsched lint examples/multi_stream'
	@$(BIN)/streamsched lint examples/multi_stream && echo "(nothing to say: all is well)"
	@echo
	@echo '$$ streamsched gen examples/multi_stream/multi_stream.sched'
	@$(BIN)/streamsched gen examples/multi_stream/multi_stream.sched
	@echo
	@echo '$$ streamsched show examples/multi_stream/multi_stream.sched'
	@$(BIN)/streamsched show examples/multi_stream/multi_stream.sched

test: lint
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(TEST_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES:%=-p streamsched.%)

bench: $(TEST_READY)
	$(BIN)/python benchmarks/bench_lint.py

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'streamsched needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ...' >&2; exit 2; }
	$(PYTHON) -m venv .venv

$(DEMO_READY): pyproject.toml | .venv/bin/python
	@echo 'Installing streamsched and torch into .venv (a few minutes the first time) ...'
	@$(EDITABLE) -e '.[trace]'
	@rm -f .venv/.demo-* && touch $@

$(TEST_READY): pyproject.toml | .venv/bin/python
	@echo 'Installing streamsched, torch and the tools of development into .venv (a few minutes the first time) ...'
	@$(EDITABLE) -e '.[trace,dev]'
	@rm -f .venv/.demo-* .venv/.test-* && touch $(DEMO_READY) $@
