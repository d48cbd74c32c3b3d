# Two commands do everything on a fresh machine: `make demo` and `make test`. Each makes what it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BRIDGES := $(VENV)/.bridges
# two at once, a file's tests in one process: correctness tests never time
SIDE_BY_SIDE := -n 2 --dist loadfile

.PHONY: demo test test-full check card seal site lock clean

demo: $(READY)
	$(BIN)/dlbench run --split demo --model reference --model stub --model embedded --max-tokens 256 --out runs/demo

test: $(BRIDGES)
	$(BIN)/python -m pytest -m "not slow" $(SIDE_BY_SIDE)

test-full: $(BRIDGES)
	$(BIN)/python -m pytest -m slow $(SIDE_BY_SIDE)
	$(BIN)/dlbench check
	$(BIN)/dlbench validate --split lite

check: $(BRIDGES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# what docs/dataset.md shows, computed from the records; a test refuses another
card: $(READY)
	mkdir -p docs/dataset
	$(BIN)/dlbench stats --card --plots docs/dataset > docs/dataset/card.md

# binds benchmark/VERSION to the records; after a change of records, raise the version first
seal: $(READY)
	$(BIN)/python -m dlbench.dataset.validation

# the pages of docs/ as a site, in site/: any warning stops it. The variable hushes an advertisement of the theme's
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# the packages of our own images (Dockerfile), pinned with their hashes
lock: $(READY)
	$(BIN)/python containers/lock.py

clean:
	rm -rf $(VENV) runs site .mypy_cache .ruff_cache .pytest_cache

# pip reads the machine's own configuration (indexes, find-links), so this works behind a mirror too
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dlbench needs Python 3.11 or newer; give one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,embedded]"
	@command -v bwrap >/dev/null || echo "note: bubblewrap is not installed; sandlock confines candidates meanwhile" \
	  "(Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
	@touch $@

# what the tests of bridges, exports and clusters need, and a demo does not. evalplus comes without its requirements,
# most of which are clients of models, and as large as all the other libraries together
$(BRIDGES): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,embedded,bridges,ray]"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "evalplus>=0.3.1"
	@touch $@
