# Every target makes its own virtual environment when there is none, and needs
# nothing but GNU make and Python 3.11 or later (with its venv module).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MADE := $(VENV)/.made
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
LOADED := $(VENV)/.loaded
# One test process more than there are cores: tests of services wait for each other now and then.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# What failed in the crowd runs once more, alone; what fails there, too, fails. A test that needs this
# is shown as failed above and wants mending: it depends on how busy the machine is.
AGAIN = $(BIN)/python -m pytest --last-failed --last-failed-no-failures none
PYTHONS ?= python3.11 python3.12 python3.13
QUICK := tests/numbers tests/wire tests/paillier tests/rados tests/text
# Tests write and sync thousands of small files: in memory, where there are 4 GB of room for them.
ROOMY = $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $$4}')" -gt 4000000 ] \
  2>/dev/null && [ -w /dev/shm ] && echo /dev/shm || echo $${TMPDIR:-/tmp})
# Tests start a hundred processes, which would each compile the package for themselves.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test pytest versions coverage lint bench soak browser postgres docs clean

help:  ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):[^#]*## /\1\t/' | expand -t 10

setup: $(READY)  ## make .venv and install the package with its development tools

$(MADE):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or later is needed, found $$($(PYTHON) --version)"; \
	    echo "hint: make PYTHON=/path/to/python3.11 setup"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "error: this Python cannot make a virtual environment"; \
	    echo "hint: apt-get install python3-venv"; exit 1; }
	@touch $@

$(INSTALLED): pyproject.toml | $(MADE)
	@echo "installing into $(VENV): half a minute or so, without a word"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# Most modules of the tools are never loaded; the others are compiled when they are.
$(READY): pyproject.toml | $(MADE)
	@echo "installing with the development tools into $(VENV): a minute or so, without a word"
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@touch $(INSTALLED) $@

# The package alone: whoever looks at it first need not wait for tools that tests want.
demo: $(INSTALLED)  ## the main job, from start to end
	$(BIN)/sottovoce demo

lint: setup  ## ruff, mypy --strict, the layer map
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One thread of linear algebra a process: the processes share the cores already, and threads
# that wait for each other there take several times as long.
test: export OPENBLAS_NUM_THREADS = 1
test: export TMPDIR := $(ROOMY)
# mypy reads everything anew in a fresh clone, on one core: the tests use the other meanwhile.
test: setup  ## lint and every test but the long ones
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

pytest: setup $(LOADED)
	$(PYTEST) || $(AGAIN)

# One process compiles what all test processes load; at once, each would do it for itself.
# Where a test cannot be loaded, the test run says so.
$(LOADED): | $(READY)
	@echo "compiling tests and what they load: half a minute or so, without a word"
	@$(BIN)/python -m pytest --collect-only --quiet --quiet >/dev/null 2>&1 || true
	@touch $@

# The wheel in an empty environment of each, then a part of the tests that takes a minute.
versions: setup  ## the wheel alone, and quick tests, with each of PYTHONS that is here
	$(BIN)/python -m pytest -m soak tests/deploy/test_release.py -k empty_environment
	@for python in $(PYTHONS); do \
	  $$python -c '' 2>/dev/null || { echo "$$python is not on this machine"; continue; }; \
	  place=build/versions/$$(basename $$python); \
	  echo "installing into $$place, without a word"; \
	  $$python -m venv $$place && $$place/bin/python -m pip install --quiet --editable '.[dev]' && \
	  $$place/bin/python -m pytest --quiet -p no:cacheprovider $(QUICK) || exit 1; \
	done

# Apart from `test`, because watching every branch doubles the time that the tests take.
coverage: export OPENBLAS_NUM_THREADS = 1
coverage: setup  ## every test but the long ones, and which branches of the pure layers they take
	$(PYTEST) --cov --cov-report=term:skip-covered

bench: setup  ## every benchmark beside its partner
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks all

soak: export OPENBLAS_NUM_THREADS = 1
soak: setup  ## the long tests, and properties on a thousand examples unless a test sets fewer
	$(PYTEST) -m 'soak or hypothesis' --hypothesis-profile=soak

# Links and anchors are checked while it is built; nothing is fetched when it is read.
docs: setup  ## the documentation as a site, in build/site
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python docs/make_site.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "open build/site/index.html"

browser:  ## install Chromium where possible, which the tests of the console drive
	@command -v chromium chromium-browser google-chrome >/dev/null 2>&1 || \
	  { apt-get update -qq && apt-get install -y -qq chromium; } || \
	  { echo "error: no Chromium, and none could be installed"; \
	    echo "hint: install Chromium with this system's packages, then make test"; exit 1; }
	@echo "Chromium is there: make test drives it"

postgres:  ## install PostgreSQL where possible, which the tests of a shared mailbox start
	@command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql; } || \
	  { echo "error: no PostgreSQL, and none could be installed"; \
	    echo "hint: install PostgreSQL with this system's packages, then make test"; exit 1; }
	@echo "PostgreSQL is there: make test starts one of its own"

clean:  ## remove the virtual environment and every cache
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
