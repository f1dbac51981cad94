# One documented command each; CI runs the same ones.
.DEFAULT_GOAL := help
.PHONY: help install dev test e2e lint bench mutants format
PORT ?= 2024
BIN := .venv/bin

help: ## Show the commands
	@grep -E '^[a-z0-9]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 10

install: ## Install uv (if needed) and everything that uv.lock pins
	@scripts/bootstrap

dev: install ## Serve the shipped catalog at 127.0.0.1:2024 (PORT= to change)
	@exec $(BIN)/signalbox dev --port $(PORT)

test: install ## Unit, graph and server tests with coverage
	@scripts/test

e2e: install ## The whole stack as a user meets it
	@scripts/e2e

lint: install ## ruff and pyright
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

bench: install ## Ratios against a stock stack; results in docs/benchmarks/
	$(BIN)/python -m bench

mutants: install ## Disable each guard in turn; a test must turn red; table in docs/mutants.md
	@scripts/mutants

format: install ## Let ruff format and sort
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
