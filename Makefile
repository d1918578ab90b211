# The words to learn; `make` alone lists them. GNU Make 3.81 (macOS) must do.
.DEFAULT_GOAL := help
.PHONY: help kata list diff reset matrix test lint format picture doctor

# Only what is typed after `make` counts: WSL, for one, has the machine's name in NAME.
$(foreach word,NAME FILE GIVEUP UNIFIED,\
  $(if $(filter command,$(origin $(word))),,$(eval $(word) :=)))

# Once .venv is there its own Python is used, unless PYTHON names another.
ifndef PYTHON
  PYTHON := $(shell [ "$(VENV)" != 0 ] && [ -x .venv/bin/python ] \
    && echo .venv/bin/python || echo python3)
endif

# What a message says to type again.
export TYPED = make $(MAKECMDGOALS) $(filter-out PYTHON=%,$(MAKEOVERRIDES))

# Python with the packages: bootstrap.py sets .venv up when need be.
RUN = command -v "$(PYTHON)" >/dev/null || { \
  echo "$(PYTHON) is not there. Install Python 3.10 or newer (www.python.org), or say" \
    "where it is:" >&2; echo "  $$TYPED PYTHON=/path/to/python3" >&2; exit 3; }; \
  "$(PYTHON)" checks/harness/bootstrap.py
TOOL = $(RUN) -m checks.harness

help: ## this list
	@echo "make WORD, where WORD is one of:"
	@awk -F ' *: ## ' '/^[a-z]+: ## /{ split($$2, part, " *[|] *"); \
	  what = part[2] ? part[2] : part[1]; with = part[2] ? " " part[1] : ""; \
	  printf "  %-35s %s\n", $$1 with, what }' Makefile
	@echo
	@echo "Start with: make kata NAME=train_epoch"
	@echo
	@echo "The first word sets .venv up with the python3 that is found, or with PYTHON=…."
	@echo "An activated environment is left alone; VENV=0 uses it as it is (your torch)."
	@echo "On Linux without a GPU, this set before the first word saves gigabytes:"
	@echo "  export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu"

kata: ## NAME= [FILE=] | grade katas/NAME/solution.py
	@$(TOOL) kata "$$NAME" $${FILE:+--file "$$FILE"}

list: ## the katas: level, minutes, how far you are
	@$(TOOL) list

diff: ## NAME= [GIVEUP=1] [UNIFIED=1] | your solution beside the reference
	@$(TOOL) diff "$$NAME" $(if $(GIVEUP),--giveup) $(if $(UNIFIED),--unified)

reset: ## NAME= | start anew; your solution is kept
	@$(TOOL) reset "$$NAME"

matrix: ## [NAME=] | every known mistake against every check
	@$(TOOL) matrix $$NAME

test: ## the tests of the grader and the tool
	@$(RUN) -m pytest -q checks/selftest

lint: ## ruff and mypy; changes nothing
	@$(RUN) -m ruff check --quiet .
	@$(RUN) -m ruff format --check --quiet .
	@$(RUN) -m mypy

format: ## order the imports and format the code
	@$(RUN) -m ruff check --select I --fix --quiet .
	@$(RUN) -m ruff format --quiet .

picture: ## make the pictures in the README
	@$(TOOL) picture

doctor: ## what is installed, what is off
	@$(RUN) --as-is -m checks.harness doctor
