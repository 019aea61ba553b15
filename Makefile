# Two commands matter: `make demo` and `make test`. Each does its own set-up.
SHELL := /bin/bash
PY := .venv/bin/python
export GPUAAS_DATA_DIR ?= $(CURDIR)/var

.PHONY: help setup console demo up test test-slow lint format contract contract-check bench screenshots clean lock
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: ## Install system packages (as root on Debian), the pinned virtual environment and the console
	@tools/setup

console: setup ## Build the console into console/dist, when its sources have changed
	@tools/console

demo: setup ## Show the main job for real: hosts, a Slurm cluster on them, jobs, and the proof that it is gone
	@exec $(PY) -m gpuaas_lab.demo

up: setup ## Start platform, lab fleet and a Slurm cluster; stays up until Ctrl-C
	@exec $(PY) -m gpuaas_lab.demo --stay

test: setup ## Run every test on real parts
	@tools/test-parts && tools/test

test-slow: setup ## The long tiers: more examples, more kills, larger fleets
	@export GPUAAS_TEST_SLOW=1; tools/test-parts && tools/test -m "slow or not slow"

lint: setup ## ruff, mypy --strict, import-linter, word check, and the console's own
	@tools/lint

format: setup ## Format the code
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix . && tools/with-node npm run --silent format

contract: setup ## Write contract/, the generated files of the SDK and of the console, the generated reference and the diagrams of states
	@$(PY) -m gpuaas_server.main contract && tools/sdk-client && $(PY) -m gpuaas_cli.reference > docs/reference/cli.md && PYTHONPATH=sdk/generator $(PY) -m gpuaas_sdk_gen.controller_reference > docs/reference/controller-sdk.md && $(PY) tools/state-diagram && $(PY) -m gpuaas_compose.reference > docs/reference/compose-keys.md
	@tools/console types || echo "[contract] the console's types are not written again (see above)"
	@$(PY) tools/parity # last: it refuses until the clients offer what is new, and they need what was written above

contract-check: setup ## Refuse a stale or breaking contract
	@tools/contract-check

bench: setup ## Measure, and write benchmarks/RESULTS.md
	@exec $(PY) -m benchmarks

screenshots: setup ## Take pictures of every page of the console into docs/images/console
	@PYTHONPATH=tests exec $(PY) -m system_support.console.screenshots

lock: setup ## Compile the requirements again (pinned, with hashes)
	@for f in bootstrap build runtime dev parts node; do .venv/bin/uv pip compile -q --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/$$f.in -o requirements/$$f.txt; done
	@for f in $$(find apps/catalogue/gpuaas_catalogue/apps -name requirements.in); do d=$${f%/*}; o=; [ ! -f $$d/overrides.txt ] || o="--override $$d/overrides.txt"; .venv/bin/uv pip compile -q --generate-hashes --no-emit-index-url --no-header --only-binary :all: --python-version 3.11 --python-platform x86_64-manylinux_2_36 $$o $$f -o $$d/requirements.txt; done
	@tools/with-node npm run --silent lock

clean: ## Remove data, caches, and what this checkout left of lab fleets
	@if [ -x .venv/bin/gpuaas-lab ] && [ "$$(id -u)" = 0 ]; then .venv/bin/gpuaas-lab down --here; fi
	@rm -rf var .pytest_cache .mypy_cache .ruff_cache .hypothesis
