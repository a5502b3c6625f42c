# dcsr: builds, tests, measures and installs everything; `make help` lists the targets.
#
#   make CC=clang BUILD=build/clang      another compiler, in a folder of its own
#   make ARCH=x86-64-v3                  for other machines than this one; ARCH= for any of this kind
#   make -j1                             one compiler at a time; by default as many as cores and memory allow
#   make CUDA=yes                        with the device cuda, which is there by default where a GPU and nvcc are
#   make CUDA=no                         without it
#   make test SIMT_SKIP=%_device         without suites of that name on the emulator
#   make CUDA_ARCH=90                    for GPUs of compute capability 9.0; by default for those that are here
#
# Sources are found by folder. The variants (plain, simt, asan, tsan, fuzz, coverage) are the same rules with other
# flags, each in a folder of its own:
#
#   build/obj/        build/libdcsr.a        build/dcsr        build/tests/test_*         plain, with jemalloc and CUDA
#   build/asan/obj/   build/asan/libdcsr.a   build/asan/dcsr   build/asan/tests/test_*    and so on
#
# What is for GPUs is in *.cu (kernels, and what launches them) and *_cuda.c (what is left of it in C). In the plain
# variant nvcc compiles the kernels, in simt, asan and tsan the C++ compiler, for the emulator in tests/simt; the other
# variants have none.

ifeq ($(origin CC),default)
CC := gcc
endif
CLANG  ?= clang
BUILD  ?= build
ARCH   ?= native
MARCH  := $(ARCH:%=-march=%)
CFLAGS ?= -O3 $(MARCH) -g
CUDA   ?= auto
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
SIMT_SEEDS ?= 2
SIMT_SKIP ?=

VERSION  := $(shell sed -n 's/^.define DCSR_VERSION "\(.*\)"/\1/p' dcsr/base/runtime.h)
SONAME   := libdcsr.so.$(firstword $(subst ., ,$(VERSION)))
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Werror -Wno-pass-failed
C_FLAGS  := -std=c11 -Wstrict-prototypes -Wmissing-prototypes
BASE     := -D_GNU_SOURCE -Iinclude -I. -fPIC -fvisibility=hidden -fopenmp -pthread -MMD -MP $(WARNINGS)
LIBS     := -llapack -llmdb -lxxhash -lzstd -lz -lm
PLAIN    := $(CFLAGS) -DDCSR_JEMALLOC
# References to it are weak, so that a linker that leaves out what nobody needs would leave it out.
JEMALLOC := -Wl,--push-state,--no-as-needed -ljemalloc -Wl,--pop-state
# The C++ compiler that goes with a C compiler, which may be in a folder of that name.
cxx_name = $(filter-out ./,$(dir $(1)))$(subst gcc,g++,$(subst clang,clang++,$(notdir $(1))))
cxx      = $(or $(foreach word,$(1),$(if $(findstring ++,$(call cxx_name,$(word))),$(call cxx_name,$(word)))),g++)
# Recipes show what they make; `make V=1` shows the commands.
SHOW = $(if $(V),,@echo '  $@';)

# -- What there is ---------------------------------------------------------------------------------------------------

# The files of a folder and of those in it, by name.
files   = $(sort $(shell find $(1) -name '$(2)'))
KERNELS := $(call files,dcsr ops algos amg multi,*.cu)
CONTROL := $(call files,dcsr ops algos amg multi,*_cuda.c)
LIBRARY := $(filter-out $(CONTROL),$(call files,dcsr ops algos amg multi persist,*.c))
PUBLIC  := $(wildcard include/dcsr/*)
CLI     := $(call files,cli,*.c)
TOOLS   := $(wildcard tools/*.c)
BENCHES := $(wildcard bench/bench_*.c)
PEERS   := $(filter-out $(BENCHES),$(wildcard bench/*.c bench/gpu/*.c bench/peers/*.c bench/peers/*.cpp))
FUZZERS := $(notdir $(basename $(wildcard tests/fuzz/fuzz_*.c)))
SUITE_FILES := $(call files,tests,test_*.c)
# test_simt asks the emulator, and is built where it is.
# Of stores, what goes to a device and comes from it; of the program, what has to do with one; nothing of what is for
# the host alone.
HOST_SUITES := test_amg_setup test_amg_solve test_amg_ways test_amg_calls test_amg_update \
                test_portfolio_cpu test_take_out test_reader test_reader_errors test_followers_threads
SIMT_SUITES := $(filter-out test_store_% test_catalog test_cli_store test_cli_help test_cli_signals $(HOST_SUITES), \
                 $(notdir $(basename $(SUITE_FILES))))
# Of these, without a device there is nothing to test: builds without CUDA leave them out.
DEVICE_SUITES := $(filter test_prim %_device,$(notdir $(basename $(SUITE_FILES))))
SUITES  := $(filter-out test_simt $(DEVICE_SUITES),$(notdir $(basename $(SUITE_FILES))))
# Criterion's own runner does not start under ThreadSanitizer and does not see leaks; this one stands in for it.
RUNNER  := tests/support/sanitizer_main.c
SUPPORT := $(filter-out $(RUNNER) $(SUITE_FILES),$(wildcard tests/support/*.c tests/ops/*.c))
# Those in which threads meet.
TSAN_SUITES := $(filter \
    test_threads test_model test_ticket test_view test_matrix test_closing test_failure test_limits \
    test_clone test_clone_model test_defragment test_cli_commands test_reader_errors test_context \
    test_alloc test_reader test_generate test_convert test_spmv test_bfs test_traverse \
    test_twin_model test_result test_result_patch test_vector_ops test_vector_ops_random \
    test_operator_calls test_result_room test_mxv_random test_spmm test_mxm test_mxm_calls \
    test_algebra_vectors test_algebra_products test_algebra_matrices test_result_small test_snapshot \
    test_durable test_durable_log test_durable_damage test_durable_kill test_durable_turns \
    test_durable_tags test_names test_store_names test_store_names_kill test_diff test_diff_model \
    test_changed_rows test_amg_setup test_amg_solve test_amg_ways test_amg_update test_betweenness \
    test_bfs_many test_bfs_parents test_components test_pagerank test_triangles test_sssp test_kcore \
    test_ktruss test_independent test_colouring test_bulk test_grow test_single test_matrix_union \
    test_fresh test_nut test_portfolio_cpu test_followers_threads test_agreement test_view_again \
    test_multi test_multi_matrix test_multi_products test_multi_traverse test_multi_algorithms \
    test_multi_matrices test_multi_borders test_multi_paths test_multi_spmv test_vector_linear test_parts \
    test_multi_faults test_multi_insert_device test_multi_amg test_multi_amg_faults test_closure \
    test_cfl, \
    $(SUITES))
# Under a sanitizer the emulator takes ten times as long and more: the suites that reach every kernel, and those in
# which threads meet there.
SIMT_ASAN_SUITES := $(filter %_device test_mapping test_prim test_insert_growth \
                      test_matrix test_view test_ticket test_threads test_limits test_closing test_defragment \
                      test_held test_model test_multi_products test_multi_traverse test_simt,$(SIMT_SUITES))
SIMT_TSAN_SUITES := $(filter test_device test_mapping test_prim test_insert_device \
                      test_merge_device test_memory_device test_peers_device test_spmv_pieces_device \
                      test_stage_device test_vector_moves_device test_all_gather_device test_threads test_ticket \
                      test_held test_view test_model test_multi_products test_multi_traverse test_simt,$(SIMT_SUITES))

# As many jobs as tools/jobs.sh says. A -j on the command line wins over this (make sees to that itself), and so does
# one in the environment's MAKEFLAGS, or a make that calls this one. One job where a goal has to be done before the
# others begin.
ifeq ($(MAKELEVEL)$(filter -j% --jobs%,$(MAKEFLAGS) $(shell echo "$$MAKEFLAGS"))$(filter clean deps%,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell tools/jobs.sh)
endif

# Targets that set up the machine first install what they need; a plain `make` installs nothing.
goal = $(filter $(1),$(MAKECMDGOALS))
DEPS :=
ifneq ($(call goal,bench benches plain syntax bundle test-peers),)
DEPS := $(BUILD)/.deps-bench
else ifneq ($(call goal,test test-% tests torture lint format coverage sanitize-gpu),)
DEPS := $(BUILD)/.deps-test
else ifneq ($(call goal,demo),)
DEPS := $(BUILD)/.deps-build
endif

# The objects of sources; a kernel's keeps its .cu, as a C file may have the same name otherwise.
objects = $(patsubst %,$(1)/obj/%.o,$(basename $(filter-out %.cu,$(2))) $(filter %.cu,$(2)))

.PHONY: all objects plain syntax help test test-peers test-sanitizers test-unit test-asan test-tsan test-simt \
        test-simt-asan test-simt-tsan test-fuzz tests torture lint format coverage bench benches demo deps install \
        clean always
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/libdcsr.a $(BUILD)/libdcsr.so $(BUILD)/dcsr ## the library, static and shared, and the program dcsr

objects: $(call objects,$(BUILD),$(LIBRARY) $(CLI)) ## what these consist of, compiled and not linked

plain: all $(SUITES:%=$(BUILD)/tests/%) $(TOOLS:%.c=$(BUILD)/%) benches ## and what else there is to compile

# C alone: the few files in C++ are peers'.
C_SOURCES = $(filter-out bench/mpi/%,$(filter %.c,$(LIBRARY) $(CLI) $(TOOLS) $(BENCHES) $(PEERS) $(SUPPORT) \
                $(SUITE_FILES)))
syntax: | $(DEPS) ## whether CC accepts all sources in C: nothing is made
	@printf '%s\n' $(C_SOURCES) | xargs -P $$(tools/jobs.sh) -n 16 $(CC) $(C_FLAGS) $(filter-out -M%,$(BASE)) \
	    $(CFLAGS) $(PEER_FLAGS) -fsyntax-only

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile tools/gpu.mk | \
	    while IFS='|' read -r target text; do printf '  make %-15s  %s\n' "$$target" "$$text"; done

# -- Devices ---------------------------------------------------------------------------------------------------------

# Finds nvcc; says of each device what it adds to a variant; has the targets that are about GPUs.
include tools/gpu.mk

# -- Variants --------------------------------------------------------------------------------------------------------

# $(1) folder, $(2) compiler, $(3) flags, $(4) libraries, $(5) the runner of $(8), $(6) device besides cpu,
# $(7) patterns of the library's sources that it has, all by default, $(8) suites that are one program
# EXTRA: flags of single objects
EXTRA :=
# What the program and the benchmarks are linked with. libdcsr.so where they travel together: the kernels take up
# megabytes.
ENGINE := libdcsr.a

# The suites of a variant: $(1) its folder, $(2) the runner, $(3) libraries. Each is a program with Criterion's runner;
# or those of $(4) are one program together, with our own runner, that goes by all of their names.
define apart
$(foreach suite,$(SUITE_FILES),$(eval $(1)/tests/$(notdir $(basename $(suite))): $(call objects,$(1),$(suite))))
$(1)/tests/test_%: $$($(1)_TESTED) | $$($(1)_BESIDE)
	$$(SHOW)$$($(1)_LINK) $$(LDFLAGS) $$(filter %.o,$$^) $$(filter %.a,$$^) $(3) -o $$@
endef
define together
$(1)/tests/test_all: $(2) $(call objects,$(1),$(foreach suite,$(4),$(filter %/$(suite).c,$(SUITE_FILES)))) \
    $$($(1)_TESTED) | $$($(1)_BESIDE)
	$$(SHOW)$$($(1)_LINK) $$(LDFLAGS) $$^ $(3) -o $$@
$(1)/tests/test_%: $(1)/tests/test_all
	@ln -f $$< $$@
endef

define variant
# Written anew when the flags are others, so that `make CUDA=no` and the like compile again what they have to.
$(1)/obj/.flags: NOW = $(2) $(3) $($(6)_FLAGS) $(if $(filter cuda,$(6)),$(NVCC) $(NVCC_FLAGS))
$(1)/obj/.flags: always
	@mkdir -p $$(@D)
	@echo '$$(subst ','\'',$$(NOW))' | cmp -s - $$@ || echo '$$(subst ','\'',$$(NOW))' >$$@

$(1)/obj/%.o: %.c $(1)/obj/.flags | $$(DEPS)
	@mkdir -p $$(@D)
	$$(SHOW)$(2) $(C_FLAGS) $(BASE) $(3) $($(6)_FLAGS) $$(EXTRA) -c $$< -o $$@

$(1)/obj/%.o: %.cpp $(1)/obj/.flags | $$(DEPS)
	@mkdir -p $$(@D)
	$$(SHOW)$(call cxx,$(2)) -std=c++17 $(BASE) -Itests/simt $(3) $($(6)_FLAGS) $$(EXTRA) -c $$< -o $$@

$(1)/obj/%.cu.o: %.cu $(1)/obj/.flags | $$(DEPS)
	@mkdir -p $$(@D)
	$$(SHOW)$(if $(filter cuda,$(6)),$(NVCC) $(NVCC_FLAGS) -MD -MP -MF $$(@:.o=.d), \
	    $(call cxx,$(2)) -x c++ -std=c++17 $(BASE) -Wno-unknown-pragmas -Itests/simt $(3) $($(6)_FLAGS)) -c $$< -o $$@

# The models that are part of the library.
$(1)/obj/ops/choice/model.o: $(wildcard ops/choice/*.model)
# What trains others is part of the program.
$(1)/obj/cli/tune/tune_train.o: cli/tune/train.py

# Where there are kernels, that is C++, its compiler links.
$(1)_LINK := $(if $(6),$(call cxx,$(2)),$(2)) $(3) -fopenmp

$(1)/libdcsr.a: $(call objects,$(1),$(filter $(or $(7),%),$(LIBRARY)) $($(6)_SOURCES))
	@rm -f $$@
	$$(SHOW)ar rcs $$@ $$^

$(1)/dcsr: $(call objects,$(1),$(CLI)) $(1)/$(ENGINE)
	$$(SHOW)$$($(1)_LINK) $$(LDFLAGS) $$^ -ljansson -lpng $(LIBS) $($(6)_LIBS) $(4) -o $$@

$(1)/tests/libsupport.a: $(call objects,$(1),$(if $(6),$(SUPPORT),$(filter-out %_cuda.c,$(SUPPORT))))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(SHOW)ar rcs $$@ $$^

# Suites start the program, and the cases of the emulator's own suite.
$(1)_BESIDE := $(1)/dcsr $(if $(filter simt,$(6)),$(1)/tests/simt_cases)
$(1)_TESTED := $(1)/tests/libsupport.a $(1)/libdcsr.a
$(call $(if $(8),together,apart),$(1),$(5),-lcriterion -ljansson $(LIBS) $($(6)_LIBS) $(4),$(8))

$(1)/tests/simt_cases: $(call objects,$(1),$(wildcard tests/simt/*.cu)) $(1)/libdcsr.a
	@mkdir -p $$(@D)
	$$(SHOW)$$($(1)_LINK) $$(LDFLAGS) $$^ $(LIBS) -o $$@

# Beside a peer, that shares no line with us.
$(1)/tests/differential: $(call objects,$(1),$(wildcard tests/peers/*.c)) $(1)/libdcsr.a
	@mkdir -p $$(@D)
	$$(SHOW)$$($(1)_LINK) $$(LDFLAGS) $$^ -lgraphblas $(LIBS) $($(6)_LIBS) $(4) -o $$@

-include $(shell find $(1)/obj -name '*.d' 2>/dev/null)
endef
# Lines are all that a report wants of -g, and the rest takes a fifth of the time. ASAN with the instructions of ARCH,
# so that kernels for them are looked at too; what null and object-size would find is found by the address. Between its
# checks gcc takes variables for uninitialised that are not. Not position-independent: a million addresses would have to
# be relocated at each start of the program, which took half of it.
ASAN := -O1 -g1 $(MARCH) -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=null,object-size \
            -fno-sanitize-recover=all -Wno-maybe-uninitialized
TSAN := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
SIMT := -O1 -g1
FUZZ := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
COVERAGE := -O1 -g --coverage

# Preloaded by a suite, to see what is written and synced; loaded by the program in a suite, in place of another.
POWERLOSS := $(BUILD)/tests/powerloss.so
NVML      := $(BUILD)/tests/nvml.so
$(POWERLOSS) $(NVML): $(BUILD)/tests/%.so: tests/preload/%.c | $(DEPS)
	@mkdir -p $(@D) $(BUILD)/obj
	$(SHOW)$(CC) $(C_FLAGS) $(BASE) -MF $(BUILD)/obj/$*.d -O2 -g -shared $< -o $@
suite = $(foreach folder,$(BUILD) $(BUILD)/asan $(BUILD)/tsan $(BUILD)/simt,$(folder)/tests/$(1))
$(call suite,test_store_power): | $(POWERLOSS)
$(call suite,test_cli_tune): | $(NVML)

runner = $(call objects,$(BUILD)/$(1),$(RUNNER))
$(eval $(call variant,$(BUILD),$(CC),$(PLAIN),$(JEMALLOC),,$(DEVICE)))
$(eval $(call variant,$(BUILD)/simt,$(CC),$(SIMT),,,simt))
$(eval $(call variant,$(BUILD)/asan,$(CC),$(ASAN),-no-pie,$(call runner,asan),simt,,$(sort $(SUITES) $(SIMT_SUITES))))
$(eval $(call variant,$(BUILD)/tsan,$(CLANG),$(TSAN),,$(call runner,tsan),simt,,$(sort $(TSAN_SUITES) \
    $(SIMT_TSAN_SUITES))))
$(eval $(call variant,$(BUILD)/fuzz,$(CLANG),$(FUZZ),,,,dcsr/%))
$(eval $(call variant,$(BUILD)/coverage,gcc,$(COVERAGE),,$(call runner,coverage),,,$(SUITES)))

# What runs between any two steps of an emulated thread: optimised, and not itself looked at by sanitizers.
SCHEDULER := $(addprefix tests/simt/simt_,block.cpp fiber.cpp launch.cpp)
$(call objects,$(BUILD)/simt,$(SCHEDULER)): private EXTRA = -O2
$(call objects,$(BUILD)/asan,$(SCHEDULER)): private EXTRA = -O2 -fno-sanitize=all -DSIMT_ASAN=1
$(call objects,$(BUILD)/tsan,$(SCHEDULER)): private EXTRA = -O2 -fno-sanitize=all -DSIMT_TSAN=1

# Tests compute little themselves: optimising them costs more time than it saves. CFLAGS that a user gives are kept.
ifeq ($(origin CFLAGS),file)
$(call objects,$(BUILD),$(SUITE_FILES) $(SUPPORT)): private EXTRA = -O1 -g1
endif

$(BUILD)/libdcsr.so: $(call objects,$(BUILD),$(LIBRARY) $($(DEVICE)_SOURCES)) dcsr.map
	$(SHOW)$($(BUILD)_LINK) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=dcsr.map -Wl,-z,defs \
	    $(filter %.o,$^) $(LIBS) $($(DEVICE)_LIBS) -o $(@D)/libdcsr.so.$(VERSION)
	@ln -sf libdcsr.so.$(VERSION) $(@D)/$(SONAME)
	@ln -sf $(SONAME) $@

$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/obj/tests/fuzz/fuzz_%.o $(BUILD)/fuzz/libdcsr.a
	$(SHOW)$(CLANG) $(FUZZ) -fsanitize=fuzzer -fopenmp $^ $(LIBS) -o $@

$(BUILD)/tools/%: $(BUILD)/obj/tools/%.o $(BUILD)/libdcsr.a
	@mkdir -p $(@D)
	$(SHOW)$($(BUILD)_LINK) $(LDFLAGS) $^ $(LIBS) $($(DEVICE)_LIBS) $(JEMALLOC) -o $@

# -- Test ------------------------------------------------------------------------------------------------------------

# Installs below a DESTDIR: $(call installed,DESTDIR,PREFIX).
installed = DEVICE_LIBS="$(if $(DEVICE),$($(DEVICE)_LIBS) -lstdc++)" \
                tools/install.sh "$(BUILD)" "$(1)" "$(2)" "$(VERSION)" $(PUBLIC)

# A suite that is a script: asks an installation, and nothing else that is here.
INSTALLED := $(abspath $(BUILD))/tests/installed
$(BUILD)/tests/test_install: tests/install/test_install.sh tools/install.sh dcsr.pc.in README.md $(PUBLIC) all
	@mkdir -p $(@D)
	@rm -rf $(INSTALLED)
	@$(call installed,$(INSTALLED),/opt/dcsr) >/dev/null
	@printf '#!/bin/sh\nCC="%s" CXX="%s" exec tests/install/test_install.sh %s /opt/dcsr\n' \
	    '$(CC)' '$(call cxx,$(CC))' '$(INSTALLED)' >$@ && chmod +x $@

# What runs where: unit on the plain variant; asan and tsan on the cpu, simt, simt-asan and simt-tsan on the emulator.
suites = $(2:%=$(BUILD)/$(1)/tests/%)
unit_TESTS      := $(SUITES:%=$(BUILD)/tests/%) $(BUILD)/tests/test_install
asan_TESTS      := $(call suites,asan,$(SUITES))
tsan_TESTS      := $(call suites,tsan,$(TSAN_SUITES))
simt_TESTS      := $(call suites,simt,$(filter-out $(SIMT_SKIP),$(SIMT_SUITES)))
simt-asan_TESTS := $(call suites,asan,$(SIMT_ASAN_SUITES))
simt-tsan_TESTS := $(call suites,tsan,$(SIMT_TSAN_SUITES))
fuzz_TESTS      := $(FUZZERS:%=$(BUILD)/fuzz/%)
KINDS     := unit simt fuzz asan simt-asan tsan simt-tsan
SANITIZED := asan simt-asan tsan simt-tsan
RUN_TESTS := FUZZ_SECONDS=$(FUZZ_SECONDS) SIMT_SEEDS=$(SIMT_SEEDS) CLANG=$(CLANG) tools/test.sh

test_KINDS            := $(filter-out $(SANITIZED),$(KINDS))
test-sanitizers_KINDS := $(SANITIZED)
programs = $(foreach kind,$(1),$($(kind)_TESTS))
runs     = $(foreach kind,$(1),$(if $(filter asan tsan,$(kind)),$($(kind)_TESTS:%=cpu:%),$($(kind)_TESTS)))
test: $(call programs,$(test_KINDS)) all ## test-unit, test-simt and test-fuzz
test-sanitizers: $(call programs,$(SANITIZED)) ## test-asan, test-tsan, test-simt-asan and test-simt-tsan
test-unit: $(unit_TESTS) ## the suites, plain
test-simt: $(simt_TESTS) ## the suites on the emulator of a GPU, some of them with SIMT_SEEDS schedules
test-fuzz: $(fuzz_TESTS) ## the fuzzers, FUZZ_SECONDS in all
test-asan: $(asan_TESTS) ## the suites under AddressSanitizer and UndefinedBehaviorSanitizer
test-tsan: $(tsan_TESTS) ## the suites in which threads meet, under ThreadSanitizer
test-simt-asan: $(simt-asan_TESTS) ## the suites on the emulator, under AddressSanitizer and UndefinedBehaviorSanitizer
test-simt-tsan: $(simt-tsan_TESTS) ## the suites in which threads meet, on the emulator under ThreadSanitizer
test test-sanitizers $(KINDS:%=test-%):
	@$(RUN_TESTS) $(call runs,$(or $($@_KINDS),$(@:test-%=%)))

tests: $(call programs,$(KINDS))

PEER_SESSIONS ?= 2000
PEER_SEED     ?= 1
test-peers: $(BUILD)/tests/differential $(BUILD)/simt/tests/differential ## random operations beside a GraphBLAS
	$(BUILD)/tests/differential --seed $(PEER_SEED) --sessions $(PEER_SESSIONS)
	SIMT_GUARD=0 $(BUILD)/simt/tests/differential --device cuda --seed $(PEER_SEED) \
	    --sessions $$(($(PEER_SESSIONS) / 20 + 1))

TORTURED := %_kill %_power %_damage %_pages %_full %_processes %_store_readers %_store_opening
torture: $(filter $(TORTURED),$(unit_TESTS)) $(POWERLOSS) ## kills processes, cuts power, damages stores, many times
	@tools/torture.sh $(BUILD)/tests

coverage: $(SUITES:%=$(BUILD)/coverage/tests/%) ## which lines the suites reach: build/coverage/index.html
	@find $(BUILD)/coverage -name '*.gcda' -delete
	-@tools/test.sh $(SUITES:%=$(BUILD)/coverage/tests/%)
	@gcovr --root . --filter '(dcsr|ops|algos|amg|multi|cli)/' --html-details $(BUILD)/coverage/index.html \
	    --print-summary $(BUILD)/coverage/obj

lint: | $(DEPS) ## format, include direction, names, lengths, words
	@tools/lint.sh

format: | $(DEPS) ## lets clang-format rewrite the sources
	@tools/sources.sh | xargs clang-format-14 -i

# -- Measure, show ---------------------------------------------------------------------------------------------------

# A competitor takes part in the benchmarks where its header is installed. Makes before 4.3 want a backslash before a
# sharp in a function, later ones pass it on.
sharp := \#
has = $(shell echo '$(sharp)include <$(1)>' | $(CC) -E -x c - >/dev/null 2>&1 && echo $(2))
PEER_FLAGS = $(call has,GraphBLAS.h,-DDCSR_PEER_GRAPHBLAS) $(call has,rsb.h,-DDCSR_PEER_RSB) \
             $(call has,eigen3/signature_of_eigen3_matrix_library,-DDCSR_PEER_EIGEN -isystem /usr/include/eigen3)
PEER_LIBS  = $(call has,GraphBLAS.h,-lgraphblas) $(call has,rsb.h,-lrsb)

$(call objects,$(BUILD),$(PEERS)): private EXTRA = $(PEER_FLAGS)
# cuSPARSE is loaded as a program starts; it may be where the compiler's libraries are.
PEER_PATH = $(if $(DEVICE),$(addprefix -Xlinker -rpath -Xlinker ,$(abspath $(dir $(firstword $(CUDART))))))

$(BUILD)/bench/bench_%: $(BUILD)/obj/bench/bench_%.o $(call objects,$(BUILD),$(PEERS)) $(BUILD)/$(ENGINE)
	@mkdir -p $(@D)
	$(SHOW)$(call cxx,$(CC)) $(CFLAGS) -fopenmp $(LDFLAGS) $(PEER_PATH) $^ $(PEER_LIBS) -ljansson $(LIBS) \
	    $($(DEVICE)_LIBS) $(JEMALLOC) -o $@

# Peers that want processes instead of threads are a program of their own.
PETSC := $(shell pkg-config --exists PETSc 2>/dev/null && command -v mpicc)
$(call objects,$(BUILD),bench/mpi/amg_petsc.c): private EXTRA = \
    $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I PETSc 2>/dev/null; mpicc --showme:compile 2>/dev/null))
$(BUILD)/bench/amg_petsc: $(call objects,$(BUILD),bench/mpi/amg_petsc.c bench/peers/amg_problem.c) $(BUILD)/$(ENGINE)
	@mkdir -p $(@D)
	$(SHOW)OMPI_CC='$(call cxx,$(CC))' mpicc $(CFLAGS) -fopenmp $(LDFLAGS) $^ \
	    $(shell pkg-config --libs PETSc 2>/dev/null) $(LIBS) $($(DEVICE)_LIBS) $(JEMALLOC) -o $@

benches: $(BENCHES:%.c=$(BUILD)/%) $(if $(PETSC),$(BUILD)/bench/amg_petsc)

bench: benches ## the benchmarks, side by side with what else is installed; results in build/bench/
	BUILD=$(BUILD) tools/bench.sh

demo: $(BUILD)/dcsr $(TOOLS:%.c=$(BUILD)/%) ## a tour of what dcsr does
	@DCSR_PROGRAM=$(BUILD)/dcsr DCSR_DEMO=$(BUILD)/tools/demo DCSR_DEMO_FOLDER=$(BUILD)/demo tools/demo.sh

# -- Set up, install -------------------------------------------------------------------------------------------------

$(BUILD)/.deps-%: tools/deps.sh
	@mkdir -p $(@D)
	@tools/deps.sh $*
	@touch $@

deps: ## installs what building, testing and measuring need and is missing
	@tools/deps.sh bench

install: all ## installs into PREFIX (/usr/local), below DESTDIR if that is set
	@$(call installed,$(DESTDIR),$(PREFIX))

clean: ## removes what was built
	rm -rf $(BUILD)
