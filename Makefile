# Two commands do everything on a fresh machine: `make demo` and `make test`. Each installs what it needs.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BRIDGES := $(VENV)/.bridges
DEMO := $(VENV)/.demo
# not compiled: a small part of what is installed is used, and Python compiles that when it is first imported
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# two processes; the tests of a file stay in one of them, and the longest files come first
# without threads of numerical libraries: on two busy cores they wait for each other, which makes scikit-learn 30 times slower
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder

# with it, each of the thousand processes that the tests start would compile some 400 modules again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-full test-sandbox check card gallery seal site lock clean

# eight tasks of the split demo whose projects need no torch; a page is opened where there is a display
demo: $(DEMO)
	$(BIN)/dlbench run --split demo --project albucore --project seqeval --model reference --model mutant --model stub --model embedded --max-tokens 128 --out runs/demo
	$(BIN)/dlbench report runs/demo/reference runs/demo/mutant runs/demo/stub runs/demo/embedded --out runs/demo/report
	@[ -z "$$DISPLAY$$WAYLAND_DISPLAY" ] || $(BIN)/python -m webbrowser "file://$(CURDIR)/runs/demo/report/report.html"

test: $(BRIDGES)
	$(PYTEST) -m "not slow and not timing" $(PARALLEL)

test-full: $(BRIDGES)
	$(PYTEST) -m "slow and not timing" $(PARALLEL)
	$(BIN)/dlbench check
	$(BIN)/dlbench validate --split lite

# the tests of judging alone, to run once more where bubblewrap is missing
test-sandbox: $(BRIDGES)
	$(PYTEST) -m "not slow and not timing" $(PARALLEL) tests/adversarial tests/execution

check: $(BRIDGES)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# the dataset card in docs/, computed from the records; a test compares it
card: $(READY)
	mkdir -p docs/dataset
	$(BIN)/dlbench stats --card --plots docs/dataset > docs/dataset/card.md

# the pictures of docs/index.md, taken by the browser tests
gallery: $(READY)
	DLBENCH_NO_SKIP=1 DLBENCH_GALLERY=docs/images $(BIN)/python -m pytest tests/documentation/test_gallery.py

# bind benchmark/VERSION to the records; after a change of records, raise the version first
seal: $(READY)
	$(BIN)/python -m dlbench.dataset.validation

# build docs/ into site/; any warning is an error. The variable silences an advertisement of the theme
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# pin the packages of the images (Dockerfile), with hashes
lock: $(READY)
	$(BIN)/python containers/lock.py

clean:
	rm -rf $(VENV) runs site .mypy_cache .ruff_cache .pytest_cache

# pip reads the machine's configuration (indexes, find-links), so this works behind a mirror
$(DEMO): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "dlbench needs Python 3.11 or newer; give one with: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[embedded]"
	@command -v bwrap >/dev/null || echo "note: bubblewrap is not installed; candidates run under sandlock" \
	  "(Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap)"
	@touch $@

$(READY): $(DEMO)
	$(PIP) --editable ".[dev,embedded]"
	@touch $@

# what the tests of bridges, exports and Ray need and the demo does not. evalplus is installed without its requirements:
# most are model clients, as large as all other libraries together
$(BRIDGES): $(READY)
	$(PIP) --editable ".[dev,embedded,bridges,ray]"
	$(PIP) --no-deps "evalplus>=0.3.1"
	@touch $@
