# Requirements: Go, git, make and a C compiler (for race tests and runc).
# Programs that the targets build are kept in KUBELOUPE_CACHE, by version.

.DEFAULT_GOAL := help

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Go records the commit only without -buildvcs=false, see below. git runs only for targets that link the program.
COMMIT = $(shell git rev-parse HEAD 2>/dev/null)
COMMITTED = $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
TREE = $(if $(COMMIT),$(if $(shell git status --porcelain 2>/dev/null),dirty,clean))
LDFLAGS = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X main.committed=$(COMMITTED) -X main.tree=$(TREE)
# What is hot when pods start and end; make profile makes it.
PROFILE := cmd/kubeloupe/agent.pgo
BUILD = go build -pgo=$(PROFILE) -ldflags "$(LDFLAGS)"

XDG_CACHE_HOME ?= $(HOME)/.cache
export KUBELOUPE_CACHE ?= $(XDG_CACHE_HOME)/kubeloupe

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := $(KUBELOUPE_CACHE)/golangci-lint/$(GOLANGCI_LINT_VERSION)/bin/golangci-lint

# Without cgo, as releases are: vet, lint, build and cross-build share a cache.
export CGO_ENABLED := 0
# No VCS stamp: the version comes from the linker flag, and a clone that belongs
# to another user builds too. No Go workspace of a parent directory. Paths are
# trimmed everywhere, so that what the lab builds shares the cache too.
# Without grpc's traces of requests: they use html/template, for which the linker
# keeps every method of the program.
export GOFLAGS := $(GOFLAGS) -buildvcs=false -trimpath -tags=grpcnotrace
export GOWORK := off

# Packages tested at once. Tests with a lab start containers: more than the
# processors can bear makes all of them slow.
TEST_P ?= 2
TEST_TIMEOUT ?= 30m
# Vet runs by itself, before.
TEST := CGO_ENABLED=1 go run ./test/gotest -race -vet=off -p $(TEST_P) -timeout $(TEST_TIMEOUT)
PKG ?= ./...
# What takes longest begins first, so that nothing runs alone at the end.
TEST_FIRST := ./test/attach ./test/e2e ./test/cluster ./cmd/kubeloupe ./tui

##@ Use

.PHONY: help
help: ## list all targets
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: build
build: ## build bin/kubeloupe
	$(BUILD) -o bin/kubeloupe ./cmd/kubeloupe

# In bytes, for linux/amd64. docs/size.md says what the program is made of.
SIZE_LIMIT := 50000000

.PHONY: size-check
size-check: ## build bin/linux-amd64/kubeloupe as for a release, and check its size
	GOOS=linux GOARCH=amd64 $(BUILD) -o bin/linux-amd64/kubeloupe ./cmd/kubeloupe
	@size=$$(wc -c < bin/linux-amd64/kubeloupe); echo "$$size bytes of at most $(SIZE_LIMIT)"; \
	if [ "$$size" -gt $(SIZE_LIMIT) ]; then \
		echo 'bin/linux-amd64/kubeloupe is too large: docs/size.md says how to find out why' >&2; exit 1; \
	fi

.PHONY: demo
demo: ## run real pods on a private containerd and show them live
	go run ./test/demo

.PHONY: tour
tour: build ## take a guided tour, on a simulated runtime
	bin/kubeloupe tour

.PHONY: bench
bench: build ## compare the agent with the floor of the runtime and with upstream's kubelet
	go run ./test/bench
	go test -run '^$$' -bench 'Publish|UI' -benchmem ./trace ./tui
	go test -run '^$$' -bench . -benchmem ./inspect/model ./inspect/session ./inspect/why ./inspect/backlog \
		./inspect/recording ./inspect/replay ./inspect/control ./inspect/step

##@ Lab: a private containerd and registry in LAB_DIR

.PHONY: lab-up
lab-up: ## start the lab
	go run ./test/lab/labctl up

.PHONY: lab-down
lab-down: ## stop the lab and remove everything that it created
	go run ./test/lab/labctl down

##@ Cluster: a Kubernetes control plane in the lab, for one node

.PHONY: cluster-up
cluster-up: ## start the lab with a cluster
	go run ./test/lab/labctl cluster-up

.PHONY: cluster-down
cluster-down: ## stop the cluster and the lab, and remove everything that they created
	go run ./test/lab/labctl cluster-down

# kubeloupe, or upstream: Kubernetes' own kubelet.
AGENT ?= kubeloupe

.PHONY: run-in-cluster
run-in-cluster: cluster-up ## run an agent as the node of the cluster (AGENT=upstream: upstream's kubelet)
	go run ./test/lab/labctl run-agent --agent $(AGENT)

.PHONY: conformance
conformance: $(if $(PROXY),build) ## run Kubernetes' node conformance tests (AGENT=upstream, FOCUS=regexp, PROCS=8, GATES=A=true,B=true; PROXY=1: thirty, behind the proxy and without)
	AGENT=$(AGENT) go run ./test/conformance $(if $(PROXY),-proxy bin/kubeloupe)

.PHONY: swap
swap: ## let upstream's kubelet and kubeloupe take over a node from each other; no container may restart
	go run ./test/swap

.PHONY: proxy
proxy: ## try the proxy between upstream's kubelet and containerd, and measure what it costs in PAIRS=20 of pod starts
	go test ./test/proxy -count=1 -v -timeout 60m -calls 2000 -pairs $(or $(PAIRS),20)

.PHONY: compat
compat: ## send the same requests to the servers of upstream's kubelet and of kubeloupe, and compare
	go run ./test/compat

.PHONY: attach-table
attach-table: ## compare what observers of upstream's kubelet tell with the proxy's calls (CAPTURES=/directory keeps the logs, KUBELET=v1.34 or v1.31)
	go test ./test/observers -run TestObservers -observers -captures '$(CAPTURES)' -kubelet '$(KUBELET)' -count=1 -v -timeout 1h

.PHONY: attach-cost
attach-cost: ## measure what attach and the proxy cost, in PAIRS=100 with and without: about 20 minutes on a machine that is idle
	go test ./test/attach -run 'TestCost|TestPairs|TestPressure' -count=1 -v -timeout 1h -pairs $(or $(PAIRS),100)
	go test ./test/proxy -run TestCost -count=1 -v -timeout 1h -calls 2000 -starts $(or $(PAIRS),100)

# The logs of what fails are in the output; with KUBELOUPE_CAUSES_TO=directory, those of the others are kept there.
# The verbosities of upstream's kubelet.
LEVELS ?= 2,4

.PHONY: attach-causes
attach-causes: ## reproduce causes on upstream's kubelet, and name them from its log (LEVELS=2,4; ONLY=KL05)
	KUBELOUPE_UPSTREAM=$(LEVELS) KUBELOUPE_UPSTREAM_ONLY=$(ONLY) go test ./test/causes -run TestUpstream -count=1 -v -timeout 1h

.PHONY: fault-corpus
fault-corpus: ## make the faults of test/faultcorpus happen again on containerd, and judge the rules by them (CASES=registry/, KEEP=directory)
	go test ./test/faultcorpus -run TestRealize -realize -cases '$(CASES)' -keep '$(or $(KEEP),testdata)' -count=1 -v -timeout 2h
	go test ./test/faultcorpus -run TestVerdicts -from '$(or $(KEEP),testdata)' -count=1 -v

.PHONY: looks
looks: build ## the same pod under upstream's kubelet and under kubeloupe: how the two starts differ
	go run ./test/looks

.PHONY: soak
soak: ## create and delete pods for MINUTES=30, PODS=2000; no resource may grow
	go run ./test/soak -minutes $(or $(MINUTES),30) -pods $(or $(PODS),2000)

.PHONY: profile
profile: ## write cmd/kubeloupe/agent.pgo, which the compiler optimizes the agent by, from four minutes of pods that come and go
	go run ./test/soak -minutes 4 -pods 400 -counts 2 -profile $(PROFILE)

.PHONY: fleet
fleet: build ## send STARTS=200 pod starts of two nodes to a Collector that is stopped, slow and refusing in between: about 40 minutes (TLS=1, ONLY=stopped,slow, ROUNDS=2, NODES=own,attached, JAEGER=program of Jaeger 2)
	go run ./test/fleet -starts $(or $(STARTS),200) -only '$(ONLY)' -rounds $(or $(ROUNDS),2) $(if $(NODES),-nodes '$(NODES)') $(if $(TLS),-tls) -jaeger '$(JAEGER)'

.PHONY: stack
stack: ## run deploy/stack in the lab's cluster, first with the agent's spans and metrics, then with those of attach: about 6 minutes (JAEGER=program of Jaeger 2)
	KUBELOUPE_STACK=1 go test ./test/stack -count=1 -v -timeout 30m -jaeger '$(abspath $(JAEGER))'

.PHONY: faults
faults: ## cause faults of the node, and check the agent, its memory and other pods (FAULTS=inotify,ulimit for some)
	go run ./test/faults -only '$(FAULTS)'

.PHONY: evict
evict: ## let pods use up memory, disk, inodes, process ids, under kubeloupe and upstream's kubelet: who is evicted, and when (ONLY=disk, ROUNDS=3)
	go run ./test/evict -only '$(ONLY)' -rounds $(or $(ROUNDS),1)

.PHONY: clockvm
clockvm: ## set the clock and reuse process ids, in a virtual machine (ONLY=clock,clock-sim,kill,pids,pids-v2; KEEP=directory)
	go run ./test/clockvm -only '$(ONLY)' -keep '$(KEEP)'

.PHONY: attach-vm
attach-vm: ## attach and the proxy on a node with systemd, in a virtual machine (ONLY=TestProxy; about an hour)
	KUBELOUPE_ATTACH_VM=1 go test ./test/attachvm -run '$(or $(ONLY),.)' -count=1 -v -timeout 3h

##@ Machine: a node with systemd and cgroup v2, in a virtual machine in VM_DIR

.PHONY: vm-up
vm-up: build ## boot a node with kubeloupe as a unit (CLUSTER=/tmp/kubeloupe-lab: it joins the cluster of make cluster-up)
	go run ./test/vm/vmctl up --cluster '$(CLUSTER)'

.PHONY: vm-down
vm-down: ## end the machine and remove everything that it created
	go run ./test/vm/vmctl down

.PHONY: vm-test
vm-test: ## what needs a modern node: cgroups, systemd, adoption, AppArmor, user namespaces (ONLY=TestCgroupTree; about an hour)
	KUBELOUPE_VM=1 go test ./test/vmtest -run '$(or $(ONLY),.)' -count=1 -v -timeout 4h

.PHONY: e2e-node
e2e-node: build ## run Kubernetes' tests of a node in a virtual machine, or with HOST=1 on this host (AGENT=upstream, FOCUS=regexp, PROCS=4, OUT=directory; hours)
	AGENT=$(AGENT) go run ./test/e2enode $(if $(HOST),-host)

##@ Check

# In order of what they cost, so that a mistake shows soon. The tests come last:
# their count is the last line.
.PHONY: test
test: ## run everything that CI checks (PKG=./trace/... for a part)
	@echo '== tidy';         $(MAKE) --no-print-directory tidy-check
	@echo '== vet';          $(MAKE) --no-print-directory vet
	@echo '== goreleaser';   $(MAKE) --no-print-directory goreleaser-check
	@echo '== exports';      $(MAKE) --no-print-directory export-check
	@echo '== prometheus';   $(MAKE) --no-print-directory prom-check
	@echo '== typecheck';    $(MAKE) --no-print-directory typecheck
	@echo '== size';         $(MAKE) --no-print-directory size-check
	@echo '== lint';         $(MAKE) --no-print-directory lint
	@echo '== vulncheck';    $(MAKE) --no-print-directory vulncheck
	@echo '== lab';          $(MAKE) --no-print-directory lab-check
	@echo '== tests';        $(TEST) $(if $(filter ./...,$(PKG)),$(TEST_FIRST)) $(PKG)

.PHONY: test-short
test-short: ## run the tests that need no lab
	$(TEST) -short $(PKG)

# The first time, this builds what labs and clusters are made of, some ten
# minutes on two processors, and installs Chromium: no test has to wait for that
# then, or is skipped for the lack of it.
.PHONY: lab-check
lab-check: ## build what the tests need, and check that a lab starts and stops on this machine
	@if [ "$$(uname -s)" != Linux ] || [ "$$(id -u)" != 0 ]; then \
		echo 'skipped: a lab needs Linux and root; the tests that need one say so below'; exit 0; \
	fi; \
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go build -o "$$dir/labctl" ./test/lab/labctl && \
	"$$dir/labctl" build && \
	{ "$$dir/labctl" --dir "$$dir/lab" up; up=$$?; "$$dir/labctl" --dir "$$dir/lab" down && exit $$up; }

# As FUZZ='agent/logs' FUZZTIME=1m FUZZOUT=table.txt; PARALLEL is how many processes fuzz one target.
.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME=10m (FUZZ=regexp, FUZZOUT=file)
	go run ./test/fuzz -time $(or $(FUZZTIME),10m) -run '$(FUZZ)' -out '$(FUZZOUT)' -parallel $(or $(PARALLEL),1)

.PHONY: vet
vet: ## run go vet
	go vet ./...

.PHONY: lint
lint: $(GOLANGCI_LINT) ## run golangci-lint, and check the format
	$(GOLANGCI_LINT) run ./...

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## format with gofumpt
	$(GOLANGCI_LINT) fmt ./...

$(GOLANGCI_LINT):
	@echo 'building golangci-lint $(GOLANGCI_LINT_VERSION), once'
	GOFLAGS= GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)

.PHONY: vulncheck
vulncheck: ## run govulncheck, if its database is available (GOVULNDB=URL for another one)
	@go run ./test/vulncheck ./...

.PHONY: tidy-check
tidy-check: ## check that go.mod and go.sum are tidy
	go mod tidy -diff

.PHONY: generate
generate: ## generate docs and code
	go generate ./...

.PHONY: goreleaser-check
goreleaser-check: ## check .goreleaser.yaml
	cd test/goreleasercheck && go vet . && go test . && go run . ../../.goreleaser.yaml

.PHONY: export-check
export-check: ## check our OTLP output with another decoder
	cd test/exportcheck && go vet . && go test -count=1 .

.PHONY: prom-check
prom-check: ## check our metrics, alerts, dashboard and example stack with Prometheus, Grafana's types and Kustomize
	cd test/promcheck && go vet . && go test -count=1 .

.PHONY: typecheck
typecheck: ## type-check for the other platforms of a release, without compiling
	go run ./test/typecheck linux/arm64 darwin/amd64 darwin/arm64

CROSS = go build -ldflags "$(LDFLAGS)"

.PHONY: cross-build
cross-build: ## build for each platform of a release
	GOOS=linux GOARCH=amd64 $(CROSS) -o bin/linux-amd64/kubeloupe ./cmd/kubeloupe
	GOOS=linux GOARCH=arm64 $(CROSS) -o bin/linux-arm64/kubeloupe ./cmd/kubeloupe
	GOOS=darwin GOARCH=amd64 $(CROSS) -o bin/darwin-amd64/kubeloupe ./cmd/kubeloupe
	GOOS=darwin GOARCH=arm64 $(CROSS) -o bin/darwin-arm64/kubeloupe ./cmd/kubeloupe
	GOOS=darwin GOARCH=arm64 go vet ./...

##@ Release

.PHONY: package-files
package-files: build ## write man pages and completions for packages to bin/package (VERSION=1.2.3)
	rm -rf bin/package && mkdir -p bin/package/completions
	bin/kubeloupe man bin/package/man && gzip -9n bin/package/man/*.1
	for shell in bash zsh fish; do bin/kubeloupe completion $$shell > bin/package/completions/$$shell || exit 1; done

.PHONY: packages
packages: ## build deb, rpm, apk and archlinux packages for this machine to dist/packages
	cd test/packagecheck && go run .

# Not a part of make test: it links the program, builds six packages of 20 MB and compiles nfpm; two minutes on two busy processors, six when nothing is cached.
.PHONY: package-check
package-check: ## build deb, rpm, apk and archlinux packages, read them, and install, upgrade and remove the deb (needs dpkg; root for the installation)
	cd test/packagecheck && go vet . && go test -count=1 .

CYCLONEDX_VERSION := v1.10.0
CYCLONEDX := $(KUBELOUPE_CACHE)/cyclonedx-gomod/$(CYCLONEDX_VERSION)/bin/cyclonedx-gomod

$(CYCLONEDX):
	@echo 'building cyclonedx-gomod $(CYCLONEDX_VERSION), once'
	GOFLAGS= GOBIN=$(@D) go install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION)

.PHONY: sbom
sbom: build $(CYCLONEDX) ## write the modules of bin/kubeloupe to bin/kubeloupe.cdx.json (CycloneDX)
	$(CYCLONEDX) bin -json -std -version $(VERSION) -output bin/kubeloupe.cdx.json bin/kubeloupe

GORELEASER_VERSION := v2.15.1
GORELEASER := $(KUBELOUPE_CACHE)/goreleaser/$(GORELEASER_VERSION)/bin/goreleaser

$(GORELEASER):
	@echo 'building goreleaser $(GORELEASER_VERSION), once'
	GOFLAGS= GOBIN=$(@D) go install github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)

# The container image needs its base image from a registry: --skip=ko.
.PHONY: release-dry-run
release-dry-run: $(GORELEASER) $(CYCLONEDX) ## make all of a release but the container image, in dist; nothing is published
	GOFLAGS= PATH="$(dir $(CYCLONEDX)):$$PATH" $(GORELEASER) release --snapshot --clean --skip=ko --parallelism 1

.PHONY: clean
clean: ## remove what was built in this directory; the cache is kept
	rm -rf bin dist
