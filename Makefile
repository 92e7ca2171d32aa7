# Every target works from a clean clone. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where `make demo` writes its numbers as JSON, such as SUMMARY=demo.json. Empty: nowhere.
SUMMARY ?=
# More words for `mailboat demo`, such as ARGS="--duration 20".
ARGS ?=
# What is formatted and linted.
SWIFT_SOURCES := Package.swift $(wildcard Sources Tests Benchmarks)

# How many seeds `make simulate` runs, beginning with FROM; or SEED, the one to be played again with a trace.
SEEDS ?= 1000
FROM ?= 0
SEED ?=

.PHONY: help demo test simulate build bench format lint deps clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: build ## Play the story: Kafka records become pushes to a simulated APNs (SUMMARY=file writes the numbers)
	@"$$(swift build --configuration release --show-bin-path)/mailboat" demo $(if $(SUMMARY),--summary "$(SUMMARY)") $(ARGS)

test: deps lint ## Check the format, then run every test
	@# One after the other: tests over sockets have real timeouts, and two cores full of simulations stretch them.
	swift test --no-parallel

simulate: deps ## Run the whole worker through simulated faults, seed by seed (SEEDS=count, or SEED=one to trace it)
	@swift build --configuration release --product simulate
	@"$$(swift build --configuration release --show-bin-path)/simulate" $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --from $(FROM))

build: deps ## Build the release executable
	swift build --configuration release --product mailboat

bench: build ## Measure pushes per second and CPU per push, each process apart
	@Benchmarks/run.sh "$$(swift build --configuration release --show-bin-path)/mailboat" $(ARGS)

format: ## Rewrite the sources in the project's format
	swift format --in-place --parallel --recursive $(SWIFT_SOURCES)

lint: ## Check the format of the sources
	swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)

deps: ## Install the Debian packages the build needs, when they are missing
	@deploy/install-dependencies.sh

clean: ## Remove what was built
	swift package clean
