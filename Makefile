# ktrdr. `make help` lists what can be asked for.
# Everything needs Go 1.26 and make; what else a target wants it builds or names.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

export CGO_ENABLED ?= 0

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -X main.version=$(VERSION)
BIN     := $(CURDIR)/bin

# Packages whose tests start real processes or a real PostgreSQL.
# (bench has none; it measures.)
SLOW := (backend|chaos|clients|e2e|report|sqlstore|worlds)
# Statistics need many runs, and the race detector makes each ten times as long.
STATISTICS := (evidence|worlds)
# The longest come first, so that none of them runs alone at the end.
LONG  := ./chaos ./sqlstore ./e2e/cli ./e2e ./e2e/browser ./worlds
slow  = $(LONG) $(shell go list ./... | grep -E '/ktrdr/$(SLOW)(/|$$)')
fast  = $(shell go list ./... | grep -vE '/ktrdr/(bench|$(SLOW))(/|$$)')

.PHONY: help build assets demo test test-unit test-kubernetes test-integration quality soak soak-statistics mutate bench power client dist clean needs-go

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: needs-go assets ## Build bin/ktrdr
	@go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ktrdr ./cmd/ktrdr
	@echo "built bin/ktrdr $(VERSION)"

# What the page takes from npm, and its licences. Without it the charts do not zoom.
WEB := page/web/node_modules
assets: ## Fetch the charts of the page from npm, if npm is there
	@if ! command -v npm >/dev/null; then \
		echo "assets: npm is missing, so the charts of the page do not zoom (install node 20 or newer to have it)"; \
	elif [ ! -e page/npm/uplot.js ] || [ page/web/package-lock.json -nt page/npm/uplot.js ]; then \
		echo "assets: fetching the charts of the page from npm, once"; \
		if (cd page/web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then \
			cp $(WEB)/lightweight-charts/dist/lightweight-charts.standalone.production.js page/npm/lightweight-charts.js; \
			cp $(WEB)/lightweight-charts/LICENSE page/npm/lightweight-charts.LICENSE; \
			cp $(WEB)/uplot/dist/uPlot.min.css page/npm/uplot.css; \
			cp $(WEB)/uplot/LICENSE page/npm/uplot.LICENSE; \
			cp $(WEB)/uplot/dist/uPlot.iife.min.js page/npm/uplot.js; \
		else \
			echo "assets: npm could not fetch them, so the charts of the page do not zoom"; \
		fi; \
	fi

demo: build ## Research a made-up market with an edge in it, and show what survived
	@$(BIN)/ktrdr demo --exit

test: quality test-unit test-kubernetes test-integration ## Everything: linters, unit tests, real processes, both stores

test-unit: needs-go $(BIN)/testrun ## Tests that need nothing but Go
	@$(BIN)/testrun -timeout 5m $(fast)

test-integration: needs-go assets $(BIN)/testrun ## Tests with real processes, SQLite and PostgreSQL
	@# -count=1: the tests build the program themselves, and a cached result would not notice that it changed
	@$(BIN)/testrun -count=1 -p 2 -timeout 15m $(slow)

# A module of its own: the types of Kubernetes stay out of the product's. The first
# line fetches what the tests import, and nothing else.
test-kubernetes: needs-go ## Decode the manifests of deploy/kubernetes with the types of Kubernetes
	@cd deploy/kubernetes && if why=$$(go list -deps -test ./... 2>&1 >/dev/null); then \
		go test ./...; \
	elif [ "$${KTRDR_TEST_REQUIRE:-}" = all ]; then \
		echo "$$why"; echo "test-kubernetes: KTRDR_TEST_REQUIRE=all, and the modules of Kubernetes cannot be fetched"; exit 1; \
	else \
		echo "test-kubernetes: SKIPPED, THE MANIFESTS WERE NOT CHECKED: the modules of Kubernetes cannot be fetched:"; echo "$$why" | head -3; \
	fi

quality: needs-go $(BIN)/golangci-lint $(BIN)/gofumpt ## Formatting, go vet, staticcheck, golangci-lint
	@echo "quality: gofumpt"
	@bad=$$($(BIN)/gofumpt -l .); if [ -n "$$bad" ]; then echo "not formatted; run bin/gofumpt -w ."; echo "$$bad"; exit 1; fi
	@# golangci-lint runs go vet for Linux with failpoints. It does not see the files for a program without them, nor assembly.
	@echo "quality: go vet, of what golangci-lint does not see, and for macOS"
	@go vet ./fault ./neural/... && GOOS=darwin go vet ./...
	@cd tools && go vet ./testrun && go test ./testrun
	@echo "quality: golangci-lint"
	@$(BIN)/golangci-lint run ./...
	@echo "quality: clean"

soak: needs-go $(BIN)/testrun ## The long run: many more kills and sequences, with the race detector when there is a C compiler
	@if command -v gcc >/dev/null || command -v clang >/dev/null; then \
		race="-race"; export CGO_ENABLED=1; \
	else \
		race=""; echo "soak: no C compiler here, so without the race detector (install gcc to have it)"; \
	fi; \
	KTRDR_SOAK=1 $(BIN)/testrun -tags soak $$race -count=1 -timeout 120m $$(go list ./... | grep -vE '/ktrdr/$(STATISTICS)(/|$$)')
	@$(MAKE) soak-statistics

soak-statistics: needs-go $(BIN)/testrun ## The statistics of soak, without the race detector: false claims, power, coverage
	@KTRDR_SOAK=1 $(BIN)/testrun -tags soak -count=1 -timeout 180m $$(go list ./... | grep -E '/ktrdr/$(STATISTICS)(/|$$)')

# The packages whose tests must kill at least 93 % of the mutants, and their
# tests that take seconds each: every mutant would pay for them. A part of a
# package is run with MUTATE=research MUTATE_FILES='^(gate|rank)'; it has no
# threshold. Tests write to memory where the system has a folder for that.
# Coverage does not count the conditions of a case or of a constant: gremlins
# lists them as not covered and does not try them.
MUTATE       ?= label backtest resilience evidence research
MUTATE_FILES ?=
MUTATE_TMP   ?= $(firstword $(wildcard /dev/shm) /tmp)
MUTATE_SKIP  := ^Test(Breaker_(OneProbeAtATimeOfAllBackends|ADeadBackendsProbeEndsByItself)$$|Confirm_(Nights|Interval|AtMost|Power|Finds|OnSynthetic))

mutate: needs-go $(BIN)/gremlins ## Mutation testing of MUTATE="label …", one mutant at a time (about two hours; not part of CI)
	@# -count=1: the first run is timed, and each mutant may take ten times as long
	@bad=0; for p in $(MUTATE); do \
		part=(--threshold-efficacy 93); \
		if [ -n '$(MUTATE_FILES)' ]; then \
			part=(); for f in $$(cd $$p && ls *.go | grep -v _test.go | grep -vE '$(MUTATE_FILES)'); do part+=(-E "^$$f$$"); done; \
		fi; \
		TMPDIR=$(MUTATE_TMP) GOFLAGS='-p=1 -trimpath -vet=off -count=1 -ldflags=-w -skip=$(MUTATE_SKIP)' nice -n 19 \
			$(BIN)/gremlins unleash --workers 1 --timeout-coefficient 10 --output-statuses lct "$${part[@]}" ./$$p || bad=1; \
	done; exit $$bad

bench: needs-go assets ## Figures of compute, the engine and the page, each beside what the machine itself can do
	@go test -run '^$$' -bench . -benchtime 1x -timeout 30m ./bench/compute ./bench
	@go test -run '^$$' -bench . -benchtime 3x -timeout 30m ./e2e/browser

# A world takes seconds. It can be stopped at any time: what is done is in power.jsonl, and the next call continues.
POWER ?= -worlds 20

power: needs-go ## The power table in docs/research.md: planted edges that are found, beside the rule that knows them
	@nice -n 19 go run -buildvcs=true ./worlds/power $(POWER) -write docs/research.md

client: ## Install what the LangGraph client is built and tested with, and build it (needs node 20)
	@# not ci: npm leaves the optional packages of other platforms out of a lock, and ci then refuses it
	@cd clients/langgraph && npm install --no-save --no-audit --no-fund && npm run build

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

dist: needs-go assets ## Release binaries for every platform, with checksums, in dist/
	@rm -rf dist && mkdir -p dist
	@for p in $(PLATFORMS); do \
		out=dist/ktrdr_$(VERSION)_$${p%/*}_$${p#*/}; \
		echo "$$out"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 go build -trimpath -ldflags '-s -w $(LDFLAGS)' -o $$out ./cmd/ktrdr; \
	done
	@cd dist && if command -v sha256sum >/dev/null; then sha256sum ktrdr_*; else shasum -a 256 ktrdr_*; fi > SHA256SUMS

clean: ## Remove what was built
	@rm -rf bin dist page/web/node_modules
	@find page/npm -type f ! -name README.md -delete

needs-go:
	@command -v go >/dev/null || { echo "Go is missing: install Go 1.26 or newer from https://go.dev/dl/"; exit 1; }

# The tools live in a module of their own: their two hundred requirements stay
# out of the product's. Each is built once and again when its version changes.
tool = @echo "building $(@F), once$(2)"; \
	go build -C tools -v -o $@ $(1) 2>&1 | awk '!/^[^ :\#]+$$/ { print; next } ++n % 50 == 0 { print "  " n " packages"; fflush() }'

$(BIN)/golangci-lint: tools/go.mod tools/go.sum
	$(call tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint, (a few minutes))

$(BIN)/gofumpt: tools/go.mod tools/go.sum
	$(call tool,mvdan.cc/gofumpt)

$(BIN)/gremlins: tools/go.mod tools/go.sum
	$(call tool,github.com/go-gremlins/gremlins/cmd/gremlins)

$(BIN)/testrun: tools/testrun/main.go
	$(call tool,./testrun)
