# Every target works from a clean clone. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where `make demo` and `make chaos` write their numbers as JSON, such as SUMMARY=demo.json. Empty: nowhere.
SUMMARY ?=
# More words for `mailboat demo` and `mailboat chaos`, such as ARGS="--duration 20".
ARGS ?=
# How long `make chaos` lets things go wrong.
MINUTES ?= 2
# A real Kafka for `make chaos`, such as BOOTSTRAP=localhost:9092. Empty: an embedded one.
BOOTSTRAP ?=
# What is formatted and linted.
SWIFT_SOURCES := Package.swift $(wildcard Sources Tests Benchmarks)

# How many seeds `make simulate` runs, beginning with FROM; or SEED, the one to be played again with a trace.
SEEDS ?= 1000
FROM ?= 0
SEED ?=

.PHONY: help demo chaos test simulate build bench format lint deps clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: build ## Play the story: Kafka records become pushes to a simulated APNs (SUMMARY=file writes the numbers)
	@"$$(swift build --configuration release --show-bin-path)/mailboat" demo $(if $(SUMMARY),--summary "$(SUMMARY)") $(ARGS)

chaos: build ## Kill workers, APNs and brokers while events flow, then check every phone (MINUTES=… SUMMARY=file BOOTSTRAP=host:port)
	@"$$(swift build --configuration release --show-bin-path)/mailboat" chaos --minutes $(MINUTES) $(if $(SUMMARY),--summary "$(SUMMARY)") \
		$(if $(BOOTSTRAP),--bootstrap "$(BOOTSTRAP)") $(ARGS)

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
