# Every target works from a clean clone. `make help` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Where `make demo` and `make chaos` write their numbers as JSON, such as SUMMARY=demo.json. Empty: nowhere.
SUMMARY ?=
# More words for what is run, such as ARGS="--duration 20" for `make demo`.
ARGS ?=
# How long `make chaos` lets things go wrong.
MINUTES ?= 2
# A real Kafka for `make chaos` and `make bench`, such as BOOTSTRAP=localhost:9092. Empty: an embedded one.
BOOTSTRAP ?=
# Which tests `make test-core` runs, as a regular expression. Empty: all of the pure targets.
FILTER ?=
# Of `make bench`: a short run; where the results go as JSON; which rows. Of `make soak`: where the plots go.
QUICK ?=
RESULTS ?=
ROWS ?=
PLOTS ?=
# What is formatted and linted.
SWIFT_SOURCES := Package.swift $(wildcard Sources Tests Benchmarks)

# SwiftPM hands the traits of a package to the compiler in the order of a set. In another order the next time, that package and all that stands on it is built again.
SWIFT_BUILD := SWIFT_DETERMINISTIC_HASHING=1 swift build

# Each release build takes these, so that all share one: what is tried, drilled and measured is what `make dist` packs. Swift's libraries are linked in, so that the program runs where no Swift is.
# The folder's name is left out: two builds of one commit are the same bytes in folders whose paths are as long. Swift 6.3 maps the path that `withoutActuallyEscaping` keeps, and not its length. Debug information names the sources that macros make, which lie where temporary files do.
SWIFT_RELEASE := TMPDIR=/tmp $(SWIFT_BUILD) --configuration release --static-swift-stdlib --disable-local-rpath \
	-Xswiftc -file-prefix-map -Xswiftc "$(CURDIR)=." -Xcc "-ffile-prefix-map=$(CURDIR)=." -Xswiftc -Xfrontend -Xswiftc -no-clang-module-breadcrumbs

# How many seeds `make simulate` runs, beginning with FROM; or SEED, the one to be played again with a trace.
SEEDS ?= 1000
FROM ?= 0
SEED ?=

# How long `make fuzz` runs, or how many seeds; FROM and SEED as above; TARGET: one reader alone.
SECONDS ?=
TARGET ?=

.PHONY: help demo dev chaos drill test test-core docs simulate mutations house fuzz build dist bench soak bench-micro format lint deps clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: build ## Play the story: Kafka records become pushes to a simulated APNs (SUMMARY=file writes the numbers)
	@"$$(swift build --configuration release --show-bin-path)/mailboat" demo $(if $(SUMMARY),--summary "$(SUMMARY)") $(ARGS)

dev: build ## Open a page for app developers: publish events, see them on simulated phones (ARGS="--port 0")
	@exec "$$(swift build --configuration release --show-bin-path)/mailboat" dev $(ARGS)

chaos: build ## Kill workers, APNs and brokers while events flow, then check every phone (MINUTES=… SUMMARY=file BOOTSTRAP=host:port)
	@$(SWIFT_RELEASE) --product chaos
	@bin="$$(swift build --configuration release --show-bin-path)"; "$$bin/chaos" --mailboat "$$bin/mailboat" --minutes $(MINUTES) \
		$(if $(SUMMARY),--summary "$(SUMMARY)") $(if $(BOOTSTRAP),--bootstrap "$(BOOTSTRAP)") $(ARGS)

# Tests without sockets, processes and clocks. They may share the cores.
PURE_TESTS := ^(APNSPool|APNSProtocol|Benchmark|ChannelKeeping|Chaos|DevPage|DeviceModel|Fuzz|HTTP2Session|PushEngine|PushInspection|PushModel|ShardLoop|Simulation|Tidy)Tests\.

test: deps lint ## Check the format, then run every test
	$(SWIFT_BUILD) --build-tests
	@.ci/say-what-failed swift test --skip-build --filter '$(PURE_TESTS)'
	@.ci/test-over-sockets '$(PURE_TESTS)'

test-core: ## Run the tests of the pure targets and of the simulation alone: no sockets, no packages but one (FILTER=regex runs some)
	MAILBOAT_CORE=1 $(SWIFT_BUILD) --build-tests --scratch-path .build-core
	@MAILBOAT_CORE=1 .ci/say-what-failed swift test --skip-build --scratch-path .build-core $(if $(FILTER),--filter '$(FILTER)')

drill: build ## Make the faults that the alerts are about, and see a real Prometheus notice each (ARGS="--only ALERT"; needs prometheus, kcat, faketime)
	@.ci/alert-drill.py --mailboat "$$(swift build --configuration release --show-bin-path)/mailboat" $(ARGS)

docs: deps ## Build the DocC pages; a warning is an error (ARGS=directory keeps them)
	@$(SWIFT_BUILD) --target ShardLoop
	@$(SWIFT_BUILD) --target APNSPool
	@.ci/check-docs $(ARGS)

simulate: deps ## Run the whole worker through simulated faults, seed by seed (SEEDS=count, or SEED=one to trace it)
	@$(SWIFT_RELEASE) --product simulate
	@"$$(swift build --configuration release --show-bin-path)/simulate" $(if $(SEED),--seed $(SEED),--seeds $(SEEDS) --from $(FROM))

mutations: deps ## Break promises one by one in a copy: the simulation must notice each (SEEDS=count, default 2000; ARGS="--list")
	@python3 Tests/SimulationTests/mutations.py $(if $(filter-out default file,$(origin SEEDS)),--seeds $(SEEDS)) $(ARGS)

house: ## Count how far the engine is from a house of machines; the counts only shrink (ARGS=--places names them, ARGS=--lower lowers ceilings)
	@python3 Tests/TidyTests/house.py $(ARGS)

fuzz: deps ## Feed mutated inputs to all that reads strangers' bytes (SECONDS=n or SEEDS=count, TARGET=name, SEED=one to replay)
	@$(SWIFT_RELEASE) --product fuzz
	@"$$(swift build --configuration release --show-bin-path)/fuzz" --corpus Tests/Corpus $(if $(TARGET),--target $(TARGET)) \
		--from $(FROM) $(if $(SEED),--seed $(SEED),$(if $(SECONDS),--seconds $(SECONDS),--seeds $(SEEDS)))

build: deps ## Build the release executable
	@test -x .build/release/mailboat || echo "Building Mailboat for the first time: some ten minutes on two cores, seconds from then on."
	$(SWIFT_RELEASE) --product mailboat

dist: deps ## Make what is released, in dist/: Debian packages, a tarball, the bill of materials, checksums
	@command -v dh >/dev/null || deploy/install-packages.sh dist debhelper
	MAILBOAT_EXACT=1 $(SWIFT_RELEASE) --product mailboat
	@MAILBOAT_EXACT=1 deploy/package/make-dist.sh .build/release/mailboat dist

bench: build ## Measure what a push costs, beside h2load (QUICK=1: minutes; RESULTS=file: JSON; ROWS="worker ingest"; BOOTSTRAP=host:port)
	@Benchmarks/install-package.sh h2load nghttp2-client
	@Benchmarks/install-package.sh valgrind valgrind
	$(SWIFT_RELEASE) --product mailboat-bench
	@bin="$$(swift build --configuration release --show-bin-path)"; "$$bin/mailboat-bench" --mailboat "$$bin/mailboat" \
		--commit "$$(git describe --always --dirty 2>/dev/null || true)" $(if $(QUICK),--quick) \
		$(if $(BOOTSTRAP),--bootstrap "$(BOOTSTRAP)") \
		$(if $(ROWS),--rows $(ROWS)) $(if $(RESULTS),--results "$(RESULTS)") $(ARGS)

soak: build ## Keep a worker under 5,000 pushes a second for an hour: memory, files and latency must stay flat (MINUTES=60 RESULTS=file PLOTS=dir BOOTSTRAP=host:port)
	$(SWIFT_RELEASE) --product mailboat-bench
	@bin="$$(swift build --configuration release --show-bin-path)"; "$$bin/mailboat-bench" soak --mailboat "$$bin/mailboat" \
		--commit "$$(git describe --always --dirty 2>/dev/null || true)" $(if $(filter-out default file,$(origin MINUTES)),--minutes $(MINUTES)) \
		$(if $(BOOTSTRAP),--bootstrap "$(BOOTSTRAP)") $(if $(RESULTS),--results "$(RESULTS)") $(if $(PLOTS),--plots "$(PLOTS)") $(ARGS)

bench-micro: deps ## Count instructions and allocations of each part of a push, beside the thresholds in the tree (ARGS=--update sets them)
	@Benchmarks/install-package.sh valgrind valgrind
	$(SWIFT_RELEASE) --product mailboat-bench
	@"$$(swift build --configuration release --show-bin-path)/mailboat-bench" count $(ARGS)

format: ## Rewrite the sources in the project's format
	swift format --in-place --parallel --recursive $(SWIFT_SOURCES)

lint: ## Check the format of the sources, and that each mutation still fits them
	swift format lint --strict --parallel --recursive $(SWIFT_SOURCES)
	@# The mutations are run by hand, and seldom: a change that moves the text of one is told here.
	@if command -v python3 >/dev/null; then python3 Tests/SimulationTests/mutations.py --fit; fi

deps: ## Install the Debian packages the build needs, when they are missing
	@deploy/install-dependencies.sh

clean: ## Remove what was built
	swift package clean
	rm -rf dist
