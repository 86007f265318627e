# Every target that CI runs stands here, so that a laptop runs the same:
# `make check` before a commit, `.ci/run` before a push.

GO         ?= go
# Pinned: a new release of a linter must not fail an old commit.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE    = golang.org/x/tools/cmd/deadcode@v0.52.0
VULNCHECK   = golang.org/x/vuln/cmd/govulncheck@v1.9.0
APIDIFF     = golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e

# One row per fuzz target: how many inputs CI tries, its seeds first; some five seconds of each.
# That shows that a target works and finds what is near; the search is `make
# fuzz-all`, a minute of each or as long as TIME says, and what it ever found is a
# recipe or a seed, all of which `make test` runs. A test compares the rows with
# the targets in fuzz/.
FUZZ_COUNTS = \
	FuzzArrival=2000 \
	FuzzArch=4000 \
	FuzzAttest=20000 \
	FuzzBack=4000 \
	FuzzBaseline=20000 \
	FuzzBind=3000 \
	FuzzClamd=250 \
	FuzzCodec=20000 \
	FuzzDCP=1200 \
	FuzzDeepSpeed=1200 \
	FuzzEdit=6000 \
	FuzzEncode=8000 \
	FuzzForget=1000 \
	FuzzGate=5000 \
	FuzzGGUF=8000 \
	FuzzGroups=10000 \
	FuzzImportance=12000 \
	FuzzIndex=16000 \
	FuzzJournal=600 \
	FuzzLegacy=1000 \
	FuzzLevelDB=20000 \
	FuzzLinear=1500 \
	FuzzLoRA=4000 \
	FuzzMetadata=10000 \
	FuzzMatrix=2000 \
	FuzzMsgpack=20000 \
	FuzzMix=20000 \
	FuzzBzip2=20000 \
	FuzzLZMA=8000 \
	FuzzNPY=12000 \
	FuzzNPZ=3500 \
	FuzzNumbers=10000 \
	FuzzOllama=20000 \
	FuzzPTH=1200 \
	FuzzTensorsOnly=1200 \
	FuzzPolicy=40000 \
	FuzzGGML=10000 \
	FuzzHDF5=8000 \
	FuzzONNX=8000 \
	FuzzPickle=6000 \
	FuzzRanks=10000 \
	FuzzRecipe=4000 \
	FuzzReport=1000 \
	FuzzRow=20000 \
	FuzzSafetensors=10000 \
	FuzzScaled=10000 \
	FuzzScan=2500 \
	FuzzServe=2500 \
	FuzzSidecar=8000 \
	FuzzSPM=10000 \
	FuzzStream=3500 \
	FuzzStrictJSON=10000 \
	FuzzTemplate=16000 \
	FuzzTFBundle=2000 \
	FuzzTFLite=10000 \
	FuzzTorchCode=20000 \
	FuzzJinja=16000 \
	FuzzKeras=2000 \
	FuzzText=1500 \
	FuzzTokenizer=10000 \
	FuzzUpload=3000 \
	FuzzWrap=8000 \
	FuzzZip=5000

# Other word sizes, byte orders, file systems: vetted, because there is nothing here to run them.
CROSS = linux/arm64 linux/386 linux/s390x windows/amd64 darwin/arm64

# Levels of kernels that must run in the tests, where the processor has them.
has = $(shell grep -qw $(1) /proc/cpuinfo 2>/dev/null && echo $(2),)
MUST_HAVE ?= $(call has,avx2,avx2)$(call has,avx512vbmi,avx512)

FUZZ  ?= FuzzNPY
TIME  ?= 60s
N     ?= 30
RUNS  ?= 300
ONLY  ?=
OUT   ?= corpus-out
BENCH ?= .
ENTRY ?= .
PYTHON ?= .venv/bin/python
PART  ?=
ELEMENTS ?= 10000000
FORMATS ?= pth pickle npz npy safetensors gguf zip
INPUTS ?= 100000
SEED ?= 1
FOUND ?= differential-out
LEDGER ?=

.PHONY: honest honest-folders edges refusals refusals-programs refusals-table refusals-reasons dropped mutants shells vuln-offline search api apidiff vuln deadcode systems emulated qemu neon avx512 must-have check fmt vet lint test race purego word32 gen-check cross fuzz fuzz-ci fuzz-all \
	skips bench bench-kernels bench-encode bench-quantize bench-peers bench-gate bench-turns bench-fair bench-requests bench-merge bench-jobs bench-hostile bench-convert nested site web all-targets release release-check python wheels wheels-check memory golden crosscheck watch differential corpus recipe cover cover-corpus libfuzzer-check versions modules-check

check: fmt vet lint test purego gen-check cross

fmt: ## formatting, of every Go file that is not another module's
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$out" ]; then echo "not formatted (gofmt -w):"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

lint:
	$(GO) run $(STATICCHECK) ./...

shape: ## the shape of the code: methods of types, fields, long files and functions, who names schemes and models
	@$(GO) run ./crosscheck/shape

deadcode: ## functions that nothing reaches, tests included
	@out=$$($(GO) run $(DEADCODE) -test ./...) || exit 1; \
	if [ -n "$$out" ]; then echo "$$out"; exit 1; fi

# VULNDB=file:///folder takes a copy of the database, where there is no network.
VULNDB ?= https://vuln.go.dev
VULNMODULE = golang.org/x/vulndb
vuln-offline: ## the same where GOPROXY alone is reached: the database is made of the module that it is kept in
	@d=$$(mktemp -d) && trap 'chmod -R u+w "$$d"; rm -rf "$$d"' EXIT && cd "$$d" && $(GO) mod init vulndb >/dev/null 2>&1 && $(GO) get $(VULNMODULE)/cmd/indexdb@latest >/dev/null 2>&1 && \
	$(GO) run $(VULNMODULE)/cmd/indexdb -vulns "$$($(GO) list -m -f '{{.Dir}}' $(VULNMODULE))/data/osv" -out "$$d/db" && $(MAKE) -C $(CURDIR) vuln VULNDB="file://$$d/db"

vuln: ## advisories of what the modules link and call
	@bad=0; for m in . $(NESTED); do echo "$$m"; (cd $$m && $(GO) run $(VULNCHECK) -db $(VULNDB) ./...) || bad=1; done; exit $$bad

# It reports; whether a break is meant is said in CHANGELOG.md. The surface itself is api/*.txt.
BASE ?= main
apidiff: ## what of the Go surface would break callers since BASE: make apidiff BASE=v0.1.0
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && mkdir "$$d/old" && git archive $(BASE) | tar x -C "$$d/old" && \
	(cd "$$d/old" && $(GO) run $(APIDIFF) -m -w "$$d/old.api" github.com/anamnesis-go/anamnesis) && \
	$(GO) run $(APIDIFF) -m -w "$$d/new.api" github.com/anamnesis-go/anamnesis && \
	$(GO) run $(APIDIFF) -m -incompatible "$$d/old.api" "$$d/new.api"

test: ## README's command
	MUST_HAVE=$(MUST_HAVE) $(GO) test ./...

# Its results are kept for those who ask for -json too, as CI does for README's command.
shells: ## the shells whose completion is tested, and tmux for the viewer, where they may be installed
	@command -v fish >/dev/null && command -v zsh >/dev/null && command -v tmux >/dev/null || (apt-get update && apt-get install -y fish zsh tmux) >/dev/null 2>&1 || true

skips: shells ## the same, which fails where a test is skipped for a reason that .ci/skips.txt does not have
	MUST_HAVE=$(MUST_HAVE) $(GO) test -json ./... | $(GO) run ./internal/skips .ci/skips.txt

must-have: ## the levels that tests fail without here
	@echo $(MUST_HAVE)

api: ## what the public packages export, after a change of it: api/*.txt
	$(GO) test ./internal/arch -run Surface -update

# The packages that start a goroutine are tested whole; where tests alone start one,
# those of the files that do, and the seeds of the targets that convert, write or
# listen. In all others there is no second one to race with. What -short leaves out
# are more inputs to the same goroutines, which `make test` runs without the detector. Each process of
# the detector waits for a second before it ends, and some tests start hundreds.
STARTS = ^[[:space:]]*(defer )?go [A-Za-z_.]+[(]|[.]Go[(]|[.]Parallel[(]|RunParallel
SEEDS = FuzzArrival|FuzzClamd|FuzzEdit|FuzzForget|FuzzServe|FuzzUpload
searching = git grep -lE 'effort[.](Of|Whole|Seeds)' -- '*_test.go'
starting = git grep -lE '$(STARTS)' -- $(1) | grep -v -e '/_' $(patsubst %,-e '^%/',$(NESTED))

race: ## packages with goroutines
	@export GORACE=atexit_sleep_ms=50; whole=$$($(call starting,'*.go' ':!*_test.go') | xargs -n 1 dirname | sort -u | sed 's|^|./|') && \
	echo "whole:" $$whole && MUST_HAVE=$(MUST_HAVE) $(GO) test -race -short -timeout 15m $$whole && \
	tests=$$($(call starting,'*_test.go') | xargs sed -nE 's/^func (Test[A-Za-z0-9_]+)[(]t .*/\1/p' | sort -u | paste -sd '|' -) && \
	MUST_HAVE=$(MUST_HAVE) $(GO) test -race -short -timeout 15m -run "^($$tests|$(SEEDS))$$" $$($(call starting,'*_test.go') | xargs -n 1 dirname | sort -u | sed 's|^|./|' | grep -vxF "$$whole")

# Only asm has files that differ under the tag. The two packages that compare what
# it computes with the reference libraries' goldens run with it; to all others it
# is the same table of functions, of which its tests say that they agree bitwise.
purego: ## without assembly
	$(GO) test -tags purego -timeout 20m ./asm ./internal/form ./quant/...

# The tree that internal/arch looks at is the same, and so are the guides whose commands
# internal/site runs with a program that it builds.
word32: ## 32-bit int: runs on amd64 as it is
	GOARCH=386 $(GO) test $$($(GO) list ./asm/... ./limits/... ./internal/... ./vm/... ./parser/... | grep -v -e /internal/arch$$ -e /internal/site$$)

# In a copy: the emulators run beside the other stages and read what would be written here.
gen-check: ## what is generated is what is committed; go generate ./... writes it
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && mkdir "$$d/made" && \
	git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$$d/made" && \
	cp -r "$$d/made" "$$d/was" && $(GO) -C "$$d/made" generate ./... && diff -r -q "$$d/was" "$$d/made" && exit 0; \
	echo "go generate ./... changes the tree"; exit 1

# Each emulator has one thread, so they run beside the builds. qemu is installed
# before, because apt-get does not wait for another of itself.
cross: qemu ## other systems: vet, and kernels under emulation
	@$(MAKE) --no-print-directory -j3 systems neon avx512

emulated: qemu
	@$(MAKE) --no-print-directory -j2 neon avx512

# They keep nearly all that they read: to collect less often saves a fifth of their time.
deadcode lint systems: export GOGC = 300

# Of source alone: to compile all packages for a system takes six times as long, and finds no
# more. What the compiler and the assembler may still say of asm is for word32 and neon, and of
# programs for release-check.
systems: ## other systems, no assembly, and the page: vetted
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && $(GO) -C .ci/vet build -o "$$d/vet" . && export CGO_ENABLED=0 && \
	for t in $(CROSS); do echo "$$t"; GOOS=$${t%/*} GOARCH=$${t#*/} "$$d/vet" ./... || exit 1; done && \
	echo purego && GOFLAGS="$$GOFLAGS -tags=purego" "$$d/vet" ./... && \
	echo js/wasm && cd web && GOOS=js GOARCH=wasm "$$d/vet" ./wasm

qemu:
	@command -v qemu-aarch64-static >/dev/null || command -v qemu-aarch64 >/dev/null || \
	(apt-get update && apt-get install -y qemu-user-static) >/dev/null 2>&1 || true

neon: qemu ## the kernels of arm64, run under emulation; installs qemu-user where it may
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && CGO_ENABLED=0 GOARCH=arm64 $(GO) test -c -o "$$d/asm.test" ./asm || exit 1; \
	q=$$(command -v qemu-aarch64-static || command -v qemu-aarch64) || \
	{ echo "NOT RUN: the kernels of arm64 are built, but there is no qemu-user and it cannot be installed"; exit 0; }; \
	cd asm && MUST_HAVE=neon $$q "$$d/asm.test" -test.short

avx512: ## the kernels of AVX-512, run in Bochs where the processor has none; installs it where it may
	@GO='$(GO)' asm/_emu/run

# Go makes each input that reaches something new smaller for up to a minute: of 40 s of FuzzHDF5
# that left 34 inputs, and 12,666 with one try each.
NOT_SMALLER = -fuzzminimizetime 1x

fuzz: ## make fuzz FUZZ=FuzzZip TIME=60s
	$(GO) test ./fuzz -run '^$$' -fuzz '^$(FUZZ)$$' -fuzztime $(TIME) $(NOT_SMALLER)

# Built as for go test, without counters of what an input reaches: for them all packages would
# be compiled once more and run three times as long, and so few inputs are not led by them (of
# 5,000 of FuzzZip four reach something new). make fuzz has them.
fuzz-ci: ## every target by count, the same work each time; the test is built once
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && $(GO) test -c -o "$$d/fuzz.test" ./fuzz && cd fuzz && \
	for row in $(FUZZ_COUNTS); do \
	"$$d/fuzz.test" -test.run '^$$' -test.fuzz "^$${row%=*}$$" -test.fuzztime $${row#*=}x -test.fuzzminimizetime 1x -test.fuzzcachedir "$$d/found" >"$$d/said" 2>&1; status=$$?; \
	cat "$$d/said"; [ $$status -eq 0 ] || exit 1; \
	grep -q 'now fuzzing' "$$d/said" || { echo "$$row: FAIL: the target has more seeds"; exit 1; }; done

search: ## tests that try a part of the possible in go test, as far as they can
	@tests=$$($(searching) | xargs sed -nE 's/^func (Test[A-Za-z0-9_]+)[(]t .*/\1/p' | sort -u | paste -sd '|' -) && \
	ANAMNESIS_SEARCH=1 $(GO) test -timeout 30m -run "^($$tests)$$" $$($(searching) | xargs -n 1 dirname | sort -u | sed 's|^|./|')

refusals: ## places that refuse a file, and which of them no committed file reaches; fails for a new one
	cd crosscheck/mutation && $(GO) run ./refusals -root ../.. -known refusals/known.txt

refusals-programs: ## the same for convert, merge, tokenizers and others, by the cases of their tests: it reports
	cd crosscheck/mutation && $(GO) run ./refusals -root ../.. -programs

refusals-table: ## each such place with the first file of the corpus that reaches it: OUT=places.txt
	cd crosscheck/mutation && $(GO) run ./refusals -root ../.. -known refusals/known.txt -which $(abspath $(OUT))

refusals-reasons: ## whether the tests that known.txt names reach their places
	cd crosscheck/mutation && $(GO) run ./refusals -root ../.. -known refusals/known.txt -reasons

dropped: ## which fuzz targets notice by their seeds alone that a refusal is gone: make dropped N=0 (all; 30 of each package by default)
	cd crosscheck/mutation && $(GO) run ./refusals -root ../.. -dropped $(N) $(PKG)

KIND ?=
.PHONY: mutants-ci mutants-table postgres hub-kill hub-simulation kill-job
mutants: ## what the tests notice of changed code: make mutants PKG=./vm N=0 (all of a package; 30 by default) KIND="charge dropped"
	cd crosscheck/mutation && $(GO) run ./mutants -root ../.. -n $(N) -operator "$(KIND)" -known mutants/equal.txt $(PKG)

# The sample depends on the tree; what was not begun after two minutes is not run, and is said. A
# floor fails a sample only where chance does not explain it, and a test that hangs is told by
# what it uses of the processor: a slow machine changes how many are run, not the verdict.
mutants-ci: ## 30 of four packages that changed since the last tag; fails below a floor that was measured
	cd crosscheck/mutation && $(GO) run ./mutants -root ../.. -changed -quick -n 30 -within 110s -floors mutants/floors.txt -known mutants/equal.txt

mutants-table: ## a sample of N of each package (or of PKG); writes the table of docs/soundness.md
	cd crosscheck/mutation && $(GO) run ./mutants -root ../.. -n $(N) -known mutants/equal.txt -table ../../docs/soundness.md $(PKG)

fuzz-all: ## every target by time, one after the other
	@for row in $(FUZZ_COUNTS); do $(MAKE) --no-print-directory fuzz FUZZ=$${row%=*} || exit 1; done

libfuzzer-check: ## OSS-Fuzz's targets, built with clang and run on their seeds and RUNS inputs more: make libfuzzer-check ONLY=FuzzZip
	@RUNS=$(RUNS) fuzz/ossfuzz/check.sh $(ONLY)

bench: ## one core, so that figures compare; BENCH=Pattern for some
	$(GO) test ./... -run '^$$' -bench '$(BENCH)' -benchmem -cpu 1 -count 5
	$(GO) test ./limits -run '^$$' -bench Contended -cpu 2 -count 5

bench-kernels: ## kernels by level, from caches and from memory: make bench-kernels ENTRY=Q4_K
	$(GO) test ./asm -run '^$$' -bench '^BenchmarkTable$$' -benchtime 1x -cpu 1 -timeout 60m -args -entry '$(ENTRY)'
	$(GO) test ./quant -run '^$$' -bench '^BenchmarkForms$$' -cpu 1
	$(GO) test ./asm -run '^$$' -bench '^BenchmarkEncoders$$' -cpu 1,2 -count 5
	$(GO) test ./asm -run '^$$' -bench '^BenchmarkWorst$$' -benchtime 1x -cpu 1 -timeout 60m -args -entry '$(ENTRY)'

bench-peers: ## our kernels and their peers in one run: make bench-peers PYTHON=.venv/bin/python
	$(PYTHON) crosscheck/peers/run.py

bench-encode: ## our encoders beside ggml's and bitsandbytes' in one run: make bench-encode PYTHON=.venv/bin/python
	PYTHONPATH=$${PYTHONPATH:-.venv/quant} $(PYTHON) crosscheck/benchencode/run.py

bench-quantize: ## a 7B model to Q4_K_M beside llama-quantize, then bench-encode: make bench-quantize PYTHON=.venv/bin/python (BENCH_DIR= with 22 GB)
	$(GO) build -o amn-quantize-bench ./cli/amn && CROSSCHECK_AMN=$(CURDIR)/amn-quantize-bench PYTHONPATH=$${PYTHONPATH:-.venv/quant} $(PYTHON) crosscheck/benchquantize/run.py; status=$$?; rm -f amn-quantize-bench; exit $$status

bench-gguf: ## a folder of 2 GB to GGUF beside llama.cpp's converter, by turns: make bench-gguf PYTHON=.venv/bin/python
	$(GO) build -o amn-gguf-bench ./cli/amn && CROSSCHECK_AMN=$(CURDIR)/amn-gguf-bench PYTHONPATH=.venv/quant $(PYTHON) crosscheck/benchruns/run.py; status=$$?; rm -f amn-gguf-bench; exit $$status

bench-gate: ## amn scan and serve beside other scanners, over 2,000 files; installs them in .venv/gatebench
	python3 crosscheck/gatebench/run.py

bench-turns: ## amn scan of two programs by turns, by kind of file: OLD=amn-before NEW=amn-after
	cd crosscheck/gatebench && python3 turns.py $(abspath $(OLD)) $(abspath $(NEW))

bench-fair: ## what a tenant of amn serve notices of another one with 1,000 of the dearest uploads, which are judged in the service, then each in a process of its own; FILES="a b" are the dearest
	$(GO) build -o amn-fair-bench ./cli/amn && $(GO) run ./crosscheck/fairbench ./amn-fair-bench $(FILES) && $(GO) run ./crosscheck/fairbench -isolate ./amn-fair-bench $(FILES); status=$$?; rm -f amn-fair-bench; exit $$status

bench-requests: ## requests and bytes of headers over a network beside huggingface.js, hf-mem and gguf-parser-go; installs them in .venv/requests
	python3 crosscheck/requests/run.py

bench-merge: ## amn merge-lora, merge and edit beside PEFT, mergekit and safetensors, on models above 1 GB: make bench-merge PYTHON=.venv/bin/python
	$(GO) build -o amn-merge-bench ./cli/amn && CROSSCHECK_AMN=./amn-merge-bench PYTHONPATH=.venv/merge:.venv/quant $(PYTHON) crosscheck/mergebench/run.py; status=$$?; rm -f amn-merge-bench; exit $$status

bench-jobs: ## time and memory of the jobs of README, interleaved, on a model above 1 GB; BENCH_DIR= with 15 GB, PAGE=docs/performance.md writes the table
	$(GO) build -o amn-jobs-bench ./cli/amn && CROSSCHECK_AMN=./amn-jobs-bench python3 crosscheck/benchjobs/run.py $(if $(BENCH_DIR),--folder $(BENCH_DIR)) $(if $(PAGE),--page $(PAGE)); status=$$?; rm -f amn-jobs-bench; exit $$status

bench-hostile: ## what hostile files cost
	$(GO) test ./... -run '^$$' -bench Hostile -benchmem -cpu 1 | grep -v -e 'no test files' -e '^PASS'

memory: ## whole models of 70 thousand million weights, and a real file of 4 GiB
	CONVERT_TEST_FULL=1 $(GO) test ./convert -run 'TestMemory' -v -timeout 60m

bench-convert: ## file to file, beside raw reads and writes; needs 8 GB of disk and of page cache
	$(GO) build -o amn-bench ./crosscheck/benchconvert && ./amn-bench $(FILES); status=$$?; rm -f amn-bench; exit $$status

# The reference libraries write these again, the same bytes with the same
# versions (but for six bytes of padding in each of NumPy's 16-byte floats); what
# needs more than Python says so at its top.
GOLDEN = corpus/valid/gguf corpus/valid/npy corpus/valid/npz corpus/valid/safetensors

golden: ## needs Python with crosscheck/requirements.txt: make golden PYTHON=.venv/bin/python
	@for d in $(GOLDEN); do echo "$$d"; $(PYTHON) $$d/generate.py || exit 1; done
	$(PYTHON) testdata/quant/floats.py
	python3 crosscheck/run.py --golden .
	$(PYTHON) asm/_gen/iq_tables.py > asm/iq_tables.go
	git status --short

COST ?= 60m
cost: ## inputs that cost most, searched for COST on one core; writes the table of docs/performance.md
	$(GO) build -o amn-cost ./crosscheck/cost && ./amn-cost -grid -time $(COST) -seed $(SEED) -table docs/performance.md; status=$$?; rm -f amn-cost; exit $$status

edges: ## doors that once stood open, tried from outside; BEFORE="AMN AMN_REMOTE TREE" tries another program too, and writes the table of crosscheck/edges
	$(GO) build -o amn-edges ./cli/amn && (cd remote && $(GO) build -o ../amn-edges-remote ./cmd/amn) && python3 crosscheck/edges/edges.py --amn amn-edges --remote amn-edges-remote $(if $(BEFORE),--table crosscheck/edges/README.md --before $(BEFORE),); status=$$?; rm -f amn-edges amn-edges-remote; exit $$status

watch: ## names in the registries of the reference libraries that are neither decoded nor refused by name
	python3 crosscheck/watch/watch.py
	python3 crosscheck/contract/make.py --check

KINDS_PYTHON = python3
honest-folders: ## folders that libraries write, and how many are refused: make honest-folders KINDS_PYTHON=a Python with the libraries
	mkdir -p .venv
	go build -o .venv/amn-honest ./cli/amn
	$(KINDS_PYTHON) crosscheck/kinds/honest.py .venv/amn-honest

honest: ## models inside packages, and how many are accepted, beside other scanners; fetches 1.8 GB into .venv/honest; PAGE=crosscheck/pickles/README.md writes the table
	mkdir -p .venv
	go build -o .venv/amn-honest ./cli/amn
	test -x $${RIVALS:-.venv/gatebench/bin/python} || (python3 -m venv .venv/gatebench && .venv/gatebench/bin/pip install -q -r crosscheck/gatebench/requirements.txt)
	python3 crosscheck/pickles/packages.py .venv/amn-honest $(PAGE)

crosscheck: ## installs the reference libraries, compares all that both read; make crosscheck PART=quant/fp8
	python3 crosscheck/run.py --elements $(ELEMENTS) $(PART)

differential: ## files that we and a loader read differently: make differential FORMATS=pth INPUTS=1000000 SEED=2
	python3 crosscheck/differential/run.py --formats $(FORMATS) --seed $(SEED) --out $(FOUND) \
		$(if $(LEDGER),--until $(INPUTS) --ledger $(LEDGER),--count $(INPUTS))

corpus: ## every recipe as a file, with a manifest: make corpus OUT=dir
	$(GO) run ./corpus/amn-corpus write $(OUT)

recipe: ## a draft of a recipe: make recipe CRASH=file
	@$(GO) run ./corpus/amn-corpus recipe $(CRASH)

# The wheel of this machine in an environment of its own, and its tests beside numpy,
# torch and safetensors. Not a stage of .ci/run: torch is a download of its own.
python/.venv/bin/python: python/requirements.txt
	python3 -m venv python/.venv
	$@ -m pip install --quiet -r python/requirements.txt
	touch $@

python: python/.venv/bin/python ## the Python package: wheel, types, tests
	rm -rf python/dist && $< python/wheels.py --only here
	$< -m pip install --quiet --no-index --no-deps --force-reinstall python/dist/*.whl
	cd python && .venv/bin/python -m mypy && .venv/bin/python -m pytest -q

KILLS ?= 200

# Modules of their own, so that what they need is no dependency of the core.
NESTED = $(patsubst %/go.mod,%,$(wildcard web/go.mod remote/go.mod hub/go.mod adapters/*/go.mod crosscheck/mutation/go.mod))

postgres: ## the database that hub's tests start, where it may be installed
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || (apt-get update && apt-get install -y postgresql) >/dev/null 2>&1 || true

nested: postgres ## the modules beside the core: build, vet, test
	@for m in $(NESTED); do echo "$$m"; (cd $$m && $(GO) build ./... && $(GO) vet ./... && $(GO) test -json ./... | $(GO) run -C $(CURDIR) ./internal/skips .ci/skips.txt) || exit 1; done

hub-kill: postgres ## kill hub's workers and its database at random: make hub-kill KILLS=200
	cd hub && HUB_KILLS=$(KILLS) $(GO) test ./store -run Kill -v -timeout 2h

hub-simulation: ## sweep a part of a simulated hub of millions: make hub-simulation EVERY=2000 WORKERS=1,2
	cd hub && d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && $(GO) build -o "$$d/amn-hub" ./cmd/amn-hub && $(GO) run ./internal/simulate --program "$$d/amn-hub" --every $(or $(EVERY),2000) --workers $(or $(WORKERS),1,2)

kill-job: ## kill -9 each kind of job at random and resume it, from a folder, a server, a hub and a bucket: make kill-job KILLS=20 SIZE=2000 JOBS=quantize,merge
	python3 crosscheck/killed.py --kills $(or $(KILLS),20) --size $(or $(SIZE),2000) $(if $(JOBS),--jobs $(JOBS))

site: ## the documents as pages: site/index.html
	$(GO) run ./internal/site site

web: ## the page that reads files in a browser: web/dist/index.html; installs xz where it may
	@command -v xz >/dev/null || (apt-get update && apt-get install -y xz-utils) >/dev/null 2>&1 || true
	cd web && $(GO) run ./build

VERSION ?= v0.0.0
TARGETS ?= linux/amd64

ALL_TARGETS = linux/amd64 linux/arm64 linux/386 linux/arm darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

all-targets:
	@echo $(ALL_TARGETS)

release: ## archives, packages, image, what is linked, provenance, sums: make release VERSION=v1.2.3
	python3 release/build.py --version $(VERSION) && python3 release/check.py dist

# Of the commit, never of files that differ from it. TARGETS='$(ALL_TARGETS)' is what CI builds.
release-check: ## two builds of TARGETS from two folders have the same bytes, and hold what they should
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && mkdir -p "$$d/a/other" "$$d/b" && export COMMIT=$$(git rev-parse HEAD) && \
	git archive HEAD | tar x -C "$$d/a/other" && git archive HEAD | tar x -C "$$d/b" && \
	python3 "$$d/b/release/build.py" --version $(VERSION) --out "$$d/1" $(TARGETS:%=--only %) && python3 release/check.py "$$d/1" && \
	python3 "$$d/a/other/release/build.py" --version $(VERSION) --out "$$d/2" $(TARGETS:%=--only %) >/dev/null && \
	diff -r "$$d/1" "$$d/2" && echo "two builds, the same bytes" && \
	openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$$d/key.pem" 2>/dev/null && openssl pkey -in "$$d/key.pem" -pubout -out "$$d/key.pub" && \
	$(GO) run ./release/sign --key "$$d/key.pem" "$$d/1" && $(GO) run ./release/sign --verify --key "$$d/key.pub" "$$d/1" && \
	base64 -d "$$d/1/SHA256SUMS.sig" >"$$d/sig" && openssl dgst -sha256 -verify "$$d/key.pub" -signature "$$d/sig" "$$d/1/SHA256SUMS"

versions: ## the modules beside the core require each other and it at VERSION, as the commit of a tag has to
	python3 release/modules.py --version $(VERSION) --write

modules-check: ## what go install and go get give a stranger of this commit, from a proxy in a folder
	python3 release/modules.py --version $(VERSION)

wheels: ## wheels for every platform: make wheels VERSION=v1.2.3
	python3 python/wheels.py

# VERSION says v0.0.0 where none is given, which a wheel calls 0.0.0.
wheels-check: ## the wheels of every platform, built twice from two folders, have the same bytes
	@d=$$(mktemp -d) && trap 'rm -rf "$$d"' EXIT && mkdir -p "$$d/a/other" "$$d/b" && export VERSION=$(VERSION) && \
	git archive HEAD | tar x -C "$$d/a/other" && git archive HEAD | tar x -C "$$d/b" && \
	python3 "$$d/b/python/wheels.py" --out "$$d/1" && python3 "$$d/a/other/python/wheels.py" --out "$$d/2" >/dev/null && \
	diff -r "$$d/1" "$$d/2" && echo "two builds, the same bytes"

cover:
	$(GO) test ./... -coverpkg=./... -coverprofile cover.out
	$(GO) tool cover -func cover.out | tail -n 1

# What the files of the corpus reach of the packages that read them, without a
# test that was written by hand.
COVERED = vm parser/pth parser/gguf
BY_CORPUS = TestCorpusRuns|TestEachHostileFile|TestEachHonestFile

cover-corpus: ## coverage of COVERED by the corpus alone
	@for p in $(COVERED); do $(GO) test ./fuzz -run '$(BY_CORPUS)' -coverpkg=./$$p -coverprofile cover.out || exit 1; \
	$(GO) tool cover -func cover.out | awk -v p=$$p '$$1 == "total:" {print p ": " $$3}'; done
