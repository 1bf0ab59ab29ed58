# Everything runs in .venv, which these targets make and keep up to date; what needs torch_npu runs in .venv-npu.
#   make demo        the main job on a small example
#   make test        ruff, mypy and the tests, on the simulated NPU too
#   make verify-all  the tests on the simulated NPU with every order, every removal and 200 random schedules
#   make venv-npu    .venv-npu alone: streamsched with torch_npu, for verify --engine npugraph_ex
#   make bench       measurements
PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
NPU_BIN := .venv-npu/bin
PACKAGES := cli codegen dsl grammars lsp npu_sim verify
NPU_TESTS := $(wildcard tests/npu_sim tests/npu_examples tests/npu_hazards)

# A strict editable install links every file by itself, so it is made again when the list of files changes.
FILES := $(shell find $(PACKAGES) -type f -not -name '*.py[co]' | LC_ALL=C sort | cksum | cut -d' ' -f1)
INSTALL := -m pip install --quiet --disable-pip-version-check
EDITABLE := $(INSTALL) -C editable_mode=strict
DEMO_READY := .venv/.demo-$(FILES)
TEST_READY := .venv/.test-$(FILES)
NPU_READY := .venv-npu/.ready-$(FILES)

.PHONY: demo test test-npu venv-npu verify-all lint bench clean

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

# The tests that need no torch_npu come last, so that the last line counts tests even where there is no compiler.
test: lint test-npu
	$(BIN)/python -m pytest -n $(JOBS) $(NPU_TESTS:%=--ignore=%)

ifneq ($(shell command -v $(CXX) 2>/dev/null),)
test-npu: $(NPU_READY)
	$(NPU_BIN)/python -m pytest -n $(JOBS) --dist loadfile --durations=5 $(NPU_TESTS)

verify-all: $(NPU_READY) $(TEST_READY)
	STREAMSCHED_VERIFY=all $(NPU_BIN)/python -m pytest -n $(JOBS) --dist loadfile --durations=0 --durations-min=10 $(NPU_TESTS)
	STREAMSCHED_VERIFY=all $(BIN)/python -m pytest -n $(JOBS) tests/dsl/draft tests/dsl/record
else
test-npu verify-all:
	@echo "SKIPPED: the tests on the simulated NPU need a C++ compiler, and '$(CXX)' is not on PATH (Debian: apt-get install g++)"
endif

venv-npu: $(NPU_READY)

lint: $(TEST_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(PACKAGES:%=-p streamsched.%)

bench: $(TEST_READY)
	$(BIN)/python benchmarks/bench_lint.py
	$(BIN)/python benchmarks/bench_resources.py
	$(BIN)/python benchmarks/bench_models.py
	$(BIN)/python benchmarks/bench_audit.py
	$(BIN)/python benchmarks/bench_lsp.py

clean:
	rm -rf .venv .venv-npu build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python .venv-npu/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'streamsched needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ...' >&2; exit 2; }
	$(PYTHON) -m venv $(@D:%/bin=%)

$(DEMO_READY): pyproject.toml | .venv/bin/python
	@echo 'Installing streamsched and torch into .venv (a few minutes the first time) ...'
	@$(BIN)/python $(EDITABLE) -e '.[trace]'
	@rm -f .venv/.demo-* && touch $@

$(TEST_READY): pyproject.toml | .venv/bin/python
	@echo 'Installing streamsched, torch and the tools of development into .venv (a few minutes the first time) ...'
	@$(BIN)/python $(EDITABLE) -e '.[trace,dev]'
	@rm -f .venv/.demo-* .venv/.test-* && touch $(DEMO_READY) $@

# torch comes first and by itself, so that torch_npu finds the build that is there and asks for no other.
$(NPU_READY): pyproject.toml | .venv-npu/bin/python
	@echo 'Installing streamsched, torch and torch_npu into .venv-npu (a few minutes the first time) ...'
	@$(NPU_BIN)/python $(INSTALL) 'torch>=2.13,<2.14'
	@$(NPU_BIN)/python $(EDITABLE) -e '.[npu,dev]'
	@rm -f .venv-npu/.ready-* && touch $@
