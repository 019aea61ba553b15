# Two commands matter: `make demo` and `make test`. Each does its own set-up.
SHELL := /bin/bash
PY := .venv/bin/python
export GPUAAS_DATA_DIR ?= $(CURDIR)/var

.PHONY: help setup demo up test test-slow lint format contract contract-check bench clean lock
.DEFAULT_GOAL := help

help: ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: ## Install system packages (as root on Debian) and the pinned virtual environment
	@tools/setup

demo: setup ## Show the main job for real: hosts, a Slurm cluster on them, jobs, and the proof that it is gone
	@exec $(PY) -m gpuaas_lab.demo

up: setup ## Start platform, lab fleet and a Slurm cluster; stays up until Ctrl-C
	@exec $(PY) -m gpuaas_lab.demo --stay

test: setup ## Run every test on real parts
	@tools/test-parts && tools/test

test-slow: setup ## The long tiers: more examples, more kills, larger fleets
	@tools/test-parts && GPUAAS_TEST_SLOW=1 tools/test -m "slow or not slow"

lint: setup ## ruff, mypy --strict, import-linter, word check
	@tools/lint

format: setup ## Format the code
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .

contract: setup ## Write contract/, the SDK's generated files and the generated reference
	@$(PY) -m gpuaas_server.main contract && tools/sdk-client && $(PY) -m gpuaas_cli.reference > docs/reference/cli.md

contract-check: setup ## Refuse a stale or breaking contract
	@tools/contract-check

bench: setup ## Measure, and write benchmarks/RESULTS.md
	@exec $(PY) -m benchmarks

lock: setup ## Compile the requirements again (pinned, with hashes)
	@for f in bootstrap build runtime dev parts; do .venv/bin/uv pip compile -q --generate-hashes --no-emit-index-url --no-header --python-version 3.11 requirements/$$f.in -o requirements/$$f.txt; done

clean: ## Remove data, caches and leftovers of the lab
	@if [ -x .venv/bin/gpuaas-lab ] && [ "$$(id -u)" = 0 ]; then .venv/bin/gpuaas-lab down --all; fi
	@rm -rf var .pytest_cache .mypy_cache .ruff_cache .hypothesis
