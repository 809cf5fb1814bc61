# Everything here works on a fresh machine with Python 3.11+ and make, without root.
BIN := .venv/bin
INSTALLED := .venv/.installed
# Tests that follow each other stay in one process, so that what a file starts is started once.
PYTEST := $(BIN)/python -m pytest --dist worksteal

# Programs in .venv name its folder: where the checkout was moved or copied (see .ci/setup) they are made anew.
ifneq ($(shell [ ! -e .venv/bin/hearsay ] || { python=$$(head -n 1 .venv/bin/hearsay | cut -c3-); \
	[ "$$python" = /bin/sh ] || [ "$${python%/*}" -ef .venv/bin ]; } || echo moved),)
.PHONY: $(INSTALLED)
endif

# Every command below starts processes: each reads compiled modules instead of compiling them again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo run test check verify chaos bench wheel docs site clean

help:  ## Show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

setup: $(INSTALLED)  ## Make .venv and install everything into it (quick when nothing changed)

$(INSTALLED): pyproject.toml constraints.txt .ci/setup
	@.ci/setup

demo: setup  ## Run the whole pipeline on simulated devices and compare answers with the truth (under two minutes; STAY=1 keeps it running)
	@$(BIN)/hearsay demo $(if $(STAY),--stay)

run: setup  ## Run the Procfile: server, collector, workers, estimator, gateway
	@echo "the page: http://127.0.0.1:$${HEARSAY_PORT:-8787}/"
	@echo "the gateway: http://127.0.0.1:$${HEARSAY_GATEWAY_PORT:-8788}/v1/"
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/honcho start

# Three processes for two cores: a third of the time of a process is waiting, for servers and for time to pass.
test: setup  ## Run the tests (under eight minutes on two cores); CLUSTER=1: those that use a server, on three masters
	@CLUSTER=$(CLUSTER) $(PYTEST) -n 3

check: setup  ## Lint, formatting, types, and who may import whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

verify: setup  ## Run the slow tests: long statistics, chaos, Prometheus (under 45 minutes)
	@$(PYTEST) -n 2 -m slow

chaos: setup  ## Everything that can go wrong, for MINUTES=5 or more: what was lost or doubled; CLUSTER=1: on a cluster
	@$(BIN)/python -m tests.chaos.$(if $(CLUSTER),cluster.)storm

bench: setup  ## Measure speed, each figure against a ceiling in the same run
	@$(BIN)/hearsay bench

wheel: setup  ## Write a wheel into dist/
	@$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null && ls dist

docs: setup  ## Write the reference pages that are made from the code
	@$(BIN)/python -m hearsay.ops.pages.docs

site: docs  ## Build the documentation as a site into var/site, with every link checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict --site-dir var/site && echo "var/site/index.html"

clean:  ## Remove the environment, caches and var/
	@rm -rf .venv var build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
